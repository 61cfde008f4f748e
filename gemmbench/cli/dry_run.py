"""`--dry-run`: what would run, what would be skipped and why, and about how long it would take."""

from __future__ import annotations

from collections import Counter

import click

from gemmbench.backends.machine import Machine
from gemmbench.bench.estimate import estimate_seconds
from gemmbench.cli.output import choose_plain_style
from gemmbench.errors import OK
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.planned_sweep import PlannedSweep
from gemmbench.report.table import format_cells
from gemmbench.session.networks import PlannedNetwork


def print_plans(planned: PlannedSweep, machine: Machine, style: str | None) -> int:
    """Print plans and skips; opens no device."""
    head = ["problem", "kernel", "configuration", "device", "grid", "block"]
    rows = [_format_cells(plan) for plan in planned.plans]
    click.echo(format_cells(rows, head, choose_plain_style(style)))
    skips = Counter((skip.variant.name, skip.reason) for skip in planned.skips)
    for (name, reason), count in skips.items():
        click.echo(f"skipped {count}: {name}: {reason}")
    estimate = estimate_seconds(planned.plans, machine, planned.sweep.policy)
    device = machine.primary.name
    click.echo(f"{len(rows)} plans, {skips.total()} skips, about {estimate:.0f} s on {device}")
    return OK


def _format_cells(plan: Plan) -> list[str]:
    grid, block = (plan.geometry.grid, plan.geometry.block) if plan.geometry else ((), ())
    extents = ["x".join(map(str, extent)) or "-" for extent in (grid, block)]
    return [str(plan.problem), plan.variant.name, str(plan.config), plan.device, *extents]


def print_network_plans(planned: PlannedNetwork, style: str | None) -> int:
    """Print what each row of a network launches, or why it is skipped; opens no device."""
    network = planned.sweep.network
    head = ["kernel", "configuration", "device", "launches"]
    rows = [
        [row.name, str(row.config) or "-", row.device, ", ".join(row.launches) or f"skipped: {row.reason}"]
        for row in planned.rows
    ]
    click.echo(f"{network}, {network.precision_name}\n")
    click.echo(format_cells(rows, head, choose_plain_style(style)))
    return OK
