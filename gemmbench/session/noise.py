"""A kernel against itself: how small a difference this machine can show."""

from __future__ import annotations

from collections.abc import Iterator

from gemmbench.backends import registry
from gemmbench.backends.devices import Machine
from gemmbench.bench.build import compile_plans
from gemmbench.bench.experiments.noise import Noise, compare_with_itself
from gemmbench.errors import PlanError
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.overrides import TimeLimits
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.session.reporter import SILENT, Reporter
from gemmbench.session.session import open_session
from gemmbench.session.single_kernel import KernelRequest, plan_kernel

SECONDS = 4.0
"""Of timing, for each plan."""


def measure_noise(
    machine: Machine, kernels: str | None, limits: TimeLimits, reporter: Reporter = SILENT
) -> tuple[list[Noise], bool]:
    """Measure plans against themselves; returns the noise of each, and whether it was interrupted.

    A plan that fails is reported and left out.
    """
    plans = list(choose_plans(machine, kernels))
    policy = Policy(until=0.0, max_time=SECONDS)
    noises: list[Noise] = []
    with open_session(machine, sorted({plan.device for plan in plans}), limits, reporter) as session:
        built = compile_plans(plans, session.compilers, session.progress)
        for plan in plans:
            try:
                noises.append(compare_with_itself(session.worker, plan, built[plan], policy))
            except PlanError as fault:
                if session.is_interrupted():
                    return noises, True
                reporter.message(f"A against A: {fault}")
    return noises, False


def choose_plans(machine: Machine, kernels: str | None) -> Iterator[Plan]:
    """Of each line that the back end lists, the first variant that can run."""
    for names, size in registry.find_entry(machine.choice.primary).noise_plans:
        requests = [KernelRequest(name, str(size), "f32", "nn", kernels=kernels) for name in names]
        expanded = [item for one in requests for item in plan_kernel(one, one.find_variant(), machine)]
        yield from [item for item in expanded if isinstance(item, Plan)][:1]
