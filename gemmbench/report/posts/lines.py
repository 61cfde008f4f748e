"""The rows of a post, each with the row that repeats it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gemmbench.planning.sweeps.published_post import Post, PostRow
from gemmbench.report.comparison import Comparison
from gemmbench.report.row import Row


@dataclass(frozen=True)
class PostLine:
    """One row of a post and the row that repeats it (None: not measured)."""

    row: PostRow
    measured: Row | None

    @property
    def gflops(self) -> float:
        """Measured speed, 2 M N K; NaN if there is no valid one."""
        return self.measured.gflops if self.measured is not None and self.measured.ranked else math.nan

    def show(self, format_cell: Callable[[Row], str]) -> str:
        """The text for the measured row, `-` if there is no valid one."""
        return format_cell(self.measured) if self.measured is not None and self.measured.ranked else "-"


def match_lines(post: Post, comparison: Comparison) -> dict[str, list[PostLine]]:
    """The lines of a post for each size that was measured, in the post's order."""
    rows = comparison.rows
    sizes = dict.fromkeys(row.record.problem.size for row in rows)
    return {size: _match_rows(post, [row for row in rows if row.record.problem.size == size]) for size in sizes}


def _match_rows(post: Post, rows: Sequence[Row]) -> list[PostLine]:
    return [PostLine(wanted, next((row for row in rows if _repeats(row, wanted)), None)) for wanted in post.rows]


def _repeats(row: Row, wanted: PostRow) -> bool:
    record = row.record
    problem = record.problem.layout, record.problem.precision_name
    same = (record.variant, *problem) == (wanted.variant, wanted.layout, wanted.precision)
    return same and all(record.config.get(name) == value for name, value in wanted.config)
