"""`gemmbench compare`: measures variants together, or compares two saved runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from gemmbench.cli.options import OutputOptions, VariantName, argument, command, config_option
from gemmbench.cli.output import print_line, print_reports, print_warning
from gemmbench.cli.run import SweepOptions, conduct_sweeps
from gemmbench.cli.run_options import fail_on_option, verdict_margin_option
from gemmbench.cli.run_outputs import complete_options, find_missing, has_results
from gemmbench.errors import BAD_ROW, INCONCLUSIVE, INTERRUPTED, NO_DEVICE, OK, UsageError
from gemmbench.planning.sweeps.run_request import RunRequest
from gemmbench.report.comparison import Comparison, compare_rows
from gemmbench.report.differences.difference_tables import (
    report_differences,
    write_differences_csv,
    write_differences_json,
    write_differences_markdown,
)
from gemmbench.report.differences.run_differences import RunDifferences, compare_runs
from gemmbench.report.fastest import conclude_comparison
from gemmbench.report.store.reading import read_results
from gemmbench.report.table import Report
from gemmbench.report.verdicts import find_best_rows, judge_variants
from gemmbench.session.access_counts import compare_accesses_of_rows
from gemmbench.session.machine import open_catalog
from gemmbench.session.saved_runs import (
    find_two_runs,
    refuse_other_device,
    refuse_overlapping,
    refuse_renamed,
    refuse_same,
)

_CPU = "cpu"
_EXIT_CODES = {"slower": BAD_ROW, "inconclusive": INCONCLUSIVE}


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """The options of `gemmbench compare`."""

    variants: tuple[str, ...] = argument(nargs=-1, metavar="KERNELS...", type=VariantName())
    config: str = config_option("quick", "Config that gives sizes and policy.")
    margin: float = verdict_margin_option()
    fail_on: tuple[str, ...] = fail_on_option(
        "Exit with 1 if a kernel is slower than one named before it, or with 4 if a verdict is inconclusive."
    )
    sweep: SweepOptions


@command(
    CompareOptions,
    complete=complete_options,
    common=(
        "margin",
        "fail_on",
        "sizes",
        "precisions",
        "params",
        "device",
        "rounds",
        "export_csv",
        "against",
        "dry_run",
    ),
)
def compare(request: RunRequest, options: CompareOptions) -> int:
    """Measure KERNELs together and report which is faster.

    \b
    gemmbench compare tiled cublas --sizes 2048  a kernel and the library
    gemmbench compare HEAD~3:tiled tiled         before and after a change
    gemmbench compare before.jsonl after.jsonl   two saved runs; measures nothing

    Each pair gets a verdict at each size: `faster` or `slower` if the whole 95 % interval of the
    paired ratio lies outside 1 +- the margin, `same` if it lies inside, otherwise `inconclusive`. Of
    more than two kernels, the fastest is named, and each other one is compared with it.

    REVISION:NAME is a kernel as it was at a git revision.

    Two results files, or the names of two saved runs, are compared row by row, and nothing is
    measured. They shared no rounds, so the speed relative to the baseline of each run is more exact
    than the times.
    """
    names = tuple(dict.fromkeys(options.variants))
    runs = find_two_runs(options.variants, Path(options.sweep.journal.out), open_catalog(request.selection.kernels))
    if runs:
        return _compare_saved(*runs, request, options)
    if len(names) < 2:
        raise UsageError("compare needs two different kernels: gemmbench compare naive tiled")
    kernels, style = request.selection.kernels, options.sweep.output.style
    sweeps = conduct_sweeps(
        request,
        options.sweep,
        compare=True,
        introduce=lambda comparison: _print_gpu_differences(comparison, names, kernels, style),
    )
    return max(_judge(code, comparison, names, options) for code, comparison in sweeps)


def _print_gpu_differences(
    comparison: Comparison, names: Sequence[str], kernels: str | None, style: str | None
) -> None:
    """Print how variants that ran on the CPU device would differ on a GPU, about which their times say nothing."""
    best = find_best_rows(comparison.problems[0].rows) if comparison.problems else {}
    rows = [best[name].record for name in names if name in best]
    if rows and all(record.backend == _CPU for record in rows) and (lines := compare_accesses_of_rows(rows, kernels)):
        print_reports([Report([], closing=lines)], style)
        print_line()


def _judge(code: int, comparison: Comparison | None, names: tuple[str, ...], options: CompareOptions) -> int:
    """Print the verdicts of a comparison, if there is one, and return the exit code."""
    if comparison is None:
        return code
    if code == INTERRUPTED and not has_results(comparison.run):
        return code
    verdicts = judge_variants(comparison, names, options.margin)
    print_line()
    closing = conclude_comparison(comparison, names, options.margin, options.fail_on)
    print_reports([Report([], closing=closing)], options.sweep.output.style)
    missing = find_missing(names, comparison.run.records)
    return code or missing or _choose_exit_code([verdict.word for verdict in verdicts], options.fail_on)


def _compare_saved(reference_path: Path, path: Path, request: RunRequest, options: CompareOptions) -> int:
    """Compare two results files without measuring anything."""
    sweep = options.sweep
    if given := [*request.list_given(), *sweep.reference.list_given()]:
        raise UsageError(f"{given[0]}: saved runs are compared as they are, without measuring; leave out the option")
    reference, run = read_results(reference_path), read_results(path)
    refuse_same(reference, [run])
    refuse_other_device(reference.environment, run.environment.device, sweep.reference.force)
    if any(record.code for record in run.records):
        refuse_renamed(reference)
    refuse_overlapping(reference, run)
    for each in (reference, run):
        print_warning(each)
    differences = compare_runs(compare_rows(reference), compare_rows(run), options.margin)
    print_reports([report_differences(differences)], sweep.output.style)
    _write_exports(differences, sweep.output)
    if not differences.rows:
        return NO_DEVICE
    return _choose_exit_code([each.verdict for each in differences.rows], options.fail_on)


def _write_exports(differences: RunDifferences, options: OutputOptions) -> None:
    if options.export_csv:
        write_differences_csv(Path(options.export_csv), differences)
    if options.export_json:
        write_differences_json(Path(options.export_json), differences)
    if options.export_markdown:
        write_differences_markdown(Path(options.export_markdown), differences)


def _choose_exit_code(words: Sequence[str], fail_on: Collection[str]) -> int:
    """Return the exit code that --fail-on assigns to the words of the verdicts."""
    for word, code in _EXIT_CODES.items():
        if word in fail_on and word in words:
            return code
    return OK
