"""Reports drawn with rich, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table as RichTable

from gemmbench.report.table import Report, Table

_COLORS = {"ok": None, "skipped": "dim"}
_OTHER = "red"


def print_reports(reports: Iterable[Report]) -> None:
    """Print reports on stdout."""
    for report in reports:
        Console().print(draw_report(report))


def draw_report(report: Report) -> RenderableType:
    """The tables, their notes and the footer."""
    parts: list[RenderableType] = []
    for table in report.tables:
        parts += [_draw_table(table), *(escape(note) for note in table.notes), ""]
    return Group(*parts, *(f"[dim]{escape(line)}[/dim]" for line in report.footer))


def _draw_table(table: Table) -> RichTable:
    drawn = RichTable(title=escape(table.title), title_justify="left", title_style="bold")
    for heading in table.headings:
        drawn.add_column(heading, justify="left" if heading in table.left else "right", overflow="fold")
    for cells, status in zip(table.cells, table.statuses, strict=True):
        drawn.add_row(*map(escape, cells), style=_COLORS.get(status, _OTHER))
    return drawn
