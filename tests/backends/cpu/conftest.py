"""A kernel's text in, a matrix out: everything between is the CPU back end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from gemmbench.backends.base import Executable, OperandSet, Step
from gemmbench.backends.cpu.backend import CpuBackend
from gemmbench.backends.cpu.kernel_process import CpuMemory
from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.bench.operands.scratch import Scratch
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Config, Geometry, Plan
from gemmbench.planning.problems import LAYOUTS, Problem

SIGNATURE = """extern "C" __global__ void gemm(
    int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C)"""


@dataclass
class Bench:
    """A compiler, an open device, and the memory to give back."""

    compiler: CpuCompiler
    backend: CpuBackend
    memories: list[CpuMemory | Scratch] = field(default_factory=list)

    def variant(self, text: str, **fields) -> Variant:
        """A variant around a kernel's text, in which SIGNATURE stands for the usual one."""
        text = text.replace("SIGNATURE", SIGNATURE)
        given = {"kind": "kernel", "path": "cuda/test.cu", **fields}
        return Variant("test", "a test", 0, devices=("cpu",), precisions=("f32",), layouts=LAYOUTS, text=text, **given)

    def plan(
        self, text: str, problem=(1, 1, 1), grid=(1,), block=(1,), shared=0, beta=0.0, kind="kernel", **params
    ) -> Plan:
        """A plan by hand: no manifest, no planner."""
        geometry = Geometry((*grid, 1, 1)[:3], (*block, 1, 1)[:3], shared)
        config = Config(tuple(params.items()))
        return Plan(Problem(*problem, beta=beta), self.variant(text, kind=kind), config, "cpu", "", geometry)

    def bind(
        self, plan: Plan, a: np.ndarray, b: np.ndarray, c: Sequence[np.ndarray], mode="", alpha=1.0
    ) -> tuple[Executable, list[np.ndarray]]:
        """An executable on one operand set for each array of `c`, and views of every C in place."""
        size = -(-max(a.nbytes, b.nbytes, c[0].nbytes) // 64) * 64
        memory = self.backend.allocate(3 * size * len(c))
        self.memories.append(memory)
        sets = [OperandSet(i * size, (i + 1) * size, (i + 2) * size) for i in range(0, 3 * len(c), 3)]
        for at, initial in zip(sets, c, strict=True):
            memory.write(at.A, a)
            memory.write(at.B, b)
            memory.write(at.C, initial)
        loaded = self.backend.load(self.compiler.compile(plan), plan)
        scaled = replace(plan, problem=replace(plan.problem, alpha=alpha))
        scratch = Scratch(self.backend, [plan])
        self.memories.append(scratch)
        step = Step(loaded, scaled, tuple(sets), *scratch.places)
        executable = self.backend.bind("test", [step], memory, mode=mode)
        return executable, [memory.array(at.C, plan.problem.shape("C"), "float32") for at in sets]

    def run(self, plan: Plan, a=None, b=None, c=None, mode="", alpha=1.0) -> np.ndarray:
        """C after one launch; what is not given is zeros, and NaN for C."""
        problem = plan.problem
        a = np.zeros(problem.shape("A"), np.float32) if a is None else a
        b = np.zeros(problem.shape("B"), np.float32) if b is None else b
        c = np.full(problem.shape("C"), np.nan, np.float32) if c is None else c
        executable, (result,) = self.bind(plan, a, b, [c], mode, alpha)
        executable.time(1)
        return result.copy()


@pytest.fixture(scope="session")
def opened(tmp_path_factory) -> Iterator[tuple[CpuCompiler, CpuBackend]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        backend = CpuBackend(timeout=10)
        yield CpuCompiler(), backend
        backend.close()


@pytest.fixture
def bench(opened) -> Iterator[Bench]:
    bench = Bench(*opened)
    yield bench
    for memory in bench.memories:
        memory.free()
