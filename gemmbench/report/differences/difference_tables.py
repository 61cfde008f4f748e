"""Tables and exports of two runs: the times of both, the ratio of their speeds, and how far to trust it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from gemmbench.bench.record import Environment
from gemmbench.bench.timing.stats import Interval
from gemmbench.planning.files import results_stem
from gemmbench.planning.problems import Problem
from gemmbench.report.columns.column import CAVEAT, PROBLEM, Column, ExportRow, export_rows, make_table, pick_columns
from gemmbench.report.columns.kernel_columns import TABLE as ROW_COLUMNS
from gemmbench.report.comparison import Comparison
from gemmbench.report.differences.run_differences import Difference, RunDifferences, explain_cards, list_changes
from gemmbench.report.explanation import name_row
from gemmbench.report.export import encode_json, format_csv, write_text
from gemmbench.report.repeatability import RUN_TO_RUN, TIME_TO_TIME
from gemmbench.report.row import Row
from gemmbench.report.table import Report, Table, format_reports
from gemmbench.report.text import format_share, number_within, with_interval

_MOST_NAMED = 8
_METHOD = ("cache", "data", "seed", "method")
(_CONFIGURATION,) = pick_columns(ROW_COLUMNS, "configuration")
_BY_BASELINE = "ratio by {baseline}"
_VERDICT = "verdict"


def show_time(row: Row) -> str:
    """Format milliseconds with the digits that their interval supports."""
    return number_within(1e3 * row.time.value, row.time)


COLUMNS: tuple[Column[Difference], ...] = (
    Column(heading="kernel", cell=lambda each: each.row.record.variant, left=True),
    Column(heading="configuration", cell=lambda each: _CONFIGURATION.cell(each.row), fold=True),
    Column(heading="reference (ms)", cell=lambda each: show_time(each.reference), hide=1),
    Column(heading="run (ms)", cell=lambda each: show_time(each.row), hide=2),
    Column(heading="speed ratio", cell=lambda each: with_interval(each.speed)),
    Column(heading=_BY_BASELINE, cell=lambda each: with_interval(each.speed_by_baseline)),
    Column(heading=_VERDICT, cell=lambda each: each.verdict or "-", left=True),
    Column(heading="status", cell=lambda each: _describe_status(each), left=True),
)


def _describe_status(difference: Difference) -> str:
    """Describe the status in this run, and in the reference run if it was different there."""
    before, now = difference.reference.status, difference.row.status
    return now if before == now else f"{before} -> {now}"


def report_differences(differences: RunDifferences) -> Report:
    """Report one table for each problem that both runs measured, with notes on the ratios."""
    tables = [_tabulate(problem, rows, differences) for problem, rows in differences.by_problem.items()]
    return Report(tables, difference_footer_lines(differences))


def _tabulate(problem: Problem, rows: Sequence[Difference], differences: RunDifferences) -> Table:
    shown = list_columns(differences)
    title = f"{problem.title}, compared with {name_run(differences.reference)}"
    baseline, statuses = differences.run.environment.baseline, [each.row.status for each in rows]
    return make_table(shown, rows, title, baseline=baseline, statuses=statuses)


def list_columns(differences: RunDifferences) -> list[Column[Difference]]:
    """Return the columns that these runs can fill."""
    return [column for column in COLUMNS if differences.same_baseline or column.heading not in (_BY_BASELINE, _VERDICT)]


def difference_footer_lines(differences: RunDifferences, drawn: bool = False) -> list[str]:
    """Say which runs were compared, what the ratios mean, and which rows only one run has.

    If the differences are `drawn` next to the lines, the chart says what verdicts mean.
    """
    reference, run = differences.reference.environment, differences.run.environment
    return [
        f"Reference: {_describe_run(differences.reference)}. Run: {_describe_run(differences.run)}.",
        *([f"Times, ratios and verdicts: {caveat}."] if (caveat := run.caveat or reference.caveat) else []),
        *_explain_ratios(differences, drawn),
        *list_conditions(reference, run),
        *_list_missing("the reference", differences.only_in_reference),
        *_list_missing("the run", differences.only_in_run),
        *note_transfers(differences),
    ]


def name_run(comparison: Comparison) -> str:
    """Return the name under which a run was saved, or else its id."""
    return results_stem(comparison.run.path) or comparison.environment.run


def _describe_run(comparison: Comparison) -> str:
    name, environment = name_run(comparison), comparison.environment
    saved = f"{environment.run}, " if name != environment.run else ""
    return f"{name} ({saved}{environment.device})"


def _explain_ratios(differences: RunDifferences, drawn: bool) -> list[str]:
    if not differences.rows:
        return ["The runs have no rows in common."]
    lines = [
        "Speed ratio: the speed of the run relative to the reference; 1.05 is 5 % faster. Unpaired: the runs "
        f"shared no rounds, and times of the same code differ by up to {format_share(TIME_TO_TIME)} between "
        "runs, which the 95 % intervals do not include."
    ]
    baseline = differences.run.environment.baseline
    if baseline and differences.same_baseline:
        lines.append(
            f"Ratio by {baseline}: the speed ratio from each run's ratio to {baseline}, measured in the same "
            "rounds as the kernel. It repeats within about 0.5 %, so trust it more than the ratio of the times."
        )
        lines += [] if drawn else [_explain_verdicts(baseline, differences.margin)]
    elif not differences.same_baseline:
        lines.append(
            f"The reference has the baseline {differences.reference.environment.baseline or 'none'} and the "
            f"run has {baseline or 'none'}; without a common baseline only times can be compared."
        )
    return lines


def _explain_verdicts(baseline: str, margin: float) -> str:
    return (
        f"Verdict: faster or slower if the interval of the ratio by {baseline}, widened by the "
        f"{format_share(RUN_TO_RUN)} that differ between runs, lies outside the margin of {format_share(margin)}; "
        "same if it lies inside."
    )


def list_conditions(reference: Environment, run: Environment) -> list[str]:
    """List what was the same and what differed between two runs, besides the kernels: card, method and versions."""
    pairs: list[tuple[str, object, object]] = [("device", reference.device, run.device)]
    pairs += [(name, reference.policy.get(name), run.policy.get(name)) for name in _METHOD]
    changed = [f"{name} {before} -> {now}" for name, before, now in pairs if before != now]
    changed += list_changes(reference, run)
    different = [f"Measured differently: {', '.join(changed)}."] if changed else []
    return [*explain_cards(reference, run), *different]


def note_transfers(differences: RunDifferences) -> list[str]:
    """Note that transfers are left out if the reference run has any."""
    left_out = bool(differences.reference.transfers)
    return ["Rows of transfers are not compared; gemmbench show prints those of one run."] if left_out else []


def _list_missing(run: str, rows: Sequence[Row]) -> list[str]:
    return [f"Only in {run}: {_join_names(rows)}."] if rows else []


def _join_names(rows: Sequence[Row]) -> str:
    named = [name_row(row) for row in rows[:_MOST_NAMED]]
    more = [f"and {len(rows) - _MOST_NAMED} more"] if len(rows) > _MOST_NAMED else []
    return ", ".join([*named, *more])


def _ratio_columns(key: str, meaning: str, ratio: Callable[[Difference], Interval]) -> list[Column[Difference]]:
    """Return columns for a ratio and both ends of its 95 % interval."""
    return [
        Column(key, meaning, lambda each: ratio(each).value),
        Column(f"{key}_low", "lower end of its 95 % interval", lambda each: ratio(each).low),
        Column(f"{key}_high", "upper end", lambda each: ratio(each).high),
    ]


def _ask_problem(key: str) -> Callable[[Difference], object]:
    (column,) = [column for column in PROBLEM if column.key == key]
    return lambda each: column.value(each.row.record.problem)


_EXPORT_COLUMNS: tuple[Column[Difference], ...] = (
    Column("variant", "name of the kernel or library", lambda each: each.row.record.variant),
    Column("config", "its parameters", lambda each: each.row.record.configuration),
    *(Column(column.key, column.meaning, _ask_problem(column.key)) for column in PROBLEM),
    Column("phase", "sweep or final", lambda each: each.row.record.phase),
    Column("reference_status", "status in the reference run", lambda each: each.reference.status),
    Column("status", "status in the run", lambda each: each.row.status),
    Column("reference_time_s", "seconds per launch in the reference run", lambda each: each.reference.time.value),
    Column("time_s", "seconds per launch in the run", lambda each: each.row.time.value),
    *_ratio_columns("speed_ratio", "speed of the run relative to the reference", lambda each: each.speed),
    *_ratio_columns(
        "baseline_ratio", "the same from each run's ratio to the baseline", lambda each: each.speed_by_baseline
    ),
    Column(
        "verdict", "faster, slower, same or inconclusive, from the ratio to the baseline", lambda each: each.verdict
    ),
    Column("margin", "the share that does not affect the verdict", lambda each: each.margin),
    Column(CAVEAT.key, CAVEAT.meaning, lambda each: CAVEAT.value(each.row)),
)


def _export_differences(differences: RunDifferences) -> list[ExportRow]:
    """Return each row that both runs have by key; None if unknown."""
    return export_rows(_EXPORT_COLUMNS, differences.rows)


def write_differences_csv(path: Path, differences: RunDifferences) -> None:
    """Write the rows. Raises StoreError."""
    write_text(path, format_csv(_export_differences(differences)))


def write_differences_json(path: Path, differences: RunDifferences) -> None:
    """Write the names of both runs and the rows. Raises StoreError."""
    runs = {"reference": differences.reference.environment.run, "run": differences.run.environment.run}
    exported = {**runs, "rows": _export_differences(differences)}
    write_text(path, encode_json(exported))


def write_differences_markdown(path: Path, differences: RunDifferences) -> None:
    """Write the tables. Raises StoreError."""
    write_text(path, format_reports([report_differences(differences)], "github"))
