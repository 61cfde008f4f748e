"""What every test may use: kernel files, plans, records, and golden files.

Golden files hold expected text in tests/golden/. After a wanted change write them again with
`GEMMBENCH_UPDATE_GOLDEN=1 python -m pytest tests`, and read the diff before committing it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from threadpoolctl import threadpool_limits

from gemmbench.analysis import toolkit
from gemmbench.backends.cuda import nvcc
from gemmbench.bench.operands import scratch
from gemmbench.bench.record import Environment, Record
from gemmbench.errors import DeviceError
from gemmbench.planning.manifests.expressions import parse
from gemmbench.planning.manifests.variant import Launch, Variant
from gemmbench.planning.plans.plan import Config, Geometry, Plan
from gemmbench.planning.problems import LAYOUTS, Problem
from gemmbench.planning.source_tree import read_version

GOLDEN = Path(__file__).parent / "golden"
os.environ.pop("COLUMNS", None)  # pytest may set it, and tables fit it
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # in parallel tests the threads of BLAS would wait for each other's cores
threadpool_limits(1, user_api="blas")  # NumPy has read the variable before
_homes = count()
UPDATE = bool(os.environ.get("GEMMBENCH_UPDATE_GOLDEN"))
BODY = """
extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
}
"""
MANIFEST: dict[str, Any] = {
    "summary": "a kernel for tests",
    "order": "5",
    "symbol": "gemm",
    "precisions": "[f32]",
    "layouts": "[nn]",
    "grid": ["cdiv(N, 16)", "cdiv(M, 16)"],
    "block": ["16", "16"],
}


@pytest.fixture(autouse=True)
def data_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where winners are kept: never the user's."""
    home = tmp_path_factory.mktemp(f"data{next(_homes)}", numbered=False)  # a number of pytest's reads the whole folder
    monkeypatch.setenv("GEMMBENCH_DATA_DIR", str(home))
    return home


@pytest.fixture(autouse=True)
def version() -> str:
    """The version, which is kept: asked before a test hides git."""
    return read_version()


@pytest.fixture
def few_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny problems would take the most sets, and audits a turn over all of them."""
    monkeypatch.setattr(scratch, "MOST_SETS", 16)


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare a text with a golden file."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if UPDATE:
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return check


def manifest_text(keys: dict[str, Any]) -> str:
    """YAML lines: a text stands as it is, a list becomes dashes, a dict nested keys; None is left out."""
    lines = []
    for key, value in keys.items():
        if isinstance(value, list):
            lines += [f"{key}:", *(f"  - {item}" for item in value)]
        elif isinstance(value, dict):
            lines += [f"{key}:", *(f"  {name}: {item}" for name, item in value.items())]
        elif value is not None:
            lines.append(f"{key}: {value}")
    return "\n".join(lines)


@pytest.fixture
def write_kernel(tmp_path: Path) -> Callable[..., Path]:
    """Write a kernel file with a good manifest, but for the keys that are given."""

    def write(name: str = "mine.cu", folder: str = "kernels", body: str = BODY, **changed: Any) -> Path:
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"/*---\n{manifest_text({**MANIFEST, **changed})}\n---*/\n{body}")
        return path

    return write


@pytest.fixture
def make_variant() -> Callable[..., Variant]:
    """A variant that needs no file."""

    def make(name: str = "naive", **changed: Any) -> Variant:
        good = {
            "summary": name,
            "order": 1,
            "kind": "kernel",
            "devices": ("cuda", "cpu"),
            "precisions": ("f32", "tf32"),
            "layouts": LAYOUTS,
            "text": "// a kernel\n",
            "path": f"cuda/{name}.cu",
        }
        return Variant(name=name, **{**good, **changed})

    return make


@pytest.fixture
def make_plan(make_variant: Callable[..., Variant]) -> Callable[..., Plan]:
    """A plan for the fake device."""

    def make(
        name: str = "naive", problem: Problem | None = None, config: dict[str, int] | None = None, **changed: Any
    ) -> Plan:
        chosen = Config(tuple((config or {}).items()))
        geometry = Geometry((1, 1, 1), (16, 16, 1), 0)
        return Plan(problem or Problem(32, 24, 16), make_variant(name, **changed), chosen, "fake", "", geometry)

    return make


@pytest.fixture
def make_record() -> Callable[..., Record]:
    """A record of 64 cubed on the fake device; `samples` are seconds of rounds 0, 1, 2 ..., two in a block.

    Fields of the problem are given by their names, as those of the record.
    """

    def make(variant: str = "naive", samples: Sequence[float] = (), size: int = 64, **changed: Any) -> Record:
        asked = {name: changed.pop(name) for name in Problem.__dataclass_fields__ if name in changed}
        rounds = changed.pop("rounds", range(len(samples)))
        good: dict[str, Any] = {
            "order": 1.0,
            "config": {},
            "backend": "fake",
            "problem": Problem(**{**dict.fromkeys("MNK", size), **asked}),
            "status": "ok",
            "samples": list(samples),
            "rounds": list(rounds),
            "blocks": [number // 2 for number in rounds],
            "batch": 1,
            "batch_key": "key",
            "batch_rows": 1,
        }
        return Record(variant=variant, **{**good, **changed})

    return make


@pytest.fixture
def environment() -> Environment:
    """The header of a run on the fake device."""
    return Environment(
        run="20260101-120000-quick-abcd",
        started="2026-01-01T12:00:00+00:00",
        sweep="quick",
        command="gemmbench run",
        gemmbench="0.1.0",
        device="Fake GPU",
        backend="fake",
        baseline="cublas",
        sm=90,
        sms=10,
        l2=1 << 20,
        memory=1 << 30,
        clock_hz=1e9,
        bandwidth=1e12,
        flops_per_cycle={"f32": 1000.0},
        software={"driver": "1.0"},
    )


@pytest.fixture
def fake_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Put a Python program on the PATH under a tool's name; what it appends to `calls` is in the file returned.

    It has `arguments`, a function `after(option)` for the word behind an option, and `calls`.
    """
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    head = f"""#!{sys.executable}
import os, sys, time
arguments = sys.argv[1:]
def after(option):
    return arguments[arguments.index(option) + 1]
calls = open({str(tmp_path / "calls")!r}, "a")
"""

    def write(name: str, body: str) -> Path:
        program = folder / name
        program.write_text(head + body)
        program.chmod(0o755)
        return tmp_path / "calls"

    return write


def _text_plan(text: str, arch: str = "90", symbol: str = "gemm") -> Plan:
    one = (parse(1),)
    launch = Launch(symbol, one, one, parse(0))
    variant = Variant(
        "tiny", "a test", 1, "kernel", ("cuda",), ("f32",), ("nn",), launch=launch, path="cuda/tiny.cu", text=text
    )
    return Plan(Problem(8, 8, 8), variant, Config((("T", 16),)), "cuda", arch, Geometry((1, 1, 1), (32, 1, 1), 0))


@pytest.fixture
def make_text_plan() -> Callable[..., Plan]:
    """A plan of a kernel text, for an architecture."""
    return _text_plan


@pytest.fixture
def warm_compiler() -> nvcc.NvccCompiler:
    """nvcc with the user's cache, for tests that are not about the cache; or a skip."""
    try:
        toolkit.find_nvcc()
    except DeviceError as fault:
        pytest.skip(str(fault))
    return nvcc.NvccCompiler()


@pytest.fixture
def compiler(warm_compiler: nvcc.NvccCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> nvcc.NvccCompiler:
    """nvcc with an empty cache, or a skip."""
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))
    return warm_compiler
