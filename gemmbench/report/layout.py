"""Fits a table to a screen: chooses and sizes its columns, wraps cells and sentences, or draws a block for each row."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass

TITLE, HEADING, RULE, FOOTER = "title", "heading", "rule", "footer"


@dataclass(frozen=True)
class Line:
    """A line of output. `kind` is one of the constants above, the status of a row, or "" for other text.

    `status` is the start and end of the cell that contains the status.
    """

    text: str
    kind: str = ""
    status: tuple[int, int] | None = None


GAP = 2
"""Spaces between columns."""
_LINES = 3
_LONGEST_WORD = 24
"""A longer word, such as a path, may be broken."""


@dataclass(frozen=True)
class Fit:
    """The indexes of the columns that are shown, and the width of each."""

    columns: list[int]
    widths: list[int]


@dataclass(frozen=True)
class _Extent:
    """The widths of a column: on one line, folded to about three lines, and folded at every word."""

    natural: int
    folded: int
    least: int


def fit_columns(
    headings: Sequence[str],
    cells: Sequence[Sequence[str]],
    fold: Collection[str],
    hide: Sequence[str],
    width: int | None,
    fold_headings: bool = False,
) -> Fit | None:
    """Fit columns into `width` characters; returns None if they do not fit. With width None everything fits.

    `fold` and `hide` are headings. Those in `hide` are hidden one by one, in their order. With `fold_headings`,
    headings are broken between words, so a column can be as narrow as its cells.
    """
    least = [max(map(len, heading.split()), default=0) if fold_headings else len(heading) for heading in headings]
    extents = [_measure(least[i], [row[i] for row in cells], heading in fold) for i, heading in enumerate(headings)]
    shown = list(range(len(headings)))
    if width is None:
        return Fit(shown, [extent.natural for extent in extents])
    for heading in [None, *hide]:
        shown = [index for index in shown if headings[index] != heading]
        if _total([extents[index].folded for index in shown]) <= width:
            break
    if _total([extents[index].least for index in shown]) > width:
        return None
    room = _share_room([extents[index] for index in shown], width)
    texts = [[headings[index], *(row[index] for row in cells)] for index in shown]
    return Fit(shown, [_tighten(column, given) for column, given in zip(texts, room, strict=True)])


def split_fit(fit: Fit, width: int | None) -> list[Fit]:
    """Split the columns into parts of similar size that fit a width. Each part begins with the first column."""
    first, *rest = zip(fit.columns, fit.widths, strict=True)
    room = math.inf if width is None else width - first[1]
    parts = _cut(rest, room, len(rest))
    even = _cut(rest, room, math.ceil(len(rest) / max(1, len(parts))))
    return [_join([first, *part]) for part in (even if len(even) == len(parts) else parts)] or [fit]


_Columns = list[tuple[int, int]]


def _cut(columns: _Columns, room: float, most: int) -> list[_Columns]:
    """Split columns into parts of at most `most` that fit into `room`. A column that is too wide gets its own part."""
    parts: list[_Columns] = []
    for column in columns:
        if not parts or len(parts[-1]) == most or sum(width + GAP for _, width in [*parts[-1], column]) > room:
            parts.append([])
        parts[-1].append(column)
    return parts


def _join(columns: _Columns) -> Fit:
    return Fit([index for index, _ in columns], [width for _, width in columns])


def _measure(heading: int, cells: Sequence[str], folds: bool) -> _Extent:
    """Measure the widths of a column. `heading` is the length of its heading."""
    natural = max(heading, *map(len, cells), 0)
    if not folds:
        return _Extent(natural, natural, natural)
    words = (min(len(word), _LONGEST_WORD) for cell in cells for word in cell.split())
    least = max([heading, *words])
    return _Extent(natural, min(natural, max(least, math.ceil(natural / _LINES))), least)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _share_room(extents: Sequence[_Extent], width: int) -> list[int]:
    """Share `width` among the columns up to what they need. The column that lacks the most grows first."""
    folded = [extent.folded for extent in extents]
    widths = folded if _total(folded) <= width else [extent.least for extent in extents]
    for _ in range(width - _total(widths)):
        lacks = [extent.natural - given for extent, given in zip(extents, widths, strict=True)]
        if max(lacks, default=0) <= 0:
            break
        widths[lacks.index(max(lacks))] += 1
    return widths


def _tighten(texts: Sequence[str], width: int) -> int:
    """Return the length of the longest line after these texts are folded to a width."""
    return max(len(line) for text in texts for line in _fold_cell(text, width))


def _fold_cell(text: str, width: int) -> list[str]:
    """Break a cell into lines between words."""
    if len(text) <= width and text.isprintable() and text == text.strip():
        return [text]  # which is most of them, and textwrap is slow
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


BOUND = "\xa0"
"""A space at which lines are not broken."""
_COMMAND = re.compile(r"(?<=: )gemmbench .*$")
"""A command that a reader may copy."""
_INDENT = "  "
_NARROWEST = 20


def wrap_text(text: str, width: int | None) -> list[str]:
    """Wrap a sentence to a width. Text that begins with a space is a drawing and is not wrapped."""
    if width is None or text.startswith(" ") or not text.strip():
        return text.splitlines() or [""]
    return [line for part in text.splitlines() for line in _wrap(part, width)]


def _wrap(text: str, width: int) -> list[str]:
    """Wrap a line, keeping `0.5 %`, `+- 0.5` and a command at its end together. Continuation lines are indented."""
    indent = " " * (len(text) - len(text.lstrip())) + _INDENT
    bound = (
        _COMMAND.sub(lambda found: found[0].replace(" ", BOUND), text)
        .replace(" %", f"{BOUND}%")
        .replace("+- ", f"+-{BOUND}")
    )
    lines = textwrap.wrap(
        bound, max(width, _NARROWEST), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(BOUND, " ") for line in lines]


def draw_row(cells: Sequence[str], widths: Sequence[int], left: Sequence[bool]) -> list[str]:
    """Draw one row of a table, which may take several lines."""
    folded = [_fold_cell(cell, width) for cell, width in zip(cells, widths, strict=True)]
    height = max(map(len, folded), default=1)
    columns = [
        [line.ljust(width) if is_left else line.rjust(width) for line in [*lines, *[""] * (height - len(lines))]]
        for lines, width, is_left in zip(folded, widths, left, strict=True)
    ]
    return [(" " * GAP).join(parts).rstrip() for parts in zip(*columns, strict=True)]


_BLOCK_INDENT = "  "
_GAP = 3
_UNKNOWN = ("", "-")


def draw_blocks(
    headings: Sequence[str], cells: Sequence[Sequence[str]], titles: Collection[str], width: int
) -> list[list[str]]:
    """Draw a block of lines for each row. Unknown values are left out.

    The first line holds the first column and those named in `titles`. The other lines hold as many values as fit side
    by side.
    """
    names = [index for index, heading in enumerate(headings) if index == 0 or heading in titles]
    rest = [index for index in range(len(headings)) if index not in names]
    pairs = [[f"{headings[i]}: {row[i]}" for i in rest if row[i] not in _UNKNOWN] for row in cells]
    longest = max((len(pair) for row in pairs for pair in row), default=0)
    count = max(1, (width - len(_BLOCK_INDENT) + _GAP) // (longest + _GAP))
    return [
        [
            *wrap_text("  ".join(row[index] for index in names if row[index] not in _UNKNOWN), width),
            *_flow(values, count, longest + _GAP, width),
        ]
        for row, values in zip(cells, pairs, strict=True)
    ]


def _flow(values: Sequence[str], count: int, step: int, width: int) -> list[str]:
    """Arrange values in `count` columns of `step` characters, line by line."""
    lines = [values[start : start + count] for start in range(0, len(values), count)]
    drawn = ["".join(value.ljust(step) for value in line).rstrip() for line in lines]
    return [_BLOCK_INDENT + part for line in drawn for part in wrap_text(line, width - len(_BLOCK_INDENT))]
