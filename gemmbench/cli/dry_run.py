"""`--dry-run`: what would run, what would be skipped and why, and about how long it would take."""

from __future__ import annotations

from collections.abc import Sequence

from gemmbench.backends import registry
from gemmbench.backends.machine import Machine
from gemmbench.bench.estimate import Estimate, estimate_run
from gemmbench.cli.output import print_reports
from gemmbench.errors import OK
from gemmbench.planning.plans.chain import Chain
from gemmbench.planning.problems.panels import PanelCut
from gemmbench.planning.sweeps.planned_sweep import PlannedSweep
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.report.diagnostics.plans import report_network_plans, report_plans
from gemmbench.session.networks import PlannedNetwork


def print_plans(planned: PlannedSweep, machine: Machine, style: str | None, cut: PanelCut | None = None) -> int:
    """Print plans, skips and an estimate; opens no device."""
    sweep = planned.sweep
    estimate = _estimate(planned.chains, machine, sweep.policy, sweep.baseline, cut)
    print_reports([report_plans(planned.chains, estimate, machine.primary.name)], style)
    return OK


def print_network_plans(planned: PlannedNetwork, machine: Machine, style: str | None) -> int:
    """Print what each row of a network launches, or why it is skipped, and an estimate; opens no device."""
    sweep = planned.sweep
    estimate = _estimate(planned.rows, machine, sweep.policy, sweep.baseline)
    title = f"{sweep.network}, {sweep.network.precision_name}"
    print_reports([report_network_plans(title, planned.rows, estimate, machine.primary.name)], style)
    return OK


def _estimate(
    chains: Sequence[Chain], machine: Machine, policy: Policy, baseline: str, cut: PanelCut | None = None
) -> Estimate:
    compilers = registry.make_compilers(machine, machine.devices)
    return estimate_run(chains, machine, policy, baseline, compilers, cut)
