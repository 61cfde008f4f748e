"""All columns of kernel rows: those of the exports in order, and those of a table.

To add a column, append it to `COLUMNS`; with a heading, name it in `_WIDE` as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gemmbench.report.columns import details, gemm, network, sustained
from gemmbench.report.columns.column import Column, pick_columns
from gemmbench.report.flags import notable_letters
from gemmbench.report.row import Row

COLUMNS: tuple[Column[Row], ...] = (
    *gemm.COLUMNS,
    *network.COLUMNS,
    Column("diagnosis", "likely cause of a wrong result, in a few words", lambda row: row.record.diagnosis),
    *details.COLUMNS,
    Column("path", "file of the kernel; after @ the commit, for a kernel of a revision", lambda row: row.record.path),
    details.READS,
    *details.CARD,
    details.WORKSPACE,
    *details.CLASS,
    *details.PLACEMENTS,
    details.CLOCK_DIFFERENCE,
    *sustained.COLUMNS,
    details.GRAPH,
    details.PDL,
    details.FLEET_CARD,
)
"""The columns of the CSV and JSON exports, in order; new ones may only follow the last."""

_WIDE = pick_columns(
    (*COLUMNS, *details.ONLY_IN_TABLES),
    "row",
    "spread (%)",
    "registers",
    "spilled (B)",
    "shared (B)",
    "scratch (MB)",
    "occupancy",
    "blocks",
    "waves",
    "last wave",
    "moved (MB)",
    "reads (MB)",
    "FLOP/B",
    "% of bound",
    "class",
    "PDL",
    "clock (GHz)",
    "clock (%)",
    "deg C",
    "W",
    "GFLOPS/W",
    "card",
)
_ERROR = "error (u)"
_AFTER_SPEEDS = (_ERROR, "launches", "error", "status")
_SUSTAINED = pick_columns(COLUMNS, "sustained TFLOPS", "sustained % of {baseline}", "sustained W", "sustained GHz", "J")


def table_columns(rows: Sequence[Row], wide: bool = False) -> list[Column[Row]]:
    """The columns of a table of these rows.

    Those of a steady load appear if a row had one, flags if a row has any, and with `wide` every
    detail that a row has. The error is never hidden where products are sums of products of parts.
    """
    columns = list(network.table_columns(rows) if rows and rows[0].record.network else _filled_columns(rows))
    if any(row.record.problem.precision.splits_factors for row in rows):
        columns = [replace(column, hide=0) if column.heading == _ERROR else column for column in columns]
    last = next(index for index, column in enumerate(columns) if column.heading in _AFTER_SPEEDS)
    columns[last:last] = [column for column in _SUSTAINED if _is_filled(column, rows)]
    if any(notable_letters(row) for row in rows):
        columns.append(details.FLAGS)
    if wide:
        columns += [column for column in _WIDE if _is_filled(column, rows)]
    return columns


def _filled_columns(rows: Sequence[Row]) -> list[Column[Row]]:
    """The columns of a table of GEMMs without those that may be hidden and are empty in every row."""
    return [column for column in gemm.TABLE if not column.hide or not rows or _is_filled(column, rows)]


def _is_filled(column: Column[Row], rows: Sequence[Row]) -> bool:
    return any(column.cell(row) != "-" for row in rows)
