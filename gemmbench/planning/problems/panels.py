"""Panels: C cut into bands of whole rows, each of them a GEMM of its own.

A M x K          B K x N        C M x N
+--------+                      +-----------+
| first  |                      |  panel 0  |    panel p needs its own rows of A, and all of B
+--------+   x   +-------+   =  +-----------+
| rows   |       |       |      |  panel 1  |
+--------+       +-------+      +-----------+
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gemmbench.planning.problems.problem import Problem

ROWS = 64
"""A panel but the last has a multiple of this many rows: tiles fit, and every panel begins at an aligned address."""


@dataclass(frozen=True)
class PanelCut:
    """How a job is cut: into `panels` panels at most, which `streams` streams take in turn."""

    panels: int = 8
    streams: int = 3


@dataclass(frozen=True)
class Panel:
    """Rows `first` to `first + rows` of op(A) and of C."""

    first: int
    rows: int

    def make_problem(self, problem: Problem) -> Problem:
        """The panel as a problem: the same layout and scalars, fewer rows."""
        return replace(problem, M=self.rows)


def cut_into_panels(problem: Problem, panels: int) -> tuple[Panel, ...]:
    """Cut a problem into panels of equal height, `panels` of them or as many as ROWS allows; the last may be lower."""
    height = -(-problem.M // panels)
    height = -(-height // ROWS) * ROWS
    return tuple(Panel(first, min(height, problem.M - first)) for first in range(0, problem.M, height))
