"""One launch of one plan, for a profiler to watch."""

from __future__ import annotations

from contextlib import ExitStack
from typing import cast

from gemmbench.backends.base import Artifact, Backend, ProfilableExecutable
from gemmbench.bench.experiments.gemm import make_inputs
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.fill import make_operands
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.bench.operands.scratch import Scratch, size_workspaces
from gemmbench.planning.plans.plan import Plan


def launch_once(backend: Backend, plan: Plan, artifact: Artifact, seed: int) -> None:
    """Launch a plan on uniform data, bound as for timing: once to warm up, once for the profiler.

    Its launches do not overlap. Raises PlanError. The back end must be one whose executables are `base.Profiled`.
    """
    plan, problem = plan.without_pdl(), plan.problem
    inputs = make_inputs(make_operands(problem, "uniform", seed), problem.beta)
    with ExitStack() as held:
        arena = Arena(backend, GemmLayout(problem), 1)
        held.callback(arena.free)
        loaded = [backend.load(artifact, plan)]
        plans = size_workspaces(backend, [plan], loaded)
        scratch = Scratch(backend, plans)
        held.callback(scratch.free)
        arena.write(inputs, 1)
        arena.reset(inputs, 1)
        steps = arena.make_steps(plans, loaded, 1, scratch)
        bound = backend.bind(plan.variant.name, steps, arena.memory, mode=backend.modes[0])
        bound.time(1)
        cast(ProfilableExecutable, bound).profile()
