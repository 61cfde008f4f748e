"""A wrong result with everything it was computed from, as a diagnosis needs it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gemmbench.bench.operands.fill import Operands
from gemmbench.planning.problems import Problem

ROUNDING_FACTOR = 16
"""A correct result may be off by this many u (|alpha| |A| |B| + |beta| |C0|)."""
_ELEMENTS = 64


@dataclass(frozen=True)
class WrongResult:
    """A result C = alpha op(A) op(B) + beta C0 that failed.

    `rows` are the indices of the R rows of C that were compared. `got` and `want` (float64) and
    `mask`, true where `got` is wrong, are R x N. `suspects` are all rows known to be wrong,
    compared or not. `error` is in units of rounding, infinite where the comparison was exact.
    """

    problem: Problem
    operands: Operands
    alpha: float
    beta: float
    rows: np.ndarray
    got: np.ndarray
    want: np.ndarray
    mask: np.ndarray
    suspects: np.ndarray
    error: float = float("inf")
    exact: bool = True

    @property
    def has_all_rows(self) -> bool:
        """Whether every row of C was compared."""
        return len(self.rows) == self.problem.M

    @cached_property
    def unwritten(self) -> np.ndarray:
        """R x N: true where C is NaN, as it was before the launch."""
        return np.asarray(np.isnan(self.got))

    @cached_property
    def a(self) -> np.ndarray:
        """op(A), M x K."""
        return self.operands.A.T if self.problem.trans_a else self.operands.A

    @cached_property
    def b(self) -> np.ndarray:
        """op(B), K x N."""
        return self.operands.B.T if self.problem.trans_b else self.operands.B

    @cached_property
    def sample(self) -> WrongSample:
        """At most 64 finite wrong elements, spread over C."""
        wrong = np.argwhere(self.mask & np.isfinite(self.got))
        few = wrong[np.unique(np.linspace(0, len(wrong) - 1, _ELEMENTS).astype(int))] if len(wrong) else wrong
        return WrongSample(self, self.rows[few[:, 0]], few[:, 1], self.got[few[:, 0], few[:, 1]])


@dataclass(frozen=True)
class WrongSample:
    """E wrong elements of C: E row indices, E column indices, E values."""

    wrong: WrongResult
    i: np.ndarray
    j: np.ndarray
    got: np.ndarray

    def __len__(self) -> int:
        return len(self.got)

    @cached_property
    def terms(self) -> np.ndarray:
        """The products that each element should be the sum of, E x K."""
        return self.products(self.wrong.a, self.wrong.b, self.i, self.j)

    @cached_property
    def before(self) -> np.ndarray:
        """C0 at these elements."""
        return np.asarray(self.wrong.operands.C[self.i, self.j], np.float64)

    @cached_property
    def scale(self) -> np.ndarray:
        """|alpha| |A| |B| + |beta| |C0| at these elements."""
        product = abs(self.wrong.alpha) * np.abs(self.terms).sum(axis=1)
        return np.asarray(product + abs(self.wrong.beta) * np.abs(self.before))

    def products(self, a: np.ndarray, b: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """The products whose sums are the elements (i, j) of a b, one row per element."""
        return np.asarray(a[i].astype(np.float64) * b[:, j].T.astype(np.float64))

    def apply_scalars(self, sums: np.ndarray) -> np.ndarray:
        """alpha sums + beta C0 for sums of shape E or E x n."""
        base = self.wrong.beta * self.before if self.wrong.beta else np.zeros(len(self))
        return self.wrong.alpha * sums + (base if sums.ndim == 1 else base[:, None])

    def matches(self, values: np.ndarray) -> np.ndarray:
        """Where `values` (E or E x n) match: equal for integers, within rounding for real data."""
        got, scale = (vector if values.ndim == 1 else vector[:, None] for vector in (self.got, self.scale))
        problem = self.wrong.problem
        if self.wrong.exact:
            return np.asarray(values.astype(problem.precision.c.numpy_type()).astype(np.float64) == got)
        bound = ROUNDING_FACTOR * problem.sum_unit * scale + 2 * problem.precision.result_unit * np.abs(values)
        return np.asarray(np.abs(values - got) <= bound)
