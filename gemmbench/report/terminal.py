"""Reports on a terminal, in color."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.text import Text

from gemmbench.report.layout import FOOTER, HEADING, RULE, TITLE, Line
from gemmbench.report.table import Report

_STYLES = {"": "", TITLE: "bold", HEADING: "bold", RULE: "dim", FOOTER: "dim"}
_STATUSES = {"skipped": "dim", "unranked": "", "timeout": "yellow", "too good": "yellow", "warning": "yellow"}
_GOOD = ("ok", "clean")
_BAD = "red"
_VERDICTS = {
    r"\S+x faster than": "green",
    r"\S+x slower than": "red",
    r"is inconclusive|cannot be compared|too (?:close|noisy) to call|too few rounds": "yellow",
}
"""Words of the last lines of a report."""


def print_reports(reports: Iterable[Report], width: int | None, stream: TextIO) -> None:
    """Print reports in lines of at most `width` characters (None: no limit). Respects NO_COLOR."""
    console = Console(file=stream, highlight=False, soft_wrap=True)
    drawn = [text for report in reports if (text := draw_report(report, width))]
    console.print(Text("\n\n").join(drawn))


def draw_report(report: Report, width: int | None) -> Text:
    """Return the lines of a report, with statuses in color."""
    return Text("\n").join(_draw_line(line) for line in report.draw(width))


def _draw_line(line: Line) -> Text:
    if line.kind == RULE:
        return Text(line.text.replace("-", "\u2500"), _STYLES[RULE])
    good = line.kind in _GOOD
    text = Text(line.text, "" if good else _STYLES.get(line.kind, _STATUSES.get(line.kind, _BAD)))
    if good and line.status:
        text.stylize("green", *line.status)
    if line.kind == TITLE:
        for words, style in _VERDICTS.items():
            text.highlight_regex(words, style)
    return text
