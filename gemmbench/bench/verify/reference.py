"""Is the result right? Exactly, on integers; within rounding, on real data.

Small integers make every partial sum exact, so a correct kernel in any order of
summation gives the exact result. Up to 1024 cubed each element is compared. Above,
C x = A (B x) is compared for 32 random vectors of -1 and 1 (R. Freivalds,
"Probabilistic machines can use less running time", 1977), in float64 and exact: a
wrong row slips through with probability 2**-32.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from gemmbench.bench.operands.fill import Operands, filled, is_kept
from gemmbench.bench.verify.diagnosis import Diagnosis, diagnose, sentence
from gemmbench.bench.verify.wrong_result import ROUNDING_FACTOR, Wrong
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.sweeps.options import Fill

_WHOLE = 1024**3
_VECTORS = 32
_ROWS = 128
_CHUNK = 1 << 19  # elements that are converted to float64 at a time
_MAP_ROWS = 16
_THREADS = min(4, os.cpu_count() or 1)  # more fill the caches, and wait for each other in BLAS


@dataclass(frozen=True)
class Check:
    """The judgement on one result.

    `error` is the largest |C - C64| in units of u (|alpha| |A| |B| + |beta| |C0|), u the unit
    roundoff of the accumulator, beyond what storing C in 16 bits costs; `rule` is what judged;
    `message` says what is wrong, and `diagnosis` what most likely causes it.
    """

    ok: bool
    rule: str
    error: float = 0.0
    message: str = ""
    diagnosis: Diagnosis | None = None


@dataclass(frozen=True)
class Reference:
    """What a problem's result must be, for one fill and one pair of scalars; computed once, in float64."""

    problem: Problem
    operands: Operands
    alpha: float
    beta: float

    @property
    def whole(self) -> bool:
        """Small enough to compare every element."""
        return self.problem.M * self.problem.N * self.problem.K <= _WHOLE

    @cached_property
    def _a(self) -> np.ndarray:
        return self.operands.A.T if self.problem.trans_a else self.operands.A

    @cached_property
    def _b(self) -> np.ndarray:
        return self.operands.B.T if self.problem.trans_b else self.operands.B

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows that are compared: all, or 128: the first, the last, tile edges, random ones."""
        M = self.problem.M
        if self.whole or M <= _ROWS:
            return np.arange(M)
        edges = [row for tile in (8, 16, 32, 64, 128, 256) for row in (tile - 1, tile, M - M % tile - 1, M - M % tile)]
        certain = sorted({0, M - 1, *(row for row in edges if row < M)})
        random = np.random.default_rng(0).permutation(M)
        picked = dict.fromkeys([*certain, *random.tolist()])
        return np.array(sorted(list(picked)[:_ROWS]))

    @cached_property
    def exact(self) -> np.ndarray:
        """C64 on the compared rows."""
        return self._of_rows(self.rows)

    def _of_rows(self, rows: np.ndarray) -> np.ndarray:
        product = self.alpha * _product(self._a[rows].astype(np.float64), self._b)
        return product + self.beta * self.operands.C[rows].astype(np.float64) if self.beta else product

    @cached_property
    def scale(self) -> np.ndarray:
        """|alpha| |A| |B| + |beta| |C0| on the compared rows."""
        product = abs(self.alpha) * _product(np.abs(self._a[self.rows].astype(np.float64)), self._b, absolute=True)
        return product + abs(self.beta) * np.abs(self.operands.C[self.rows].astype(np.float64))

    @cached_property
    def _units(self) -> np.ndarray:
        """1 / (u (|alpha| |A| |B| + |beta| |C0|)) on the compared rows, 0 where that is 0."""
        unit = self.problem.precision.accumulator.unit * self.scale
        return np.divide(1, unit, out=np.zeros_like(unit), where=unit > 0)

    @cached_property
    def _stored(self) -> np.ndarray:
        """What storing C may cost on the compared rows."""
        return 2 * self.problem.precision.result_unit * np.abs(self.exact)

    @cached_property
    def _allowed(self) -> np.ndarray:
        """How far C may be from C64 on the compared rows."""
        return ROUNDING_FACTOR * self.problem.precision.accumulator.unit * self.scale + self._stored

    @cached_property
    def vectors(self) -> np.ndarray:
        """N x 32 random -1 and 1."""
        random = np.random.default_rng(1).integers(0, 2, (self.problem.N, _VECTORS))
        return random.astype(np.float64) * 2 - 1

    @cached_property
    def projected(self) -> np.ndarray:
        """alpha A (B x) + beta C0 x, exact for integers."""
        product = self.alpha * _times(self._a, _times(self._b, self.vectors))
        return product + self.beta * _times(self.operands.C, self.vectors) if self.beta else product

    def check_exact(self, result: np.ndarray) -> Check:
        """Compare an integer result for equality: element by element, or by Freivalds' vectors."""
        if self.whole:
            return self._equality(result, self.rows)
        with np.errstate(invalid="ignore"):
            right = _times(result, self.vectors) == self.projected
        wrong = np.flatnonzero(~right.all(axis=1))
        if not wrong.size:
            return Check(True, "exact")
        spread = wrong[np.unique(np.linspace(0, wrong.size - 1, _MAP_ROWS).astype(int))]
        return self._equality(result[spread], spread, wrong)

    def _equality(self, result: np.ndarray, rows: np.ndarray, suspects: np.ndarray | None = None) -> Check:
        want = self._of_rows(rows) if suspects is not None else self.exact
        want = want.astype(result.dtype).astype(np.float64)  # the one rounding a 16-bit C may need
        got = result.astype(np.float64)
        wrong = got != want  # a NaN is
        if not wrong.any():
            return Check(True, "exact")
        return self._failed("exact", math.inf, rows, got, want, wrong, suspects)

    def check_rounding(self, result: np.ndarray) -> Check:
        """Compare a real result with the bound 16 u (|alpha| |A| |B| + |beta| |C0|) + 2 u_out |C64|.

        The bound: N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed.,
        section 3.5, with 16 for the growth that random signs leave of its factor K.
        """
        got = result[self.rows].astype(np.float64)
        with np.errstate(invalid="ignore"):
            difference = np.abs(got - self.exact)
            right = difference <= self._allowed  # a NaN is not
            if self.problem.precision.rounds_result:
                difference -= self._stored
            units = float(np.max(difference * self._units))
        error = max(units, 0.0) if math.isfinite(units) else math.inf
        if right.all():
            return Check(True, "rounding", error)
        return self._failed("rounding", error, self.rows, got, self.exact, ~right)

    def _failed(
        self,
        rule: str,
        error: float,
        rows: np.ndarray,
        got: np.ndarray,
        want: np.ndarray,
        mask: np.ndarray,
        suspects: np.ndarray | None = None,
    ) -> Check:
        found = rows[mask.any(axis=1)] if suspects is None else suspects
        scalars = self.alpha, self.beta
        wrong = Wrong(self.problem, self.operands, *scalars, rows, got, want, mask, found, error, rule == "exact")
        diagnosis = diagnose(wrong)
        return Check(False, rule, error, sentence(wrong, diagnosis), diagnosis)


def expected(problem: Problem, fill: Fill, seed: int, alpha: float, beta: float) -> Reference:
    """What the result must be on data of that fill; kept for the batches to come where the data is."""
    return (_kept if is_kept(problem) else _made)(problem, fill, seed, alpha, beta)


def _made(problem: Problem, fill: Fill, seed: int, alpha: float, beta: float) -> Reference:
    return Reference(problem, filled(problem, fill, seed), alpha, beta)


_kept = lru_cache(maxsize=3)(_made)  # those of one problem: at most two on integers, one on real data


def _times(matrix: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """matrix @ vectors in float64. Converting takes longest, so threads share the rows."""
    share = -(-matrix.shape[0] // _THREADS)

    def product(row: int) -> np.ndarray:
        return np.concatenate([part @ vectors for _, part in _converted(matrix[row : row + share])])

    with ThreadPoolExecutor(_THREADS) as pool:
        return np.concatenate(list(pool.map(product, range(0, matrix.shape[0], share))))


def _product(rows: np.ndarray, matrix: np.ndarray, absolute: bool = False) -> np.ndarray:
    """rows @ matrix in float64, or rows @ |matrix|."""
    total = np.zeros((rows.shape[0], matrix.shape[1]))
    for slab, part in _converted(matrix):
        total += rows[:, slab] @ (np.abs(part, out=part) if absolute else part)
    return total


def _converted(matrix: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Some rows at a time, and what they hold in float64, each time in the same place."""
    step = max(1, _CHUNK // matrix.shape[1])
    place = np.empty_like(matrix[:step], np.float64)
    for row in range(0, matrix.shape[0], step):
        slab = slice(row, row + step)
        part = place[: matrix.shape[0] - row]
        part[:] = matrix[slab]
        yield slab, part
