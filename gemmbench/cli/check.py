"""`gemmbench check`: fails if a kernel became slower, or if one of its lines asks more of memory than before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import click
from click.core import ParameterSource

from gemmbench.backends.devices import Machine
from gemmbench.cli.options import (
    LIMITS,
    MEASURE,
    SCALARS,
    SHAPE,
    RunName,
    VariantName,
    argument,
    command,
    config_option,
    group,
    option,
    out_option,
    style_option,
)
from gemmbench.cli.output import TERMINAL, append_job_summary, print_line, print_reports
from gemmbench.cli.run_options import FleetOptions, fail_on_option, force_option, margin_option
from gemmbench.cli.run_outputs import (
    describe_results,
    find_missing,
    print_next_step,
    refuse_incomplete_file,
    save_csv,
)
from gemmbench.cli.streams import write_workflow_command
from gemmbench.errors import BAD_ROW, INCONCLUSIVE, INTERRUPTED, NO_DEVICE, OK, UsageError
from gemmbench.planning.files import is_results_name, runs_in_github_actions
from gemmbench.planning.sweeps.run_request import OUTPUT, REFERENCE, RunRequest
from gemmbench.report.differences import regression_gate
from gemmbench.report.differences.access_check import annotate_accesses, report_access_check
from gemmbench.report.differences.check_report import format_junit, list_annotations, report_check
from gemmbench.report.export import write_text
from gemmbench.session.regression_check import CheckResult, run_check
from gemmbench.session.revision_accesses import check_accesses


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of `gemmbench check`."""

    variants: tuple[str, ...] = argument(nargs=-1, type=VariantName())
    against: str | None = option(
        "--against",
        type=RunName(),
        metavar="NAME",
        heading=REFERENCE,
        help="A saved run, a results file or a git revision.  [default: the newest saved run]",
    )
    accesses: bool = option(
        "--accesses",
        is_flag=True,
        heading=REFERENCE,
        help="Compare the memory requests of each line with those in a git revision, using g++; nothing is timed.",
    )
    margin: float = margin_option("3%", "How much longer a row may take.")
    fail_on: tuple[str, ...] = fail_on_option(
        "inconclusive: exit with 4 if a verdict is inconclusive. A slower kernel always exits with 1."
    )
    force: bool = force_option()
    config: str = config_option("quick", "Config for the check against a git revision.")
    problem: None = group(*SHAPE, *SCALARS)
    where: FleetOptions
    measure: None = group(*MEASURE)
    limits: None = group(*LIMITS)
    out: str = out_option()
    junit: str | None = option(
        "--junit",
        type=click.Path(),
        metavar="FILE",
        heading=OUTPUT,
        help="Write a JUnit file with one case per row.",
    )
    style: str | None = style_option()

    @property
    def fails_inconclusive(self) -> bool:
        """Whether an inconclusive verdict counts as a failure."""
        return regression_gate.INCONCLUSIVE in self.fail_on


@command(
    CheckOptions,
    common=("against", "margin", "fail_on", "accesses", "sizes", "precisions", "params", "device", "junit", "style"),
)
def check(request: RunRequest, options: CheckOptions) -> int:
    """Fail if KERNELs became slower than in a saved run or a revision.

    \b
    gemmbench check mine --against main                a revision or a saved run
    gemmbench check mine --against HEAD~1 --sizes 512  sizes need a revision
    gemmbench check --accesses --against HEAD~1        counts accesses; no GPU

    Against a saved run, its rows are measured again and their ratios to the baseline are compared.
    Against a git revision, the kernels of both are measured in the same rounds, which is more exact.
    Options of the sweep, such as --sizes, are for a revision; a saved run is repeated as it was.

    A row passes if the whole 95 % interval of its slowdown lies below the margin and is a regression
    if it lies above. Exit codes: 0 all pass, or inconclusive; 1 a regression or a wrong row; 2 bad input, or
    nothing to check against; 3 no device, or a named variant could not run; 4 inconclusive, with --fail-on
    inconclusive. The rows of both sides are written to --out, as a results file and as CSV.

    Without KERNELs, all of a saved run are measured, or against a revision those of the config. A kernel that
    the revision lacks is verified, and listed as new.

    With --accesses nothing is timed: what each load and store asks of memory on a GPU is counted on
    this CPU for both, and a line that asks for more fails, by however little. Without KERNELs it
    checks every kernel of --kernels, or of the project. It needs g++ and no GPU.
    """
    if options.accesses:
        return _check_accesses(request, options)
    return max(_check(request, options, machine) for machine in options.where.list_machines())


def _check_accesses(request: RunRequest, options: CheckOptions) -> int:
    """Print what lines ask for, and return the exit code.

    It is 1 if a line asks for more than before, and 3 if nothing was counted or a named kernel was not.
    """
    checked = check_accesses(request, _choose_revision(request, options), TERMINAL)
    report = report_access_check(checked)
    print_reports([report], options.style)
    for annotation in annotate_accesses(checked) if runs_in_github_actions() else []:
        write_workflow_command(annotation)
    append_job_summary([report], checked.closing_line)
    print_line(checked.closing_line)
    if not checked.passes:
        return BAD_ROW
    is_missing = any(name in checked.uncounted and name not in checked.verdicts for name in options.variants)
    return OK if checked.compared_any and not is_missing else NO_DEVICE


def _choose_revision(request: RunRequest, options: CheckOptions) -> str:
    """Return the revision to compare with. Raises UsageError for options that have no use in a check of accesses."""
    if options.against is None:
        raise UsageError("--accesses compares with a git revision; add one, as in --against HEAD~1")
    if is_results_name(options.against):
        raise UsageError(f"--against {options.against}: results files do not contain accesses; give a git revision")
    options.where.refuse_fleet("--accesses")
    counted = replace(request.selection, sizes=None, precisions=(), layouts=(), params={}, baseline=None)
    given = replace(request, selection=counted).list_given()
    others = (
        ("--baseline", request.selection.baseline),
        ("--junit", options.junit),
        ("--margin", click.get_current_context().get_parameter_source("margin") != ParameterSource.DEFAULT),
        ("--fail-on", options.fail_on),
    )
    if given := [*given, *(name for name, value in others if value)]:
        raise UsageError(f"--accesses counts and does not time anything; leave out {given[0]}")
    return options.against


def _check(request: RunRequest, options: CheckOptions, machine: Machine) -> int:
    against, margin = options.against, options.margin
    checked = run_check(request, machine, TERMINAL, against=against, margin=margin, force=options.force)
    _write_outputs(checked, options)
    print_line(checked.check.closing_line)
    code = _choose_exit_code(checked, options.fails_inconclusive)
    missing = find_missing(options.variants, checked.result.run.records)
    return code if code in (BAD_ROW, INTERRUPTED) else missing or code


def _write_outputs(checked: CheckResult, options: CheckOptions) -> None:
    """Write the table, the results file, the JUnit file, and annotations for GitHub. Raises StoreError."""
    report = report_check(checked.check)
    print_reports([report], options.style)
    refuse_incomplete_file(checked.result)
    names = save_csv(checked.comparison)
    if checked.result.run.records:
        print_line(describe_results(checked.result.run.path, names), to_stderr=True)
    if options.junit:
        write_text(Path(options.junit), format_junit(checked.check, options.fails_inconclusive))
        print_line(f"exported to: {options.junit}", to_stderr=True)
    for annotation in list_annotations(checked.check) if runs_in_github_actions() else []:
        write_workflow_command(annotation)
    append_job_summary([report], checked.check.closing_line)


def _choose_exit_code(checked: CheckResult, fail_inconclusive: bool) -> int:
    if checked.result.interrupted:
        print_next_step()
        return INTERRUPTED
    if not any(record.status != "skipped" for record in checked.result.run.records):
        print_line("nothing ran: every row was skipped for the reasons above", to_stderr=True)
        return NO_DEVICE
    failed = [row for row in checked.check.rows if row.verdict in (regression_gate.BROKEN, regression_gate.REGRESSION)]
    if failed:
        return NO_DEVICE if all(row.row.status == "skipped" for row in failed) else BAD_ROW
    return INCONCLUSIVE if fail_inconclusive and checked.check.verdict == regression_gate.INCONCLUSIVE else OK
