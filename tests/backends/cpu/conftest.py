"""A kernel's text in, a matrix out: everything between is the CPU back end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from gemmbench.backends import registry
from gemmbench.backends.base import Executable, Step
from gemmbench.backends.cpu.backend import CpuBackend
from gemmbench.backends.cpu.kernel_process import CpuMemory
from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.bench.operands.scratch import Scratch
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Config, Geometry, Plan, Skip, Target
from gemmbench.planning.problems import LAYOUTS, Problem

SIGNATURE = """extern "C" __global__ void gemm(
    int M, int N, int K, float alpha, const TA* A, const TB* B, float beta, TC* C)"""


@dataclass
class Bench:
    """A compiler, an open device, and the memory to give back."""

    compiler: CpuCompiler
    backend: CpuBackend
    memories: list[CpuMemory | Scratch] = field(default_factory=list)

    def reopen(self, timeout: float) -> None:
        """Take a device of its own, whose windows may last so many seconds."""
        self.backend = CpuBackend(timeout=timeout)

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

    def plan_launches(self, text: str, *launches, problem=(1, 1, 1), **sizes) -> Plan:
        """A plan by hand of launches of kernels that get a workspace."""
        variant, geometry = self.variant(text, workspace=True), launches[-1][1]
        return Plan(Problem(*problem), variant, Config(), "cpu", "", geometry, launches=launches, **sizes)

    def plan_variant(
        self, variant: Variant, problem: Problem, target: Target | None = None, **values: int
    ) -> Plan | Skip:
        """What the planner makes of a variant with these values, on this machine or another target."""
        config = Config(tuple({**variant.default(), **values}.items()))
        targets = {"cpu": target or self.backend.device.target}
        (found,) = make_plans([problem], [(variant, [config])], "cpu", targets, registry.why_refused)
        return found

    @staticmethod
    def operands(*problem) -> tuple[np.ndarray, ...]:
        """A, B, C and op(A) op(B), of small integers other than 0, whose sums are exact."""
        asked, random = Problem(*problem), np.random.default_rng(1)
        a, b, c = (random.choice(np.array([-2, -1, 1, 2], np.float32), asked.stored_shape(name)) for name in "ABC")
        return a, b, c, (a.T if asked.trans_a else a) @ (b.T if asked.trans_b else b)

    def bind(
        self, plan: Plan, a: np.ndarray, b: np.ndarray, c: Sequence[np.ndarray], mode="", alpha=1.0
    ) -> tuple[Executable, list[np.ndarray]]:
        """An executable on one operand set for each array of `c`, and views of every C in place."""
        size = -(-max(a.nbytes, b.nbytes, c[0].nbytes) // 64) * 64
        memory = self.backend.allocate(3 * size * len(c))
        self.memories.append(memory)
        sets = [{"A": i * size, "B": (i + 1) * size, "C": (i + 2) * size} for i in range(0, 3 * len(c), 3)]
        for at, initial in zip(sets, c, strict=True):
            memory.write(at["A"], a)
            memory.write(at["B"], b)
            memory.write(at["C"], initial)
        loaded = self.backend.load(self.compiler.compile(plan), plan)
        scaled = replace(plan, problem=replace(plan.problem, alpha=alpha))
        scratch = Scratch(self.backend, [plan])
        self.memories.append(scratch)
        step = Step(loaded, scaled, tuple(sets), *scratch.places)
        executable = self.backend.bind("test", [step], memory, mode=mode)
        return executable, [memory.array(at["C"], plan.problem.stored_shape("C"), "float32") for at in sets]

    def bind_one(self, plan: Plan) -> Executable:
        """An executable on 1x1 matrices of zeros."""
        zero = np.zeros((1, 1), np.float32)
        return self.bind(plan, zero, zero, [zero])[0]

    def run(self, plan: Plan, a=None, b=None, c=None, mode="", alpha=1.0) -> np.ndarray:
        """C after one launch; what is not given is zeros, and NaN for C."""
        problem = plan.problem
        a = np.zeros(problem.stored_shape("A"), np.float32) if a is None else a
        b = np.zeros(problem.stored_shape("B"), np.float32) if b is None else b
        c = np.full(problem.stored_shape("C"), np.nan, np.float32) if c is None else c
        executable, (result,) = self.bind(plan, a, b, [c], mode, alpha)
        executable.time(1)
        return result.copy()


@pytest.fixture(scope="session")
def opened() -> Iterator[tuple[CpuCompiler, CpuBackend]]:
    backend = CpuBackend(timeout=10)
    yield CpuCompiler(), backend
    backend.close()


@pytest.fixture
def bench(opened) -> Iterator[Bench]:
    bench = Bench(*opened)
    yield bench
    for memory in bench.memories:
        memory.free()
    if bench.backend is not opened[1]:
        bench.backend.close()
