"""Panels: C is cut into bands of whole rows, each of which is a GEMM of its own.

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
"""The rows of every panel but the last are a multiple of this: tiles fit, and panels begin at aligned addresses."""


@dataclass(frozen=True)
class PanelCut:
    """How a job is cut: into at most `panels` panels, which `streams` streams take in turn."""

    panels: int = 8
    streams: int = 3


@dataclass(frozen=True)
class Panel:
    """Rows `first` to `first + rows` of op(A) and of C."""

    first: int
    rows: int

    def make_problem(self, problem: Problem) -> Problem:
        """Return the panel as a problem: the same layout and scalars, fewer rows."""
        return replace(problem, M=self.rows)


def cut_into_panels(problem: Problem, panels: int) -> tuple[Panel, ...]:
    """Cut a problem into `panels` panels, or as many as ROWS allows; all but the last have the same height."""
    height = -(-problem.M // panels)
    height = -(-height // ROWS) * ROWS
    return tuple(Panel(first, min(height, problem.M - first)) for first in range(0, problem.M, height))
