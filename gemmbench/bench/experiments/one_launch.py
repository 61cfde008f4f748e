"""One launch of one plan, for a profiler to watch."""

from __future__ import annotations

from typing import cast

from gemmbench.backends.base import Artifact, Backend, Profiled, Step
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.fill import filled
from gemmbench.planning.plans.plan import Plan


def launch_once(backend: Backend, plan: Plan, artifact: Artifact, seed: int) -> None:
    """Bind the plan as it is bound for timing, on uniform data; launch it to warm up, then once to be watched.

    Raises PlanError. The back end must be one whose executables are `base.Profiled`.
    """
    problem = plan.problem
    data, arena = filled(problem, "uniform", seed), Arena(backend, problem, 1)
    try:
        arena.write_inputs(data, 1)
        arena.reset_c(data, problem.beta, 1)
        step = Step(backend.load(artifact, plan), plan, arena.sets)
        bound = backend.bind(plan.variant.name, [step], arena.memory, mode=backend.modes[0])
        bound.time(1)
        cast(Profiled, bound).profile()
    finally:
        arena.free()
