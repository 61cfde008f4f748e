"""Parts that show a whole sweep at a glance: the percentage of the baseline, kernels by problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gemmbench.errors import StoreError
from gemmbench.report.columns.all_columns import COLUMNS
from gemmbench.report.columns.column import pick_columns
from gemmbench.report.comparison import Comparison
from gemmbench.report.row import Row
from gemmbench.report.table import format_cells
from gemmbench.report.verdicts import choose_fastest
from tools.page import Page
from tools.parts.tables import STYLE, cite_rows, read_comparison


def _write_overview(page: Page, pattern: str, precision: str) -> str:
    """Kernels by sizes: the percentage of the baseline that the fastest configuration of each kernel reaches.

    Raises StoreError if no row has that precision.
    """
    (column,) = pick_columns(COLUMNS, "% of {baseline}")
    comparison = read_comparison(pattern)
    fastest = _find_fastest(comparison)
    chosen = {key: row for key, row in fastest.items() if row.record.problem.precision_name == precision}
    if not chosen:
        raise StoreError(f"{pattern} has no ranked row in {precision}")
    sizes = dict.fromkeys(row.record.problem.size for row in chosen.values())
    kernels = dict.fromkeys(row.record.variant for row in chosen.values())
    found = {(row.record.variant, row.record.problem.size): column.cell(row) for row in chosen.values()}
    cells = [[kernel, *(found.get((kernel, size), "-") for size in sizes)] for kernel in kernels]
    table = format_cells(cells, ["kernel", *sizes], STYLE, ["left", *["right"] * len(sizes)])
    return f"{table}\n\n{cite_rows(page, comparison, chosen.values())}"


def _find_fastest(run: Comparison) -> dict[tuple[str, str], Row]:
    """The fastest ranked row of each kernel at each problem, in the order of the run."""
    found: dict[tuple[str, str], list[Row]] = {}
    for problem in run.problems:
        for row in problem.rows:
            if row.ranked:
                found.setdefault((problem.title, row.record.variant), []).append(row)
    return {key: fastest for key, rows in found.items() if (fastest := choose_fastest(rows))}


KINDS: Mapping[str, Callable[..., str]] = {"overview": _write_overview}
