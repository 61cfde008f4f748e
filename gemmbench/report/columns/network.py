"""Columns of the rows of `gemmbench mlp`: what a network has in addition to a GEMM."""

from __future__ import annotations

from collections.abc import Sequence

from gemmbench.bench.record import NetworkFacts
from gemmbench.report.columns import gemm
from gemmbench.report.columns.column import Column, pick_columns
from gemmbench.report.columns.gemm import show_if_valid
from gemmbench.report.row import Row
from gemmbench.report.text import number, with_interval


def _facts(row: Row) -> NetworkFacts:
    assert row.record.network is not None
    return row.record.network


def _times_as_fast(row: Row) -> str:
    return with_interval(row.percent_of_baseline.scale(0.01))


def _accuracy(row: Row) -> str:
    accuracy = _facts(row).accuracy
    return "-" if accuracy is None else f"{100 * accuracy:.1f} %"


COLUMNS: tuple[Column[Row], ...] = (
    Column(
        "network",
        "layer sizes, activations and batch, for rows of gemmbench mlp",
        lambda row: row.record.network.title if row.record.network else None,
    ),
    Column(
        "launched",
        "what one forward pass launches, in order",
        lambda row: ", ".join(row.record.network.launches) if row.record.network else None,
        "launches",
        lambda row: str(len(_facts(row).launches) or "-"),
        hide=3,
    ),
    Column(
        "accuracy",
        "share of test digits that the network recognizes",
        lambda row: row.record.network.accuracy if row.record.network else None,
        "accuracy",
        _accuracy,
        hide=4,
    ),
)
"""The columns of the exports."""

_ONLY_IN_TABLES: tuple[Column[Row], ...] = (
    Column(heading="version", cell=lambda row: _facts(row).label or "-", fold=True, hide=8),
    Column(heading="published (ms)", cell=lambda row: number(_facts(row).published_ms), hide=7),
    Column(heading="x {baseline}", cell=lambda row: show_if_valid(row, _times_as_fast(row))),
    Column(heading="error", cell=lambda row: number(row.record.error, 3) if row.record.checked else "-", hide=1),
)

_TABLE = pick_columns(
    (*gemm.TABLE, *COLUMNS, *_ONLY_IN_TABLES),
    "version",
    "kernel",
    "configuration",
    "time (ms)",
    "published (ms)",
    "x {baseline}",
    "GFLOPS",
    "launches",
    "error",
    "accuracy",
    "status",
)


def table_columns(rows: Sequence[Row]) -> tuple[Column[Row], ...]:
    """The columns of a table; a post's names and figures and the accuracy only if a row has them."""
    facts = [_facts(row) for row in rows]
    wanted = {
        "version": any(each.label for each in facts),
        "published (ms)": any(each.published_ms for each in facts),
        "accuracy": any(each.accuracy is not None for each in facts),
    }
    return tuple(column for column in _TABLE if wanted.get(column.heading, True))
