"""Plans whose host function launches its kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan, Target
from gemmbench.planning.problems import Problem

GPU = Target("cuda", sm=90, sms=132, smem=227 << 10, l2=50 << 20, memory=1 << 36)
HEAD = """/*---
summary: a launcher
order: 1
precisions: [f32]
layouts: [nn, nt]
host: {host}
{keys}---*/
"""


@pytest.fixture
def plan_launcher(tmp_path: Path) -> Callable[..., Plan]:
    """The plan of a launcher's text on a problem; `keys` are further lines of its manifest."""

    def plan(text: str, keys: str = "", problem: Problem | None = None, host: str = "run") -> Plan:
        path = tmp_path / "mine.cu"
        path.write_text(HEAD.format(keys=keys, host=host) + text)
        return plan_file(path, problem or Problem(3, 4, 5, alpha=1.5, beta=-0.5))

    return plan


def plan_file(path: Path, problem: Problem) -> Plan:
    """The plan of a file in its default configuration."""
    variant = read_variant(path)
    targets = {"cuda": GPU}
    chosen = [(variant, list_configurations(variant, {}))]
    (planned,) = make_plans([problem], chosen, "cuda", targets, lambda *_: "")
    assert isinstance(planned, Plan), planned.reason
    return planned
