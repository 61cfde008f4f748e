"""`gemmbench run`: verifies and times kernels and compares them with the baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gemmbench.backends.devices import Machine
from gemmbench.cli.options import (
    LIMITS,
    MEASURE,
    SCALARS,
    SHAPE,
    TRANSFER,
    OutputOptions,
    VariantName,
    argument,
    command,
    config_option,
    dry_run_option,
    group,
    made,
    option,
    read_transfers,
)
from gemmbench.cli.output import TERMINAL, append_job_summary, print_line, print_reports
from gemmbench.cli.run_options import FleetOptions, JournalOptions, ReferenceOptions
from gemmbench.cli.run_outputs import complete_options, find_missing, finish_run, print_plans
from gemmbench.errors import INTERRUPTED, NO_DEVICE, OK
from gemmbench.planning.sweeps.run_request import PROBLEM, RunRequest, Selection, TransferOptions
from gemmbench.report.comparison import Comparison, compare_rows
from gemmbench.report.differences.difference_tables import report_differences
from gemmbench.report.differences.run_differences import compare_runs
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.tables.kernel_tables import report_results
from gemmbench.report.tables.view import View
from gemmbench.session.sweep_runs import plan_request, run_sweep


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """The options that run and compare share."""

    problem: None = group(*SHAPE, *SCALARS)
    tuned: bool = option(
        "--tuned",
        is_flag=True,
        heading=PROBLEM,
        help="Run kernels without --param in the best configuration that tune has found, if any.",
    )
    where: FleetOptions
    measure: None = group(*MEASURE)
    limits: None = group(*LIMITS)
    transfer: None = group(*TRANSFER)
    jobs: TransferOptions = made(read_transfers)
    reference: ReferenceOptions
    journal: JournalOptions
    dry_run: bool = dry_run_option("Show what would run, what is skipped, and an estimate of the time; run nothing.")
    output: OutputOptions


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of `gemmbench run`."""

    variants: tuple[str, ...] = argument(nargs=-1, type=VariantName())
    config: str = config_option("quick")
    sweep: SweepOptions


@command(
    RunOptions,
    complete=complete_options,
    common=(
        "config",
        "sizes",
        "precisions",
        "params",
        "device",
        "rounds",
        "export_csv",
        "details",
        "resume",
        "dry_run",
    ),
)
def run(request: RunRequest, options: RunOptions) -> int:
    """Verify and time KERNELs and compare them with the baseline.

    \b
    gemmbench run naive tiled --sizes 1024,4096  two kernels at two sizes
    gemmbench run tiled --param all              which configuration is best?
    gemmbench run --resume                       continue the run that stopped

    Without KERNELs, the config names them. Options replace what the config says, and defaults apply
    where it says nothing. Every row is verified before it is timed, and written to the results file
    with its batch of at most 16 rows.
    """
    return max(code for code, _ in conduct_sweeps(request, options.sweep))


def conduct_sweeps(
    request: RunRequest,
    options: SweepOptions,
    compare: bool = False,
    introduce: Callable[[Comparison], None] = lambda comparison: None,
) -> Iterator[tuple[int, Comparison | None]]:
    """Run and report a sweep, or only print its plans, on one machine or on each kind of card in a fleet.

    `introduce` prints what comes before the tables. Yields exit codes and comparisons (None for plans) until a sweep is
    interrupted.
    """
    if options.jobs.cut:
        options.where.refuse_fleet("--with-transfers")
    for machine in options.where.list_machines():
        code, comparison = _conduct_sweep(request, options, compare, introduce, machine)
        yield code, comparison
        if code == INTERRUPTED:
            return


def _conduct_sweep(
    request: RunRequest,
    options: SweepOptions,
    compare: bool,
    introduce: Callable[[Comparison], None],
    machine: Machine,
) -> tuple[int, Comparison | None]:
    cut = options.jobs.cut
    if options.dry_run:
        planned = plan_request(request, machine, TERMINAL, compare=compare, transfers=cut, tuned=options.tuned)
        return print_plans(planned, machine, options.output.style, request.destination.resume, cut), None
    reference = options.reference.read(options.journal.out, machine.primary.name)
    result = run_sweep(request, machine, TERMINAL, compare=compare, transfers=cut, tuned=options.tuned)
    comparison = compare_rows(result.run)
    introduce(comparison)
    code = finish_run(
        result, comparison, options.output, sustained=bool(request.measuring.sustained), closing=not compare
    )
    differences = [compare_runs(compare_rows(reference), comparison)] if reference else []
    compared = [report_differences(each) for each in differences]
    if compared:
        print_line()
        print_reports(compared, options.output.style)
    append_job_summary([*report_results(comparison, View(details=True)), *compared])
    options.reference.keep(result, options.journal.out)
    code = code or (OK if compare else _find_missing(request.selection, options, result.run))
    return code or (NO_DEVICE if any(not each.rows for each in differences) else OK), comparison


def _find_missing(selection: Selection, options: SweepOptions, run: Run) -> int:
    """Return 3 if a named variant could not run but was to be compared, or if none of the named variants could run."""
    ran = {record.variant for record in run.records if record.status != "skipped"}
    variants, baseline = selection.variants, selection.baseline
    is_compared = options.reference.against or baseline or ran.isdisjoint(variants)
    return find_missing(dict.fromkeys([*variants, *filter(None, [baseline])]) if is_compared else (), run.records)
