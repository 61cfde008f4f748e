"""Parts that show a whole sweep at a glance: the percentage of the baseline, kernels by problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gemmbench.errors import StoreError
from gemmbench.report.columns.all_columns import COLUMNS
from gemmbench.report.columns.column import pick_columns
from gemmbench.report.table import format_cells
from tools.page import Page
from tools.parts.cards import find_fastest
from tools.parts.tables import STYLE, read_comparison


def _write_overview(_: Page, pattern: str, precision: str) -> str:
    """Kernels by sizes: the percentage of the baseline that the fastest configuration of each kernel reaches.

    Raises StoreError if no row is of that precision.
    """
    (column,) = pick_columns(COLUMNS, "% of {baseline}")
    fastest = find_fastest(read_comparison(pattern), [], False)
    chosen = {key: row for key, row in fastest.items() if row.record.problem.precision_name == precision}
    if not chosen:
        raise StoreError(f"{pattern} has no ranked row in {precision}")
    sizes = dict.fromkeys(row.record.problem.size for row in chosen.values())
    kernels = dict.fromkeys(row.record.variant for row in chosen.values())
    found = {(row.record.variant, row.record.problem.size): column.cell(row) for row in chosen.values()}
    cells = [[kernel, *(found.get((kernel, size), "-") for size in sizes)] for kernel in kernels]
    return format_cells(cells, ["kernel", *sizes], STYLE, ["left", *["right"] * len(sizes)])


KINDS: Mapping[str, Callable[..., str]] = {"overview": _write_overview}
