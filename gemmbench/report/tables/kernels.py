"""The tables of GEMMs and networks: which rows they show, and the notes below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gemmbench.bench.record import Record
from gemmbench.report.columns.all_columns import table_columns
from gemmbench.report.columns.column import make_table
from gemmbench.report.comparison import Comparison, ProblemRows
from gemmbench.report.explanation.sentences import explain_unranked
from gemmbench.report.flags import explain_letters
from gemmbench.report.row import UNRANKED, Row
from gemmbench.report.table import Report, Table
from gemmbench.report.tables.footer import detail_lines, footer_lines

MOST_CONFIGURATIONS = 10


def report_kernels(comparison: Comparison, wide: bool = False) -> Report:
    """One table for each problem; `wide` adds the details of each row."""
    baseline = comparison.environment.baseline
    tables = [
        tabulate_rows(choose_rows(problem.rows), baseline, problem.title, list_notes(problem), wide)
        for problem in comparison.problems
    ]
    footer, details = footer_lines(comparison.run), detail_lines(comparison.run)
    return Report(tables, [*footer, *details] if wide else footer, "--wide", () if wide else details)


def tabulate_rows(
    rows: Sequence[Row], baseline: str, title: str = "", notes: Sequence[str] = (), wide: bool = False
) -> Table:
    """The table of these rows."""
    columns, statuses = table_columns(rows, wide), [row.status for row in rows]
    return make_table(columns, rows, title, baseline=baseline, notes=notes, statuses=statuses, wide=wide)


def choose_rows(rows: Sequence[Row]) -> list[Row]:
    """Rows for a table: all; of a long sweep the fastest and every failure, without skips."""
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
    """What a table cannot show: reasons, files of revisions, and how many rows it leaves out."""
    shown = choose_rows(problem.rows)
    skipped = [row.record for row in problem.rows if row.record.status == "skipped"]
    notes = [*list_skips(skipped), *(note for row in problem.rows for note in _explain_status(row))]
    files = {row.record.variant: row.record.path for row in problem.rows if "@" in row.record.path}
    notes += [f"{name}: {path}" for name, path in files.items()]
    if hidden := _count_ran(problem.rows) - _count_ran(shown):
        notes.append(f"{hidden} slower configurations are in the results file and the exports")
    return [*notes, *explain_letters(shown)]


def list_skips(skipped: Sequence[Record]) -> list[str]:
    counted = Counter((record.variant, record.reason) for record in skipped)
    many = {key: f" ({count} configurations)" if count > 1 else "" for key, count in counted.items()}
    return [f"{name}: skipped: {reason}{times}" for (name, reason), times in many.items()]


def _explain_status(row: Row) -> Iterator[str]:
    record = row.record
    name = " ".join(filter(None, (record.variant, record.configuration)))
    if record.status not in ("ok", "skipped"):
        yield f"{name}: {record.status}: {record.reason}"
    elif row.too_good:
        yield f"{name}: faster than this device can be; not ranked"
    elif row.status == UNRANKED:
        yield f"{name}: {explain_unranked(record)}"
    elif record.stopped == "interrupted":
        yield f"{name}: interrupted after {len(record.samples)} rounds"
    elif record.no_graph:
        yield f"{name}: {record.no_graph}"


def _count_ran(rows: Sequence[Row]) -> int:
    return sum(row.record.status != "skipped" for row in rows)
