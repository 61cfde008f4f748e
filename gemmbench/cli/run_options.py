"""Options of run and compare, and what both do with a sweep."""

from __future__ import annotations

from dataclasses import dataclass

from gemmbench.cli.dry_run import print_plans
from gemmbench.cli.options import (
    DeviceOptions,
    JournalOptions,
    LimitOptions,
    MeasureOptions,
    OutputOptions,
    ProblemOptions,
    TransferOptions,
    dry_run_option,
    sweep_options,
)
from gemmbench.cli.output import finish
from gemmbench.cli.terminal import TERMINAL
from gemmbench.report.store import Run
from gemmbench.session.machine import find_machine
from gemmbench.session.sweeps import SweepRequest, plan_sweep, run_sweep


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options that run and compare share."""

    problem: ProblemOptions
    device: DeviceOptions
    measure: MeasureOptions
    limit: LimitOptions
    transfer: TransferOptions
    journal: JournalOptions
    dry_run: bool = dry_run_option("Show plans, skips and an estimate of the time; run nothing.")
    output: OutputOptions


def conduct_sweep(
    variants: tuple[str, ...], config: str, options: RunOptions, compare: bool = False
) -> tuple[int, Run | None]:
    """Run and report a sweep, or print its plans; returns the exit code, and the results if it ran."""
    machine = find_machine(options.device.device, TERMINAL)
    request = SweepRequest(
        sweep_options(variants, options.problem, options.measure),
        config,
        compare,
        options.device.kernels,
        options.limit.limits,
        options.transfer.cut,
        options.journal.destination,
    )
    if options.dry_run:
        return print_plans(plan_sweep(request, machine), options.output.style), None
    result = run_sweep(request, machine, TERMINAL)
    return finish(result, options.output, energy=bool(options.measure.energy)), result.run
