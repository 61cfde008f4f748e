"""What a search shows: its final as a table, and the winner with its ties in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gemmbench.bench.record import Record
from gemmbench.bench.timing import stats
from gemmbench.report.columns import all_columns
from gemmbench.report.columns.column import Column, make_table
from gemmbench.report.comparison import Comparison
from gemmbench.report.row import Row
from gemmbench.report.table import Report
from gemmbench.report.text import count_noun, number

_BEST, _TIE, _BASELINE = "winner", "as fast", "baseline"


@dataclass(frozen=True)
class SearchSummary:
    """A search in the words of its table.

    `finals` are the rows of the final, `ties` the winner and what is as good, `tried` of `allowed` configurations were
    tried, and `failures` are not right.
    """

    title: str
    finals: Sequence[Record]
    ties: Sequence[Record]
    tried: int
    allowed: int
    failures: Sequence[Record]
    best_short: str = ""


def report_search(summary: SearchSummary, comparison: Comparison) -> Report:
    """The table of a search and the lines below it."""
    rows = _find_rows(summary.finals, comparison)
    verdict: Column[Row] = Column(heading="result", cell=lambda row: _judge(row.record, summary), left=True)
    columns = [*(each for each in all_columns.table_columns(rows) if each.heading != "status"), verdict] if rows else []
    tables = [make_table(columns, rows, summary.title, baseline=comparison.environment.baseline)] if rows else []
    return Report(tables, [*_tell_winner(summary), *_tell_search(summary)])


def _find_rows(finals: Sequence[Record], comparison: Comparison) -> list[Row]:
    wanted = {record.identity: place for place, record in enumerate(finals)}
    rows = [row for row in comparison.rows if row.record.identity in wanted]
    return sorted(rows, key=lambda row: row.time.value)


def _judge(record: Record, summary: SearchSummary) -> str:
    if record.status != "ok":
        return record.status
    if summary.ties and record.identity == summary.ties[0].identity:
        return _BEST
    if record.identity in {each.identity for each in summary.ties}:
        return _TIE
    if not summary.ties or record.variant != summary.ties[0].variant:
        return _BASELINE
    ratio = stats.speed_ratio(summary.ties[0].by_round, record.by_round)
    return f"slower by {number(100 * (ratio.value - 1), 2)} %"


def _tell_winner(summary: SearchSummary) -> list[str]:
    if not summary.ties:
        if not summary.best_short:
            return []
        return [f"{summary.title}: {summary.best_short} was fastest in short, unverified loads; there was no final"]
    winner, *others = summary.ties
    tied = f"; {count_noun(len(others), 'other')} may be as fast" if others else ""
    time = number(stats.time_interval(winner.by_round).value * 1e3)
    return [f"{summary.title}: {winner.configuration or 'the only configuration'} wins with {time} ms{tied}"]


def _tell_search(summary: SearchSummary) -> list[str]:
    lines = [f"{summary.tried} of {count_noun(summary.allowed, 'configuration')} tried"]
    if summary.failures:
        first = summary.failures[0]
        reason = first.reason.partition("\n")[0]
        lines.append(f"{len(summary.failures)} not right, such as {first.configuration}: {first.status}: {reason}")
    return lines
