"""Which columns a table shows at a width, and how wide they are.

Numbers and headings stay on one line. Text may fold where a column allows it, first to a third of
its length, which leaves at most three or four lines. If that is not enough, columns are hidden in
the order that the table gives; if that is not enough either, text folds at every word.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass

GAP = 2
"""Spaces between columns."""
_LINES = 3
_LONGEST_WORD = 24
"""Longer ones, such as paths, may be broken."""


@dataclass(frozen=True)
class Fit:
    """The columns that are shown, by index, and the width of each."""

    columns: list[int]
    widths: list[int]


@dataclass(frozen=True)
class _Extent:
    """Widths of a column: on one line, folded to about three lines, folded at every word."""

    natural: int
    folded: int
    least: int


def fit_columns(
    headings: Sequence[str],
    cells: Sequence[Sequence[str]],
    fold: Collection[str],
    hide: Sequence[str],
    width: int | None,
) -> Fit | None:
    """Fit columns into `width` characters; None if they cannot. With width None everything fits.

    `fold` and `hide` are headings, those to hide in the order in which they go.
    """
    extents = [_measure(heading, [row[i] for row in cells], heading in fold) for i, heading in enumerate(headings)]
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


def _measure(heading: str, cells: Sequence[str], folds: bool) -> _Extent:
    natural = max(len(heading), *map(len, cells), 0)
    if not folds:
        return _Extent(natural, natural, natural)
    words = (min(len(word), _LONGEST_WORD) for cell in cells for word in cell.split())
    least = max([len(heading), *words])
    return _Extent(natural, min(natural, max(least, math.ceil(natural / _LINES))), least)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _share_room(extents: Sequence[_Extent], width: int) -> list[int]:
    """Widths that fill `width` as far as the columns need it; the column that lacks most grows first."""
    folded = [extent.folded for extent in extents]
    widths = folded if _total(folded) <= width else [extent.least for extent in extents]
    for _ in range(width - _total(widths)):
        lacks = [extent.natural - given for extent, given in zip(extents, widths, strict=True)]
        if max(lacks, default=0) <= 0:
            break
        widths[lacks.index(max(lacks))] += 1
    return widths


def _tighten(texts: Sequence[str], width: int) -> int:
    """The width of the longest line of texts that are folded to a width."""
    return max(len(line) for text in texts for line in fold_cell(text, width))


def fold_cell(text: str, width: int) -> list[str]:
    """The lines of a cell, broken between words."""
    if len(text) <= width and text.isprintable() and text == text.strip():
        return [text]  # which is most of them, and textwrap is slow
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
