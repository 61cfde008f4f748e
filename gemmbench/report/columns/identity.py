"""Columns that identify a row: run, device, kernel, configuration, problem."""

from __future__ import annotations

from typing import Protocol

from gemmbench.bench.record import Environment, Result
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.problems import Problem
from gemmbench.report.columns.column import Column


class AnyRow(Protocol):
    """A row of kernels or of transfers."""

    @property
    def environment(self) -> Environment:
        """The header of its run."""

    @property
    def record(self) -> Result:
        """Its record."""


PROBLEM: tuple[Column[Problem], ...] = (
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


IDENTITY: tuple[Column[AnyRow], ...] = (
    Column("run", "id of the run, as in the name of its file", lambda row: row.environment.run),
    Column("device_name", "device that ran the row", lambda row: row.environment.device_name(row.record.backend)),
    Column("device", "its back end: cuda or cpu", lambda row: row.record.backend),
    Column(
        "variant",
        "name of the kernel or library",
        lambda row: row.record.variant,
        "kernel",
        lambda row: row.record.variant,
        left=True,
    ),
    Column("config", "its parameters", lambda row: row.record.configuration),
    *(_ask_problem(column) for column in PROBLEM),
)
