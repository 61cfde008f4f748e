"""`--dry-run`: what would run, what would be skipped and why, and about how long it would take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gemmbench.backends import registry
from gemmbench.backends.devices import Machine
from gemmbench.bench.estimate import Estimate, estimate_run
from gemmbench.cli.output import print_line, print_reports
from gemmbench.errors import OK
from gemmbench.planning.problems import PanelCut
from gemmbench.planning.sweeps.planned_sweep import PlannedSweep
from gemmbench.report.diagnostics.plan_report import PlannedRows, describe_estimate, report_network_plans, report_plans
from gemmbench.report.table import Report
from gemmbench.session.network_runs import PlannedNetwork


def print_plans(
    planned: PlannedSweep | PlannedNetwork, machine: Machine, style: str | None, cut: PanelCut | None = None
) -> int:
    """Print plans, skips and an estimate; opens no device."""
    report, _ = _report_plans(planned, machine, cut)
    print_reports([report], style)
    return OK


def print_plans_of_posts(
    posts: Iterable[tuple[str, PlannedSweep | PlannedNetwork]], machine: Machine, style: str | None
) -> int:
    """Print the plans of every post with its name, and an estimate of them all; opens no device."""
    total = Estimate(0.0, 0.0, 0)
    for name, planned in posts:
        report, estimate = _report_plans(planned, machine)
        table = report.tables[0]
        titled = replace(table, title=f"{name}: {table.title}".removesuffix(": "))
        print_reports([replace(report, tables=[titled])], style)
        print_line()
        total += estimate
    print_line(f"All posts: about {describe_estimate(total, machine.primary.name)}.")
    return OK


def _report_plans(
    planned: PlannedSweep | PlannedNetwork, machine: Machine, cut: PanelCut | None = None
) -> tuple[Report, Estimate]:
    sweep, name = planned.sweep, machine.primary.name
    compilers = registry.make_compilers(machine, machine.devices)
    chains = planned.rows if isinstance(planned, PlannedNetwork) else planned.make_chains()
    rows = PlannedRows()
    estimate = estimate_run(rows.count(chains), machine, sweep.policy, sweep.baseline, compilers, cut)
    if isinstance(planned, PlannedNetwork):
        network = planned.sweep.network
        return report_network_plans(f"{network}, {network.precision_name}", rows, estimate, name), estimate
    return report_plans(rows, estimate, name), estimate
