"""Rows that did not run well: why, the likely cause, the map of C; and what was skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gemmbench.report.comparison import Comparison
from gemmbench.report.explanation.rerun import rerun_command
from gemmbench.report.explanation.sentences import explain_in_paragraphs, name_row
from gemmbench.report.page.html import Html, tag
from gemmbench.report.page.tables import name_box, wrap_table
from gemmbench.report.row import UNRANKED, Row
from gemmbench.report.text import count_noun
from gemmbench.report.transfer_rows import TransferRow

_MOST_OPEN = 3
_IN_SUMMARY = ("Row", "Status")
"""Paragraphs that the summary of a box says already."""


def any_failed(comparison: Comparison) -> bool:
    """A row of kernels or of transfers is neither right nor skipped."""
    return bool(_list_failed(comparison) or _list_failed_transfers(comparison))


def _list_failed(comparison: Comparison) -> list[Row]:
    return [row for row in comparison.rows if row.status not in ("ok", "skipped", UNRANKED)]


def _list_failed_transfers(comparison: Comparison) -> list[TransferRow]:
    rows = [row for problem in comparison.transfers for row in problem.rows]
    return [row for row in rows if row.record.status not in ("ok", "skipped")]


def render_failures(comparison: Comparison) -> Html | None:
    """A box for each failed row, and a table of what was skipped; None if there is neither.

    A few boxes are open; more than that are closed, so that they make a list.
    """
    rows = _list_failed(comparison)
    failed = [_render_row(row, len(rows) <= _MOST_OPEN) for row in rows]
    failed += [_render_transfer(row) for row in _list_failed_transfers(comparison)]
    skipped = [row for row in comparison.rows if row.status == "skipped"]
    if not failed and not skipped:
        return None
    return tag("div", failed, _render_skips(skipped) if skipped else None)


def _render_row(row: Row, is_open: bool) -> Html:
    record = row.record
    summary = [
        tag("span", row.status, class_="status", data_status=row.status),
        tag("b", name_row(row)),
        tag("span", record.reason, class_="reason"),
    ]
    told = [(name, text) for name, text in explain_in_paragraphs(row) if name not in _IN_SUMMARY]
    told = [("Likely cause", record.diagnosis), *told] if record.diagnosis else told
    paragraphs = [[tag("dt", name), tag("dd", text)] for name, text in told]
    again = [tag("dt", "Again"), tag("dd", tag("code", rerun_command(row.environment, record)))]
    map_of_c = tag("figure", tag("figcaption", "Where C is wrong"), tag("pre", record.wrong_map))
    facts = tag("dl", paragraphs, again)
    body = tag("div", facts, map_of_c if record.wrong_map else None, class_="diagnosis")
    return tag("details", tag("summary", summary), body, class_="failure card", open=is_open, id=name_box(row))


def _render_transfer(row: TransferRow) -> Html:
    record = row.record
    status = tag("span", record.status, class_="status", data_status=record.status)
    name = f"{record.variant}, {record.mode}, at {record.problem}"
    return tag("p", status, tag("b", name), tag("span", record.reason, class_="reason"), class_="failure card")


def _render_skips(skipped: Sequence[Row]) -> Html:
    counts = Counter((row.record.variant, row.record.reason) for row in skipped)
    lines = [
        tag("tr", tag("td", name, class_="left"), tag("td", str(count)), tag("td", reason, class_="left"))
        for (name, reason), count in counts.items()
    ]
    headings = [tag("th", name, scope="col", class_="left") for name in ("kernel", "rows", "why it was skipped")]
    table = tag("table", tag("thead", tag("tr", headings)), tag("tbody", lines), class_="reasons")
    summary = tag("summary", f"{count_noun(len(skipped), 'row')} skipped")
    return tag("details", summary, wrap_table(table), class_="skips")
