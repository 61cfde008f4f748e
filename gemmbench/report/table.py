"""Tables with titles, notes and a footer, and their conversion to text.

`simple` is meant for reading and fits a width. All other formats are tabulate's. They are meant for programs and
documents and always contain every column. Names and reasons come from files, so anything that a format would take for
markup is escaped. Formats that cannot be escaped here are not offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from html import escape

from gemmbench.planning.files import escape_cell, escape_controls
from gemmbench.report.layout import (
    BOUND,
    FOOTER,
    GAP,
    HEADING,
    RULE,
    TITLE,
    Fit,
    Line,
    draw_blocks,
    draw_row,
    fit_columns,
    split_fit,
    wrap_text,
)
from gemmbench.report.text import count_noun

PLAIN = "simple"
RICH = "rich"
"""The format for terminals."""
_LEAST_WIDE = 200
"""A wide table is drawn as a table only if it has this many characters of width. Otherwise it becomes blocks."""
_MARKDOWN = ("github", "pipe")
_HTML = ("html", "unsafehtml")
_LATEX = ("latex", "latex_raw", "latex_booktabs", "latex_longtable")
_ESCAPED_CELLS = ("html", "latex", "latex_booktabs", "latex_longtable")
"""The formats in which tabulate itself escapes cells."""
_STATUS = "status"


@dataclass(frozen=True)
class Table:
    """Cells of text below their headings.

    `notes` are the lines below the table. `left` lists the headings of columns that are aligned left. `statuses` are
    the statuses of the rows, which a terminal shows in color. `fold` lists the columns whose text may be wrapped, such
    as configurations and reasons; they are aligned left. `hide` lists the columns that a narrow screen leaves out, in
    this order. A `wide` table hides nothing. A `split` table hides nothing either: it continues below in parts, each
    beginning with the first column. With `fold_headings`, a screen breaks headings between words. Control characters
    are made visible, since some text comes from files.
    """

    title: str
    headings: Sequence[str]
    cells: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    left: Collection[str] = ()
    statuses: Sequence[str] = ()
    fold: Collection[str] = ()
    hide: Sequence[str] = ()
    wide: bool = False
    fold_headings: bool = False
    split: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", escape_cell(self.title))
        object.__setattr__(self, "headings", [escape_cell(each) for each in self.headings])
        object.__setattr__(self, "cells", [[escape_cell(cell) for cell in row] for row in self.cells])
        object.__setattr__(self, "notes", [escape_controls(note) for note in self.notes])
        for name in ("left", "fold", "hide"):
            object.__setattr__(self, name, [escape_cell(each) for each in getattr(self, name)])

    def fit(self, width: int | None, others: Sequence[Table] = ()) -> Fit | None:
        """Fit the columns into a width; None if the rows must be drawn as blocks.

        The columns are wide enough for the cells of `others` too, which must have the same headings.
        """
        hide = () if self.wide else self.hide
        if self.wide and width is not None and width < _LEAST_WIDE:
            return None
        cells = [row for table in (self, *others) for row in table.cells]
        return fit_columns(self.headings, cells, self.fold, hide, None if self.split else width, self.fold_headings)

    def aligns_left(self, heading: str) -> bool:
        """Return whether the column contains text."""
        return heading in self.left or heading in self.fold

    def draw(self, width: int | None, fit: Fit | None) -> list[Line]:
        """Draw the table on a screen: title, rows and notes. Pass the result of the method `fit`."""
        title = [Line(part, TITLE) for part in wrap_text(self.title, width)] if self.title else []
        parts = [fit] if fit and not self.split else split_fit(fit, width) if fit else []
        rows = [line for part in parts for line in (Line(""), *self._draw_rows(part))][1:]
        rows = rows or self._draw_blocks(width or 0)
        return [*title, *([Line("")] if title else []), *rows, *_draw_list(self.notes, width)]

    def _draw_rows(self, fit: Fit) -> list[Line]:
        headings = [self.headings[index] for index in fit.columns]
        left = [self.aligns_left(heading) for heading in headings]
        cell = _find_status(headings, fit.widths)
        lines = [Line(text, HEADING) for text in draw_row(headings, fit.widths, left)]
        lines.append(Line((" " * GAP).join("-" * width for width in fit.widths), RULE))
        for cells, status in zip(self.cells, self._row_statuses, strict=True):
            drawn = draw_row([cells[index] for index in fit.columns], fit.widths, left)
            lines += [Line(text, status, None if number else cell) for number, text in enumerate(drawn)]
        return lines

    def _draw_blocks(self, width: int) -> list[Line]:
        blocks = draw_blocks(self.headings, self.cells, self.fold, width)
        lines = [
            line
            for (name, *values), status in zip(blocks, self._row_statuses, strict=True)
            for line in (Line(name, HEADING), *(Line(value, status) for value in values), Line(""))
        ]
        return lines[:-1]

    @property
    def _row_statuses(self) -> Sequence[str]:
        return self.statuses or [""] * len(self.cells)

    def list_hidden(self, fit: Fit | None) -> list[str]:
        """Return the headings of the columns that a screen does not show."""
        return [name for index, name in enumerate(self.headings) if index not in fit.columns] if fit else []


@dataclass(frozen=True)
class Report:
    """A list of tables and the lines below all of them.

    On a screen, all tables with the same headings show the same columns. `remarks` are about rows, such as why some are
    skipped. `wider` is the option that shows hidden columns, and `more` describes the options that show further
    details. `details` replaces the footer in documents, which have room for it. `closing` holds the last lines of the
    report.
    """

    tables: Sequence[Table]
    footer: Sequence[str] = ()
    wider: str = "--format github"
    details: Sequence[str] = ()
    closing: Sequence[str] = ()
    remarks: Sequence[str] = ()
    more: str = ""

    def __post_init__(self) -> None:
        for name in ("footer", "details", "closing", "remarks"):
            object.__setattr__(self, name, [escape_controls(line) for line in getattr(self, name)])

    def format(self, style: str, width: int | None = None) -> str:
        """Format the report in one of tabulate's formats; "" if it is empty. Only `simple` fits `width`."""
        if style == PLAIN:
            return "".join(f"{line.text}\n" for line in self.draw(width))
        parts = [_format_table(table, style) for table in self.tables]
        for lines in ([*self.remarks, *(self.details or self.footer)], self.closing):
            parts.append("\n".join(format_list(lines, style)).lstrip("\n"))
        text = "\n\n".join(filter(None, parts))
        return f"{text}\n" if text else ""

    def split_notes(self) -> tuple[Report, list[str]]:
        """Return a report with the tables alone, and all other lines, for a format whose lines are all rows."""
        tables = [replace(table, notes=()) for table in self.tables]
        notes = [note for table in self.tables for note in table.notes]
        return Report(tables), [*notes, *self.remarks, *(self.details or self.footer), *self.closing]

    def draw(self, width: int | None) -> list[Line]:
        """Draw the report on a screen of this width (None: no limit)."""
        alike: dict[tuple[str, ...], list[Table]] = {}
        for table in self.tables:
            alike.setdefault(tuple(table.headings), []).append(table)
        fits = {headings: table.fit(width, others) for headings, (table, *others) in alike.items()}
        drawn = [(table, fits[tuple(table.headings)]) for table in self.tables]
        parts = [table.draw(width, fit) for table, fit in drawn]
        hidden = list(dict.fromkeys(name for table, fit in drawn for name in table.list_hidden(fit)))
        footer = [*self.footer, *self._describe_rest(hidden, width)]
        for lines, kind in ((self.remarks, ""), (footer, FOOTER), (self.closing, TITLE)):
            parts.append([Line(part, kind) for line in lines for part in wrap_text(line, width)])
        return [line for part in parts if part for line in (*part, Line(""))][:-1]

    def _describe_rest(self, hidden: Sequence[str], width: int | None) -> list[str]:
        """Describe what is left out, and the options that show it; an empty list if nothing is."""
        more = f" {self.more}" if self.more else ""
        names = ", ".join(name.replace(" ", BOUND) for name in hidden)
        lines = [f"Hidden: {each} ({self.wider}).{more}" for each in (names, count_noun(len(hidden), "column"))]
        fitting = [line for line in lines if width is None or len(line) <= width] or lines[-1:]
        return fitting[:1] if hidden else [self.more] if self.more else []

    def _repr_html_(self) -> str:
        return self.format("html")


def is_complete(style: str | None) -> bool:
    """Return whether a format is for documents and programs, which get every column and row. None means a screen."""
    return style not in (None, PLAIN, RICH)


def _find_status(headings: Sequence[str], widths: Sequence[int]) -> tuple[int, int] | None:
    """Find the start and end of the cells below the heading `status`."""
    if _STATUS not in headings:
        return None
    index = list(headings).index(_STATUS)
    start = sum(widths[:index]) + GAP * index
    return start, start + widths[index]


def _format_table(table: Table, style: str) -> str:
    align = ["left" if table.aligns_left(heading) else "right" for heading in table.headings]
    rows = _keep_together(table) if style in _HTML else table.cells
    if style not in _ESCAPED_CELLS:
        rows = [[_escape_cell(cell, side, style) for cell, side in zip(row, align, strict=True)] for row in rows]
    headings = table.headings if style in _ESCAPED_CELLS else [_escape(each, style) for each in table.headings]
    cells = _separate_by_tabs(headings, rows) if style == TSV else format_cells(rows, headings, style, align)
    parts = [_format_heading(table.title, style), "", cells] if table.title else [cells]
    return "\n".join([*parts, *format_list(table.notes, style)])


def _escape_cell(cell: str, side: str, style: str) -> str:
    """Escape a cell, except a dash for a missing value and, in `tsv`, a number that begins with a sign."""
    return cell if cell == "-" or (style == TSV and side == "right") else _escape(cell, style)


def _separate_by_tabs(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells without padding; the half width of an interval, if a column has some, is in a column of its own."""
    lines = [list[str]() for _ in range(len(rows) + 1)]
    for heading, *cells in zip(headings, *rows, strict=True):
        parts = [cell.partition(_WIDTH) for cell in cells]
        has_widths = any(width for _, _, width in parts)
        for line, cell, width in zip(lines, [heading, *cells], ["+-", *(each[2] for each in parts)], strict=True):
            line += [cell.partition(_WIDTH)[0], width] if has_widths else [cell]
    return "\n".join("\t".join(line) for line in lines)


def _keep_together(table: Table) -> list[list[str]]:
    """Keep browsers from breaking cells, except in columns that fold."""
    folds = [heading in table.fold for heading in table.headings]
    return [
        [cell if fold else cell.replace(" ", BOUND) for cell, fold in zip(row, folds, strict=True)]
        for row in table.cells
    ]


def _draw_list(lines: Sequence[str], width: int | None) -> list[Line]:
    """Draw an empty line and then these lines; returns an empty list if there are none."""
    return [Line(part) for line in ["", *lines] for part in wrap_text(line, width)] if lines else []


def format_cells(
    cells: Sequence[Sequence[str]], headings: Sequence[str], style: str, align: Sequence[str] | None = None
) -> str:
    """Format cells in one of tabulate's formats without changing their text."""
    from tabulate import tabulate  # takes longer to import than most commands take to answer

    return tabulate(cells, headings, tablefmt=style, disable_numparse=True, colalign=align if cells else None)


def _format_heading(title: str, style: str) -> str:
    """Escape a title and mark it up as a heading in this format."""
    text = _escape(title, style)
    if style in _MARKDOWN:
        return f"### {text}"
    return f"<h3>{text}</h3>" if style in _HTML else text


def format_list(lines: Sequence[str], style: str) -> list[str]:
    """Return an empty line and the escaped lines: list items in Markdown, paragraphs in HTML."""
    if not lines:
        return []
    if style in _MARKDOWN:
        return ["", *map(_format_item, lines)]
    return ["", *(_format_paragraph(line) if style in _HTML else _escape(line, style) for line in lines)]


def _format_item(text: str) -> str:
    """Format a Markdown list item. A text of several lines stays in one item."""
    return "- " + "\n  ".join(escape_markdown(line.strip()) for line in text.splitlines() if line.strip())


def _format_paragraph(line: str) -> str:
    return f"<pre>{escape(line)}</pre>" if line.startswith(" ") else f"<p>{escape(line)}</p>"


def _escape(text: str, style: str) -> str:
    """Escape text that a format would take for markup. Text in formats without a known writer is unchanged."""
    return _WRITERS[style](text) if style in _WRITERS else text


_MARKUP = re.compile(
    r"(?<!`)`\w[\w ./:=,+-]*(?<! )`(?!`)"  # stays: code in which nothing is markup, as footers quote a command
    r"|\\(?=[!-/:-@\[-`{-~]|$)|[`*\[|~]"
    r"|(?<![^\W_])_|_(?![^\W_])"  # inside a word it is a letter
    r"|^\s*(?:[-+](?=\s|$)|[#>=]|-(?=-+\s*$)|\d{1,9}(?=[.)](?:\s|$)))",  # begins a list, a heading or a quotation
)
_ENTITY = re.compile(r"&(?=#?\w+;)")


def escape_markdown(text: str) -> str:
    """Escape one line of text so that Markdown shows it unchanged."""
    marked = _MARKUP.sub(_put_backslash, text)
    return _ENTITY.sub("&amp;", marked).replace("<", "&lt;")


def _put_backslash(found: re.Match[str]) -> str:
    """Put a backslash before a sign, which may follow blanks. A number gets it before the dot that follows."""
    text = found[0]
    if text[0] == "`" != text:
        return text
    return f"{text}\\" if text[-1].isdigit() else f"{text[:-1]}\\{text[-1]}"


_LATEX_NAMES = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "^": r"\^{}",
    "~": r"\textasciitilde{}",
    "<": r"\ensuremath{<}",
    ">": r"\ensuremath{>}",
}


def _escape_latex(text: str) -> str:
    """Escape text for LaTeX with the same commands that tabulate uses in cells."""
    return "".join(_LATEX_NAMES.get(sign, sign) for sign in text)


_FORMULA = re.compile(r"((?:^|;)\"*)(?=[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20].)")


def escape_formula(text: str) -> str:
    """Keep spreadsheets from evaluating text: an apostrophe is added before a sign that begins a formula.

    In many countries a semicolon ends a cell, even within quotes.
    """
    return _FORMULA.sub(r"\1'", text)


TSV, _WIDTH = "tsv", " +- "
"""Cells separated by tabs, and no other lines where it is printed."""
_WRITERS: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(_MARKDOWN, escape_markdown),
    **dict.fromkeys(_HTML, escape),
    **dict.fromkeys(_LATEX, _escape_latex),
    TSV: escape_formula,
}


def format_reports(reports: Sequence[Report], style: str, width: int | None = None) -> str:
    """Format several reports, one below the other, in one of tabulate's formats. Only `simple` fits `width`."""
    return "\n".join(filter(None, (report.format(style, width) for report in reports)))
