"""A column: its names in exports and tables, its meaning, and how to fill it. Also the columns that identify a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from gemmbench.bench.record import ON_CPU, Environment, Result
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.problems import Problem
from gemmbench.report.table import Table

R_contra = TypeVar("R_contra", contravariant=True)
R = TypeVar("R")
ExportRow = dict[str, object]


@dataclass(frozen=True)
class Column(Generic[R_contra]):
    """A column of exports (`key`), of tables (`heading`), or of both.

    `value` returns what an export holds, in SI units; None or NaN if unknown. `cell` returns the text for a table; `-`
    if unknown. `{baseline}` in a heading is replaced by the baseline's name. `left` aligns the column left. `fold`
    allows its text to wrap, and also aligns it left. If a screen is too narrow, columns with a number in `hide` are
    hidden, the smallest number first.
    """

    key: str = ""
    meaning: str = ""
    value: Callable[[R_contra], object] = lambda row: None
    heading: str = ""
    cell: Callable[[R_contra], str] = lambda row: "-"
    left: bool = False
    fold: bool = False
    hide: int = 0


def pick_columns(columns: Iterable[Column[R]], *headings: str) -> tuple[Column[R], ...]:
    """Return the columns with these headings in this order."""
    known = {column.heading: column for column in columns if column.heading}
    return tuple(known[heading] for heading in headings)


def export_rows(columns: Sequence[Column[R]], rows: Iterable[R]) -> list[ExportRow]:
    """Return the values of each row by key; None if unknown."""
    return [{column.key: _none_if_nan(column.value(row)) for column in columns if column.key} for row in rows]


def _none_if_nan(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


def format_headings(columns: Sequence[Column[R]], baseline: str) -> list[str]:
    """Return the headings of the table."""
    return [column.heading.format(baseline=baseline or "baseline") for column in columns]


def format_rows(columns: Sequence[Column[R]], rows: Iterable[R]) -> list[list[str]]:
    """Return the cells of the table."""
    return [[column.cell(row) for column in columns] for row in rows]


def make_table(
    columns: Sequence[Column[R]],
    rows: Sequence[R],
    title: str = "",
    *,
    baseline: str = "",
    notes: Sequence[str] = (),
    statuses: Sequence[str] = (),
    wide: bool = False,
) -> Table:
    """Make a table of rows. With `wide`, no column is hidden."""
    headings = format_headings(columns, baseline)
    named = list(zip(headings, columns, strict=True))
    hidden = sorted((column.hide, heading) for heading, column in named if column.hide)
    return Table(
        title,
        headings,
        format_rows(columns, rows),
        notes,
        left=[heading for heading, column in named if column.left],
        statuses=statuses,
        fold=[heading for heading, column in named if column.fold],
        hide=[heading for _, heading in hidden],
        wide=wide,
    )


class AnyRow(Protocol):
    """A row of kernels or of transfers."""

    @property
    def environment(self) -> Environment:
        """The header of its run."""

    @property
    def record(self) -> Result:
        """Its record."""


PROBLEM: tuple[Column[Problem], ...] = (
    Column("count", "products of a batch; 1 for a single product", lambda problem: problem.count),
    Column("M", "rows of C", lambda problem: problem.M),
    Column("N", "columns of C", lambda problem: problem.N),
    Column("K", "dimension that is summed over", lambda problem: problem.K),
    Column(
        "layout", "nn, nt, tn or tt: A, then B, stored as used (n) or transposed (t)", lambda problem: problem.layout
    ),
    Column("precision", ", ".join(PRECISIONS), lambda problem: problem.precision_name),
    Column("alpha", "C = alpha A B + beta C", lambda problem: problem.alpha),
    Column("beta", "if 0, C is not read", lambda problem: problem.beta),
)
"""The columns that describe a problem."""


def _ask_problem(column: Column[Problem]) -> Column[AnyRow]:
    return Column(column.key, column.meaning, lambda row: column.value(row.record.problem))


CAVEAT: Column[AnyRow] = Column(
    "caveat",
    f"`{ON_CPU}`, for rows of a run without a GPU",
    lambda row: row.environment.caveat or None,
)
GROUPS: Column[AnyRow] = Column(
    "groups",
    "rows of each group, such as 512+0+33; empty if there are none",
    lambda row: "+".join(map(str, row.record.problem.groups)),
)
IDENTITY: tuple[Column[AnyRow], ...] = (
    Column("run", "id of the run, as in the name of its file", lambda row: row.environment.run),
    Column("device_name", "device that ran the row", lambda row: row.environment.device_name(row.record.backend)),
    Column("device", "its back end: cuda or cpu", lambda row: row.record.backend),
    Column(
        "variant",
        "name of the kernel or library",
        lambda row: row.record.variant,
        "kernel",
        lambda row: row.record.row_name,
        left=True,
    ),
    Column("config", "its parameters, such as BM=64 BK=8; empty if it has none", lambda row: row.record.configuration),
    *(_ask_problem(column) for column in PROBLEM),
)
