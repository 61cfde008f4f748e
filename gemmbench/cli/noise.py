"""A against A on the device of this run: what `gemmbench doctor` says of its noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gemmbench.backends.health import Finding
    from gemmbench.backends.machine import Machine
    from gemmbench.bench.noise import Noise
    from gemmbench.planning.plans.plan import Plan
    from gemmbench.planning.sweeps.limits import Limits

SECONDS = 4.0
"""Of timing, for one of the two."""


def measure_noise(machine: Machine, kernels: str | None, limits: Limits, show: Callable[[list[Finding]], None]) -> int:
    """Run plans against themselves, say what came out and what it means; returns the exit code."""
    from gemmbench.backends import registry
    from gemmbench.bench.noise import against_itself
    from gemmbench.bench.runner import build_all
    from gemmbench.cli.interruption import Interruption
    from gemmbench.cli.laboratory import open_laboratory
    from gemmbench.cli.progress import progress_bar
    from gemmbench.errors import INTERRUPTED, OK, PlanError
    from gemmbench.planning.sweeps.policy import Measuring
    from gemmbench.report.doctor import of_noise, summary

    plans = list(_plans(machine, kernels))
    devices, stop = sorted({plan.device for plan in plans}), Interruption(limits.sweep)
    measuring = Measuring(until=0.0, max_time=SECONDS)
    noises: list[Noise] = []
    with (
        stop.watched(),
        progress_bar() as progress,
        open_laboratory(machine, devices, True, limits, progress, stop.asked) as laboratory,
    ):
        built = build_all(plans, registry.make_compilers(machine, devices, limits.compile), progress)
        for plan in plans:
            try:
                noises.append(against_itself(laboratory, plan, built[plan], measuring))
            except PlanError as fault:
                if stop.asked():
                    return INTERRUPTED
                click.echo(f"A against A: {fault}", err=True)
    show([of_noise(noise) for noise in noises])
    if noises:
        click.echo(f"\n{summary(noises)}")
    return OK


def _plans(machine: Machine, kernels: str | None) -> Iterator[Plan]:
    from gemmbench.backends import registry
    from gemmbench.cli.planning import open_catalog
    from gemmbench.planning.plans.expansion import configurations, expand
    from gemmbench.planning.plans.plan import Plan
    from gemmbench.planning.problems.problem import Problem

    catalog, primary = open_catalog(kernels), machine.choice.primary
    for names, size in registry.entry_of(primary).noise_plans:
        variants = [(variant, configurations(variant, {})) for variant in map(catalog.get, names)]
        found = expand([Problem(size, size, size)], variants, primary, machine.targets, registry.why_refused)
        yield from [plan for plan in found if isinstance(plan, Plan)][:1]
