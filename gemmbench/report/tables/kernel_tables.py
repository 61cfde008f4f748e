"""The tables of a run, for kernels, networks and transfers: which rows they show, and the notes below them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gemmbench.bench.record import Record
from gemmbench.report.columns.all_columns import find_column, table_columns
from gemmbench.report.columns.column import Column, make_table
from gemmbench.report.columns.transfer_columns import TABLE, format_mode
from gemmbench.report.comparison import Comparison, ProblemRows, TransferProblem, TransferRow
from gemmbench.report.explanation import explain_unranked, write_explain_command
from gemmbench.report.flags import explain_letters, find_flags, name_letters
from gemmbench.report.row import UNRANKED, Row, is_forged
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.table import Report, Table
from gemmbench.report.tables.footer import detail_lines, footer_lines, list_printed, summary_lines, warning_lines
from gemmbench.report.tables.pivot_tables import add_versus_best, choose_best_rows, sort_rows, tabulate_pivots
from gemmbench.report.tables.view import View
from gemmbench.report.text import count_noun, number

MOST_CONFIGURATIONS = 10
_MOST_TABLES = 2
"""The most tables on one screen. More problems share one table, with a column for each."""


_USUAL = View()


def report_kernels(comparison: Comparison, view: View = _USUAL) -> Report:
    """Report one table for all problems if there are many, or else one for each."""
    problems = comparison.problems
    run = replace(comparison.run, records=[row.record for row in comparison.rows])  # a choice of the file's, perhaps
    is_pivot = len(problems) > _MOST_TABLES and not view.has_details and not problems[0].rows[0].record.network
    tables = tabulate_pivots(problems, view.columns, view.sort) if is_pivot else _tabulate_problems(comparison, view)
    choose = choose_best_rows if is_pivot else choose_rows
    rows = [row for problem in problems for row in choose(problem.rows)]
    details = [
        *explain_letters(rows),
        *footer_lines(run, view.wide),
        *detail_lines(run, view.wide),
    ]
    more = ["a table for each size: --details"] if is_pivot else []
    more += [] if view.wide or view.notes else ["how it was measured: --notes"]
    skips = list_skips([row.record for row in comparison.rows if row.record.status == "skipped"])
    remarks = [*skips, *(_list_faults(comparison.rows) if is_pivot else [])]
    return Report(
        tables,
        details
        if view.wide or view.notes
        else [*_name_flags(comparison.run, rows), *summary_lines(run, view.caveat, view.columns)],
        "--wide",
        details,
        remarks=remarks if view.wide or view.notes else [*remarks, *warning_lines(run)],
        more="; ".join(more).capitalize() + "." if more else "",
    )


def _name_flags(run: Run, rows: Sequence[Row]) -> list[str]:
    """Name the flags of rows, with the command that explains the row with the most; an empty list without flags."""
    names = name_letters(rows)
    if not names:
        return []
    command = write_explain_command(run, max(rows, key=lambda row: len(find_flags(row))))
    return [f"{names}; why: {command}" if command else f"{names}."]


def _tabulate_problems(comparison: Comparison, view: View) -> list[Table]:
    """Make a table for each problem. All tables have the same columns."""
    baseline, chosen = comparison.environment.baseline, {}
    for problem in comparison.problems:
        rows = choose_rows(problem.rows)
        chosen[problem.problem] = sort_rows(rows, view.sort, baseline) if view.sort else rows
    columns = _choose_columns([row for rows in chosen.values() for row in rows], view, baseline)
    return [
        _make_table(columns, chosen[problem.problem], baseline, problem.title, list_notes(problem), view.wide)
        for problem in comparison.problems
    ]


def _choose_columns(rows: Sequence[Row], view: View, baseline: str) -> list[Column[Row]]:
    """Choose the requested columns, which no screen hides, or else the usual columns."""
    if view.columns:
        return [replace(find_column(name, baseline), hide=0) for name in view.columns]
    return add_versus_best(table_columns(rows, view.wide), rows)


def tabulate_rows(rows: Sequence[Row], baseline: str) -> Table:
    """Make the table of these rows."""
    return _make_table(table_columns(rows), rows, baseline)


def _make_table(
    columns: Sequence[Column[Row]],
    rows: Sequence[Row],
    baseline: str,
    title: str = "",
    notes: Sequence[str] = (),
    wide: bool = False,
) -> Table:
    statuses = [row.status for row in rows]
    return make_table(columns, rows, title, baseline=baseline, notes=notes, statuses=statuses, wide=wide)


def choose_rows(rows: Sequence[Row]) -> list[Row]:
    """Choose rows for a table: all rows, or for a long sweep the fastest and every failure, without skips."""
    ran = {row.record.variant for row in rows if row.record.status != "skipped"}
    chosen, counts = [], Counter[str]()
    for row in rows:
        if row.record.status == "skipped" and row.record.config and row.record.variant in ran:
            continue
        counts[row.record.variant] += 1
        if counts[row.record.variant] <= MOST_CONFIGURATIONS or row.status not in ("ok", "skipped"):
            chosen.append(row)
    return chosen


def list_notes(problem: ProblemRows) -> list[str]:
    """List what a table cannot show: reasons, files of revisions, and the number of rows that it leaves out."""
    notes = [note for row in problem.rows for note in _explain_status(row)]
    files = {row.record.variant: row.record.path for row in problem.rows if "@" in row.record.path}
    notes += [f"{name}: {path}" for name, path in files.items()]
    if hidden := _count_ran(problem.rows) - _count_ran(choose_rows(problem.rows)):
        notes.append(f"{hidden} slower configurations are in the results file and the exports")
    return notes


def _list_faults(rows: Sequence[Row]) -> list[str]:
    """List why rows are not ok. Each kernel and status is explained by its first row."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for line in _explain_status(row):
            groups.setdefault((row.record.variant, row.status), []).append(f"{row.record.problem.size}: {line}")
    counted = [(lines[0], len(lines) - 1) for lines in groups.values()]
    return [f"{line} (and {count_noun(others, 'more row')})" if others else line for line, others in counted]


def list_skips(skipped: Sequence[Record]) -> list[str]:
    """Return a line for each cause: the kernels, the number of rows, and the reason.

    Reasons that differ only in numbers are one cause, and one of them is shown.
    """
    causes: dict[str, list[Record]] = {}
    for record in skipped:
        causes.setdefault(_NUMBERS.sub("0", record.reason), []).append(record)
    return [_describe_skip(records) for records in causes.values()]


_NUMBERS = re.compile(r"\b\d+\b")
_MOST_NAMES = 4


def _describe_skip(records: Sequence[Record]) -> str:
    names = list(dict.fromkeys(record.variant for record in records))
    shown = [*names[:_MOST_NAMES], *([f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else [])]
    rows = f" ({len(records)} rows)" if len(records) > 1 else ""
    such = ", such as" if len({record.reason for record in records}) > 1 else ""
    return f"{', '.join(shown)}: skipped{rows}{such}: {records[0].reason}"


def _explain_status(row: Row) -> Iterator[str]:
    """Explain why a row is not ok or not complete. Skips get no explanation."""
    record = row.record
    name = " ".join(filter(None, (record.variant, record.configuration)))
    if record.status not in ("ok", "skipped"):
        yield f"{name}: {record.status}: {record.reason}"
    elif is_forged(row.record):
        ratio = f"{record.elapsed_ratio:.1f}"
        yield f"{name}: its windows took {ratio} times as long as its process reports; not ranked"
    elif row.too_good:
        yield f"{name}: faster than this device can be; not ranked"
    elif row.status == UNRANKED:
        yield f"{name}: {explain_unranked(record)}"
    elif record.stopped == "interrupted":
        yield f"{name}: interrupted after {count_noun(len(record.samples), 'round')}"
    elif record.no_graph:
        yield f"{name}: {record.no_graph}"


def _count_ran(rows: Sequence[Row]) -> int:
    return sum(row.record.status != "skipped" for row in rows)


def report_transfers(comparison: Comparison, view: View = _USUAL) -> Report:
    """Report one table for each problem; empty if nothing was measured."""
    tables = [_tabulate_problem(problem, view.wide) for problem in comparison.transfers]
    footer = transfer_footer_lines(comparison.run)
    details = [*footer, *transfer_detail_lines(comparison.run)]
    return Report(tables, details if view.wide or view.notes else footer, "--wide", details)


def _tabulate_problem(problem: TransferProblem, wide: bool) -> Table:
    statuses = [row.record.status for row in problem.rows]
    return make_table(
        TABLE, problem.rows, problem.title, notes=list_transfer_notes(problem), statuses=statuses, wide=wide
    )


def list_transfer_notes(problem: TransferProblem) -> list[str]:
    """List how near each kernel comes to its bounds, and why rows are not ok."""
    bounds = [sentence for rows in problem.kernels if (sentence := _describe_pipeline(rows))]
    failed = dict.fromkeys(
        f"{row.record.variant}, {format_mode(row)}: {row.record.status}: {row.record.reason}"
        for row in problem.rows
        if row.record.status != "ok"
    )
    stopped = [row.record for row in problem.rows if row.record.stopped == "interrupted"]
    cut = [
        f"{record.variant}, {record.mode}: interrupted after {count_noun(len(record.samples), 'round')}"
        for record in stopped
    ]
    return [*bounds, *failed, *cut]


def transfer_footer_lines(run: Run) -> list[str]:
    """Explain what the columns mean."""
    timed = [record for record in run.transfers if record.samples]
    engines = max((record.copy_engines for record in timed), default=2)
    longest = "the longest of h2d, kernel and d2h" if engines > 1 else "the longer of kernel, and h2d and d2h together"
    lines = [
        "Total: from before the first copy until after the last; mean over blocks of rounds, +- 95 % interval.",
        "Speed-up: relative to the pageable row, in the same rounds.",
        f"Bound: {longest} of the pinned row, as if all of them ran at the same time.",
    ]
    return [*(lines if timed else []), *list_printed(run.transfers)]


def transfer_detail_lines(run: Run) -> list[str]:
    """Explain how the numbers were measured."""
    timed = [record for record in run.transfers if record.samples]
    lines = [
        "Times are measured with events. Memory is allocated beforehand. GB/s = 1e9 bytes/s.",
        "The driver stages pageable copies, so the host takes part in them: that row includes host time, even "
        "before its kernel. The other rows are queued completely before they start."
        if any(record.gated for record in timed)
        else "Launches were not held behind a gate, so every row includes host time.",
        "Bound with B first: B is copied in first, the first panel is copied in before all computing, and the "
        "last one is copied out after it; the kernel takes its time in one launch or in panels, whichever is "
        "shorter.",
    ]
    return lines if timed else []


def _describe_pipeline(rows: Sequence[TransferRow]) -> str:
    """Describe how near a kernel's pipeline comes to its bounds; "" if unknown."""
    for row in rows:
        if row.record.mode == "overlapped" and not math.isnan(row.bound):
            times = row.total.value, row.bound, row.pipeline_bound
            total, bound, pipeline_bound = (number(1e3 * seconds) for seconds in times)
            return (
                f"{row.record.variant}: the pipeline takes {total} ms. It reaches {number(row.percent_of_bound)} % of "
                f"the bound, {bound} ms ({_name_longest_part(rows)}), and {number(row.percent_of_pipeline_bound)} % of "
                f"the bound with B first and {count_noun(row.record.panels, 'panel')}, {pipeline_bound} ms."
            )
    return ""


def _name_longest_part(rows: Sequence[TransferRow]) -> str:
    """Return the name of the part that sets the bound."""
    pinned = next(row for row in rows if row.record.mode == "pinned")
    parts = {"kernel": pinned.parts.kernel, "h2d": pinned.parts.h2d, "d2h": pinned.parts.d2h}
    if pinned.record.copy_engines == 1:
        parts = {"kernel": pinned.parts.kernel, "h2d and d2h": pinned.parts.h2d + pinned.parts.d2h}
    return max(parts, key=parts.__getitem__)


def report_results(comparison: Comparison, view: View = _USUAL) -> list[Report]:
    """Return the reports of a run."""
    transfers = [report_transfers(comparison, view)] if comparison.transfers else []
    return [report_kernels(comparison, view), *transfers]
