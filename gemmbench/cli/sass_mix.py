"""The part of `gemmbench inspect` that reads machine code: the mix of the hottest loop, and the limits on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from gemmbench.errors import BAD_ROW, OK, UsageError

if TYPE_CHECKING:
    from gemmbench.analysis.sass.facts import Facts
    from gemmbench.backends.base import InspectingCompiler
    from gemmbench.planning.plans.plan import Plan
    from gemmbench.report.sass import Peak, Reading


def sass_mix(compiler: InspectingCompiler, plans: Sequence[Plan], sm: int, peak: Peak | None, style: str) -> int:
    """Show every kernel's hottest loop; 1 if that of a plan breaks a limit of its manifest."""
    from gemmbench.analysis.sass.instructions import FIRST_SM
    from gemmbench.analysis.sass.limits import broken
    from gemmbench.report.sass import MODEL, table

    if sm < FIRST_SM:
        raise UsageError(f"--sass-mix reads machine code from sm_{FIRST_SM} on; sm_{sm} is older")
    readings: list[Reading] = []
    faults: list[str] = []
    for plan in plans:
        mine = [_read(compiler, launch, peak, len(plan.symbols) > 1) for launch in plan.each_launch()]
        readings += mine
        main = max((reading.facts for reading in mine), key=_math)
        found = broken(plan, main, sm)
        faults += [f"{plan.variant.name} {plan.config}: {text}" for text in found]
    seen = table(readings, style)
    click.echo(f"\n{seen}\n" if seen else "")
    for reading in readings:
        click.echo(reading.sentence())
    if seen:
        click.echo(MODEL)
    for fault in faults:
        click.echo(f"sass limit broken: {fault}", err=True)
    return BAD_ROW if faults else OK


def _math(facts: Facts | None) -> int:
    return facts.loop.math if facts else 0


def _read(compiler: InspectingCompiler, plan: Plan, peak: Peak | None, several: bool) -> Reading:
    from gemmbench.analysis.sass.facts import Facts
    from gemmbench.analysis.sass.instructions import kernels
    from gemmbench.analysis.sass.loop import hottest
    from gemmbench.report.sass import Reading

    symbol = plan.symbols[-1]
    loop = hottest(kernels(compiler.sass(plan)).get(symbol, ()))
    label = " ".join(filter(None, (str(plan.config), symbol if several else ""))) or plan.variant.name
    return Reading(label, Facts(loop) if loop else None, peak)
