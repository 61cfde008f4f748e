"""Plans made by hand, and a cache folder of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gemmbench.backends.cuda import nvcc
from gemmbench.backends.cuda.sass import Instruction, kernels
from gemmbench.errors import DeviceError
from gemmbench.planning.manifests.expressions import parse
from gemmbench.planning.manifests.variant import Launch, Variant
from gemmbench.planning.plans.plan import Config, Geometry, Plan
from gemmbench.planning.problems.problem import Problem

MakePlan = Callable[..., Plan]


def _plan(text: str, arch: str = "90", symbol: str = "gemm") -> Plan:
    one = (parse(1),)
    launch = Launch(symbol, one, one, parse(0))
    variant = Variant(
        "tiny", "a test", 1, "cuda", ("cuda",), ("f32",), ("nn",), launch=launch, path="cuda/tiny.cu", text=text
    )
    return Plan(Problem(8, 8, 8), variant, Config((("T", 16),)), "cuda", arch, Geometry((1, 1, 1), (32, 1, 1), 0))


@pytest.fixture
def make_plan() -> MakePlan:
    """A plan of a kernel text, for an architecture."""
    return _plan


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> nvcc.NvccCompiler:
    """nvcc with an empty cache, or a skip."""
    try:
        nvcc.find_nvcc()
    except DeviceError as fault:
        pytest.skip(str(fault))
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))
    return nvcc.NvccCompiler()


@pytest.fixture
def listing() -> Callable[[str], tuple[Instruction, ...]]:
    """The instructions of the one kernel in `sass/<name>.txt`."""

    def read(name: str) -> tuple[Instruction, ...]:
        text = (Path(__file__).parent / "sass" / f"{name}.txt").read_text(encoding="utf-8")
        (code,) = kernels(text).values()
        return code

    return read
