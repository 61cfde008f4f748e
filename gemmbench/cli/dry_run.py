"""`--dry-run`: what would run, what would be skipped and why, and about how long it would take."""

from __future__ import annotations

from collections import Counter

from gemmbench.backends.machine import Machine
from gemmbench.bench.estimate import estimate_seconds
from gemmbench.cli.output import print_reports
from gemmbench.errors import OK
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.planned_sweep import PlannedSweep
from gemmbench.report.table import Report, Table
from gemmbench.session.networks import PlannedNetwork


def print_plans(planned: PlannedSweep, machine: Machine, style: str | None) -> int:
    """Print plans and skips; opens no device."""
    headings = ["problem", "kernel", "configuration", "device", "grid", "block"]
    rows = [_format_cells(plan) for plan in planned.plans]
    skips = Counter((skip.variant.name, skip.reason) for skip in planned.skips)
    notes = [f"skipped {count}: {name}: {reason}" for (name, reason), count in skips.items()]
    hide = ["block", "grid", "device"]
    table = Table("", headings, rows, notes, left=headings, fold=["configuration"], hide=hide)
    estimate = estimate_seconds(planned.plans, machine, planned.sweep.policy)
    device = machine.primary.name
    total = f"{len(rows)} plans, {skips.total()} skips, about {estimate:.0f} s on {device}"
    print_reports([Report([table], [total])], style)
    return OK


def _format_cells(plan: Plan) -> list[str]:
    grid, block = (plan.geometry.grid, plan.geometry.block) if plan.geometry else ((), ())
    extents = ["x".join(map(str, extent)) or "-" for extent in (grid, block)]
    return [str(plan.problem), plan.variant.name, str(plan.config) or "-", plan.device, *extents]


def print_network_plans(planned: PlannedNetwork, style: str | None) -> int:
    """Print what each row of a network launches, or why it is skipped; opens no device."""
    network = planned.sweep.network
    headings = ["kernel", "configuration", "device", "launches"]
    rows = [
        [row.name, str(row.config) or "-", row.device, ", ".join(row.launches) or f"skipped: {row.reason}"]
        for row in planned.rows
    ]
    title = f"{network}, {network.precision_name}"
    table = Table(title, headings, rows, left=headings, fold=["configuration", "launches"], hide=["device"])
    print_reports([Report([table])], style)
    return OK
