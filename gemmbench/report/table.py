"""Tables with titles, notes and a footer, as text in any of tabulate's formats."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tabulate import tabulate

_MARKDOWN = ("github", "pipe")
_HTML = ("html", "unsafehtml")


@dataclass(frozen=True)
class Table:
    """Cells of text below their headings.

    `notes` are the lines below the table. `left` names the headings of columns that a terminal
    aligns left. `statuses` are those of the rows: a terminal colors rows that are not ok.
    """

    title: str
    headings: Sequence[str]
    cells: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    left: Collection[str] = ()
    statuses: Sequence[str] = ()


@dataclass(frozen=True)
class Report:
    """Tables and the lines below them all."""

    tables: Sequence[Table]
    footer: Sequence[str] = ()

    def format(self, style: str) -> str:
        """The report in one of tabulate's formats; "" if it is empty."""
        parts = [_format_table(table, style) for table in self.tables]
        footer = "\n".join(format_list(self.footer, style)).lstrip("\n")
        return "\n\n".join(filter(None, [*parts, footer])) + "\n" if self.tables or self.footer else ""


def _format_table(table: Table, style: str) -> str:
    cells = format_cells(table.cells, table.headings, style)
    return "\n".join([format_heading(table.title, style), "", cells, *format_list(table.notes, style)])


def format_cells(cells: Sequence[Sequence[str]], headings: Sequence[str], style: str) -> str:
    """Cells in one of tabulate's formats, without changing their text."""
    return tabulate(cells, headings, tablefmt=style, disable_numparse=True)


def format_heading(title: str, style: str) -> str:
    """A title, marked up as the format does it."""
    if style in _MARKDOWN:
        return f"### {title}"
    return f"<h3>{title}</h3>" if style in _HTML else title


def format_list(lines: Sequence[str], style: str) -> list[str]:
    """An empty line and the lines, as list items in Markdown; nothing if there are none."""
    if not lines:
        return []
    return ["", *(f"- {line}" for line in lines)] if style in _MARKDOWN else ["", *lines]


def format_reports(reports: Sequence[Report], style: str) -> str:
    """Reports below each other, in one of tabulate's formats."""
    return "\n".join(filter(None, (report.format(style) for report in reports)))
