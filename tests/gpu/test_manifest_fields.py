"""A workspace, several launches and tensor maps on a real GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemmbench.backends import registry
from gemmbench.backends.base import Step
from gemmbench.backends.cuda.nvcc import NvccCompiler
from gemmbench.backends.jobs import LaunchStep
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.bench.operands.operand_values import make_inputs, make_operands
from gemmbench.bench.operands.scratch import Scratch
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Config, Plan
from gemmbench.planning.problems import LAYOUTS, Problem
from gemmbench.planning.sweeps.policy import Policy

pytestmark = pytest.mark.filterwarnings("default")  # pycuda may warn as it is imported

KERNELS = Path(__file__).parents[1] / "kernels"
ALPHA, BETA = 2.0, -3.0


def planned(backend: Any, name: str, problem: Problem, **values: int) -> Plan:
    variant = Catalog([KERNELS]).get(name)
    if name == "tma" and backend.device.target.sm < 90:
        pytest.skip("TMA needs compute capability 9.0")
    config = Config(tuple({**variant.default(), **values}.items()))
    targets = {"cuda": backend.device.target}
    (found,) = make_plans([problem], [(variant, [config])], "cuda", targets, registry.why_refused)
    assert isinstance(found, Plan), found.reason
    return found


class Bench:
    """A plan bound to operand sets of small integers, on which every result is exact."""

    def __init__(self, backend: Any, plan: Plan, sets: int = 1):
        self.data = make_operands(plan.problem, "ints", 3)
        self.inputs = make_inputs(self.data, BETA)
        self.arena = Arena(backend, GemmLayout(plan.problem), sets)
        self.arena.write(self.inputs, sets)
        self.arena.reset(self.inputs, sets)
        self.arena.seal()
        self.plan, self.backend = plan, backend
        self.loaded = backend.load(NvccCompiler().compile(plan), plan)
        self.scratch = Scratch(backend, [plan])

    def bind(self) -> Any:
        problem = replace(self.plan.problem, alpha=ALPHA, beta=BETA)
        steps = self.make_steps(replace(self.plan, problem=problem))
        return self.backend.bind("test", steps, self.arena.memory)

    def make_steps(self, plan: Plan) -> list[Step]:
        """The steps on every set, each with its own C."""
        steps = self.arena.make_steps([plan], [self.loaded], self.scratch, rotates=True)
        return [replace(step, sets=step.sets[: self.arena.sets]) for step in steps]

    def want(self, launches: int = 1) -> np.ndarray:
        a, b, problem = self.data["A"], self.data["B"], self.plan.problem
        product = (a.T if problem.trans_a else a) @ (b.T if problem.trans_b else b)
        result = self.data["C"]
        for _ in range(launches):
            result = ALPHA * product + BETA * result
        return result

    def check(self, index: int = 0, launches: int = 1) -> None:
        np.testing.assert_array_equal(self.arena.read(index), self.arena.factors[index] * self.want(launches))
        assert self.arena.find_damage() == ""
        assert self.scratch.find_fault() == ""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [(33, 18, 50), (128, 96, 64), (1, 1, 1)])
def test_two_launches_share_a_workspace_which_the_second_restores(backend, size, layout):
    plan = planned(backend, "split_k", Problem(*size, layout, beta=BETA))
    bench = Bench(backend, plan, sets=3)
    bench.bind().time(6)
    for index in range(3):
        bench.check(index, launches=2)
    bench.arena.free()


@pytest.mark.parametrize("swizzle", [0, 128])
@pytest.mark.parametrize("layout", ["nn", "tn"])
@pytest.mark.parametrize("size", [(64, 64, 64), (33, 36, 68), (100, 260, 200), (1, 4, 4)])
def test_tma_brings_tiles_of_operands_and_of_the_workspace(backend, size, layout, swizzle):
    plan = planned(backend, "tma", Problem(*size, layout, beta=BETA), SWIZZLE=swizzle)
    assert plan.symbols == (("turn", "gemm") if layout == "tn" else ("gemm",))
    bench = Bench(backend, plan, sets=3)
    bench.bind().time(4)
    bench.check(0, launches=2)
    bench.check(1)
    bench.check(2)
    bench.arena.free()


def test_a_row_of_the_workspace_may_be_longer_than_k(backend):
    bench = Bench(backend, planned(backend, "tma", Problem(48, 64, 65, "tn", beta=BETA)))
    bench.bind().time(1)
    bench.check()
    bench.arena.free()


def test_more_kernels_than_the_gate_may_hold_are_timed_in_several_windows(backend):
    bench = Bench(backend, planned(backend, "split_k", Problem(33, 18, 50, beta=BETA)))
    executable = bench.bind()
    executable.time(1)
    assert executable.time(600).launches == 600
    bench.arena.free()


@pytest.mark.parametrize("graph", [False, True])
def test_several_launches_go_into_a_chain_and_a_graph(backend, graph):
    if graph:
        pytest.importorskip("cuda.bindings")
    plan = planned(backend, "split_k", Problem(33, 18, 50, alpha=ALPHA, beta=BETA))
    bench = Bench(backend, plan)
    executable = backend.bind("twice", bench.make_steps(plan) * 2, bench.arena.memory, graph)
    bench.arena.reset(bench.inputs, 1)  # recording a graph runs it once
    executable.time(1)
    bench.check(launches=2)
    bench.arena.free()


def test_a_job_queues_all_launches_of_a_step(backend):
    problem = Problem(33, 18, 50, alpha=ALPHA, beta=BETA)
    plan = planned(backend, "split_k", problem)
    bench = Bench(backend, plan)
    artifact, (at,) = NvccCompiler().compile(plan), bench.make_steps(plan)[0].sets
    steps = [LaunchStep(number, plan, artifact, at, after) for number, after in ((0, None), (1, 0))]
    backend.job(steps, bench.arena.memory, True).run()
    bench.check(launches=2)
    bench.arena.free()


def test_the_whole_experiment_finds_them_right(backend):
    problems = Problem(256, 256, 256, "tn"), Problem(256, 256, 256)
    for problem in problems:
        names = ["split_k", "dispatch"] + (["tma"] if backend.device.target.sm >= 90 else [])
        plans = tuple(planned(backend, name, problem) for name in names)
        built = tuple(NvccCompiler().compile(plan) for plan in plans)
        batch = make_gemm_batch(plans, built, Policy(rounds=2, max_time=0.2))
        records = LocalWorker({"cuda": backend}).experiment(batch)
        assert [(record.status, record.reason) for record in records] == [("ok", "")] * len(names)
        print([(record.variant, record.configuration, min(record.samples)) for record in records])
