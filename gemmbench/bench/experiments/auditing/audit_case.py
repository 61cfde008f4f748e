"""What the results must be in an audit, and a turn over the operand sets that did not give them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gemmbench.bench.operands.arena import Inputs
from gemmbench.bench.verify.reference import Check
from gemmbench.planning.sweeps.overrides import Fill

CHANGES = (2.0, -1.0)
"""What the audit multiplies the inputs by. Were the product 1, old results would be right."""
CHANGE = CHANGES[0] * CHANGES[1]


def choose_audit_fill(timed: Fill) -> Fill:
    """The data that the audit needs: those that are timed, unless all their results are alike."""
    return "uniform" if timed in ("zeros", "ones") else timed


class AuditCase(Protocol):
    """The inputs of set 0 before the audit changes them, and how to judge the results after that.

    `is_linear`: the result of a set is that of set 0 times its factor. Otherwise only sets with the
    same factor have the same result. `rows` are the rows that are compared with the reference.
    """

    @property
    def inputs(self) -> Inputs:
        """The inputs of set 0, unchanged."""

    @property
    def is_linear(self) -> bool:
        """Whether results are multiples of each other."""

    @property
    def rows(self) -> np.ndarray:
        """The rows of the result to compare."""

    def declare_class(self, name: str) -> AuditCase:
        """The case for a row whose manifest declares a class of products, "" for that of the precision."""

    def judge(self, result: np.ndarray, factor: float, rows: np.ndarray) -> Check:
        """Check these rows of the result of a set with this factor; `result` holds nothing else."""

    def find_multiple(self, result: np.ndarray) -> float | None:
        """Which multiple of the result of set 0 before the change the compared rows hold, if any."""


@dataclass(frozen=True)
class Turn:
    """One launch on each of several operand sets, and the first result that is wrong.

    `index` is its set, and `check` the failed check, None if all is right. `samples` are the compared
    rows of the first few sets, if one is wrong; `unchanged` says that set 0 holds what it held before
    the turn. With `differs` the results are within the bounds of rounding, but not the same.
    """

    check: Check | None = None
    index: int = 0
    samples: Sequence[np.ndarray] = ()
    unchanged: bool = False
    differs: bool = False
