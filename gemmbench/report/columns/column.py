"""A column: what it is called in exports and tables, what it means, and how a row fills it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

R_contra = TypeVar("R_contra", contravariant=True)
R = TypeVar("R")
ExportRow = dict[str, object]


@dataclass(frozen=True)
class Column(Generic[R_contra]):
    """A column of exports (`key`), of tables (`heading`), or of both.

    `value` gives what an export holds, in SI units; None or NaN if unknown. `cell` gives the text
    of a table, `-` if unknown. `{baseline}` in a heading becomes the baseline's name. `left` aligns
    the column left on a terminal.
    """

    key: str = ""
    meaning: str = ""
    value: Callable[[R_contra], object] = lambda row: None
    heading: str = ""
    cell: Callable[[R_contra], str] = lambda row: "-"
    left: bool = False


def pick_columns(columns: Iterable[Column[R]], *headings: str) -> tuple[Column[R], ...]:
    """The columns with these headings, in this order."""
    known = {column.heading: column for column in columns if column.heading}
    return tuple(known[heading] for heading in headings)


def export_rows(columns: Sequence[Column[R]], rows: Iterable[R]) -> list[ExportRow]:
    """Each row by key; None where unknown."""
    return [{column.key: _none_if_nan(column.value(row)) for column in columns if column.key} for row in rows]


def _none_if_nan(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


def format_headings(columns: Sequence[Column[R]], baseline: str) -> list[str]:
    """The headings of a table."""
    return [column.heading.format(baseline=baseline or "baseline") for column in columns]


def format_rows(columns: Sequence[Column[R]], rows: Iterable[R]) -> list[list[str]]:
    """The cells of a table."""
    return [[column.cell(row) for column in columns] for row in rows]


def left_headings(columns: Iterable[Column[R]]) -> set[str]:
    """Headings of the columns that a terminal aligns left."""
    return {column.heading for column in columns if column.left}
