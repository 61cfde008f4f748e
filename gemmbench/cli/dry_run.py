"""`--dry-run`: what would run, what would not and why, and about how long it would take."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from gemmbench.errors import OK

if TYPE_CHECKING:
    from gemmbench.cli.planning import Asked


def show_plans(asked: Asked, style: str | None) -> int:
    """Print plans and skips; opens no device."""
    from tabulate import tabulate

    from gemmbench.bench.estimate import seconds
    from gemmbench.cli.output import plain
    from gemmbench.planning.plans.plan import Skip

    def geometry(sizes: tuple[int, int, int]) -> str:
        return "x".join(map(str, sizes))

    head = ["problem", "kernel", "configuration", "device", "grid", "block"]
    rows = []
    for plan in asked.plans:
        grid, block = (geometry(plan.geometry.grid), geometry(plan.geometry.block)) if plan.geometry else ("-", "-")
        rows.append([plan.problem, plan.variant.name, plan.config, plan.device, grid, block])
    click.echo(tabulate(rows, head, tablefmt=plain(style), disable_numparse=True))
    skips = Counter((item.variant.name, item.reason) for item in asked.expanded if isinstance(item, Skip))
    for (name, reason), count in skips.items():
        click.echo(f"skipped {count}: {name}: {reason}")
    estimate = seconds(asked.plans, asked.machine, asked.sweep.measuring)
    click.echo(f"{len(rows)} plans, {skips.total()} skips, about {estimate:.0f} s on {asked.machine.primary.name}")
    return OK
