"""Plans of a kernel text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gemmbench.backends.cuda import function_lane, window
from gemmbench.backends.cuda.python_functions import forget_module
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.manifests.variant import Code
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan, Target
from gemmbench.planning.problems import Problem


@pytest.fixture
def make_plan(make_text_plan: Callable[..., Plan]) -> Callable[..., Plan]:
    """A plan of a kernel text, for an architecture."""
    return make_text_plan


HANDLE = 77


class TestGpu:
    """What the driver, the stream and the gate are asked; functions under test launch with `launch`."""

    __test__ = False

    def __init__(self):
        self.bytes = np.zeros(4096, np.uint8)
        self.free, self.held, self.expired, self.queued = 1 << 30, False, False, []
        self.calls = 0
        self.stream = SimpleNamespace(handle=HANDLE, synchronize=self.run_queued)
        self.gate = SimpleNamespace(close=self.close, open=self.open, expired=False)
        self.driver = SimpleNamespace(
            Error=RuntimeError,
            Context=SimpleNamespace(synchronize=self.run_queued),
            Event=lambda: None,
            from_device=lambda at, size, kind: self.bytes[at : at + size].copy(),
            memcpy_htod=self.write,
            mem_get_info=lambda: (self.free, 1 << 34),
        )

    def write(self, at, array):
        self.bytes[at : at + len(array)] = array

    def launch(self, stream, at, size):
        """Queue a kernel that fills C; on another stream than ours nothing holds it."""
        self.calls += 1
        self.queued.append((at, size))
        if stream != HANDLE or not self.held:
            self.run_queued()

    def wait(self):
        """What a function does that waits for the stream: a gate expires meanwhile."""
        self.gate.expired |= self.held
        self.run_queued()

    def run_queued(self):
        for at, size in self.queued:
            self.bytes[at : at + size] = 1
        self.queued.clear()

    def close(self):
        self.held, self.gate.expired = True, False

    def open(self):
        self.held = False
        self.run_queued()


@pytest.fixture
def gpu(monkeypatch):
    made = TestGpu()
    for module in (function_lane, function_lane, window):
        monkeypatch.setattr(module, "load_driver", lambda: made.driver)
    monkeypatch.setitem(sys.modules, "gpu_of_tests", made)
    return made


@pytest.fixture
def make_variant_of(make_variant, tmp_path):
    """A Python variant with this body of `gemm`, which knows the GPU of the test as `gpu`."""
    made = []

    def make(body):
        lines = ["import gpu_of_tests as gpu", "def gemm(problem, A, B, C, stream):"]
        lines += [f"    {line}" for line in body.splitlines()]
        text = "\n".join(lines)
        code = Code(str(tmp_path / "mine.py"))
        made.append(make_variant("mine", kind="python", text=text, path="cuda/mine.py", code=code))
        return made[-1]

    yield make
    for variant in made:
        forget_module(variant)


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
