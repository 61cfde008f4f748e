"""What a GEMM's result must be: exact on integers, and within rounding on real data.

With small integers, every partial sum is exact, so a correct kernel gives the exact result in any order of summation.
Up to 1024 cubed, every element is compared. Above that, C x = A (B x) is compared for 32 random vectors of -1 and 1 (R.
Freivalds, "Probabilistic machines can use less running time", 1977), exactly and in float64. The probability of missing
a wrong row is 2**-32.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from gemmbench.bench.operands.alterations import Altered
from gemmbench.bench.operands.operand_values import Operands, is_cached, make_operands
from gemmbench.bench.operands.products import (
    StackedProducts,
    find_products,
    split_products,
    view_products,
    view_scaled_factor,
)
from gemmbench.bench.verify.batch_mistakes import describe_in_batch, explain_batch
from gemmbench.bench.verify.diagnosis import UNKNOWN, Diagnosis, describe, explain_product
from gemmbench.bench.verify.epilogue_reference import Finish, explain_epilogue
from gemmbench.bench.verify.group_mistakes import explain_groups
from gemmbench.bench.verify.scale_mistakes import explain_scales
from gemmbench.bench.verify.wrong_result import ROUNDING_FACTOR, WrongResult, find_storage_error, find_sum_unit
from gemmbench.planning.epilogues import EPILOGUE_STEPS
from gemmbench.planning.manifests.variant import Exactness
from gemmbench.planning.precisions import CLASSES, choose_weaker
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.run_request import Fill

EXACT = Exactness()
"""The usual exactness: that of the precision."""
_FULL_CHECK_LIMIT = 1024**3
"""The largest M N K for which every element is compared."""
_VECTORS = 32
_ROWS, _LEAST_ROWS, _MOST_ROWS, _MOST_GROUP_ROWS = 128, 4, 1 << 13, 1 << 7
"""The most rows to compare in a product of a large problem, the fewest if there are many products, and the most in
total, of a batch and of groups.
"""
_CHUNK = 1 << 19  # elements converted to float64 at a time
_MAP_ROWS = 16
_THREADS = min(4, os.cpu_count() or 1)  # more threads would compete for the caches and for BLAS


@dataclass(frozen=True)
class Check:
    """The verdict on one result.

    `error` is the largest |C - C64| in units of u (|alpha| |A| |B| + |beta| |C0|), where u is the unit roundoff of the
    accumulator. It does not include the error of storing C in 16 bits. `rule` names the check, `message` describes what
    is wrong, and `diagnosis` is the most likely cause. A check of single products finds their class, and their largest
    error in units of the last place of C.
    """

    ok: bool
    rule: str
    error: float = 0.0
    message: str = ""
    diagnosis: Diagnosis | None = None
    product_class: str = ""
    product_error: float | None = None


@dataclass(frozen=True)
class Reference:
    """The correct result of a problem for given operands and scalars. It is computed once, in float64.

    The rows of all products are stacked. `chosen` holds the rows to compare, if not the usual ones.
    What is computed of A, B and C are sums, which the epilogue of the problem follows. Scales of A and B belong to
    these. With `transparent` the operands are such that activations return their argument, and with `exact_sums` such
    that nothing but the scales is rounded before C is stored, which must round to nearest.
    """

    problem: Problem
    operands: Operands
    alpha: float
    beta: float
    chosen: np.ndarray | None = None
    transparent: bool = False
    exact_sums: bool = False

    @property
    def compares_all(self) -> bool:
        """Whether the problem is small enough to compare all elements."""
        return self.problem.flops <= 2 * _FULL_CHECK_LIMIT

    @cached_property
    def _a(self) -> StackedProducts:
        """op(A) of every product, with its scales."""
        return view_scaled_factor(self.problem, self.operands, "A")

    @cached_property
    def _b(self) -> StackedProducts:
        """op(B) of every product, with its scales."""
        return view_scaled_factor(self.problem, self.operands, "B")

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows to compare: all, or 128 of each product (the first, the last, tile edges and random ones).

        If there are very many large products, fewer rows of each are compared.
        """
        problem = self.problem
        if self.chosen is not None:
            return self.chosen
        total = _MOST_GROUP_ROWS if problem.groups else _MOST_ROWS
        most = min(_ROWS, max(_LEAST_ROWS, total // len(problem.slices)))
        if self.compares_all:
            return np.arange(problem.rows)
        heights = {each.M for each in problem.slices}
        chosen = {M: _choose_rows(M, most) for M in heights}
        return np.concatenate([each.rows[problem.result.name] + chosen[each.M] for each in problem.slices])

    @cached_property
    def expected(self) -> np.ndarray:
        """C64 on the compared rows."""
        return self._compute_rows(self.rows)

    def _compute_rows(self, rows: np.ndarray) -> np.ndarray:
        product = self.alpha * self._multiply_rows(rows)
        return product + self.beta * self.operands["C"][rows].astype(np.float64) if self.beta else product

    def _multiply_rows(self, rows: np.ndarray, absolute: bool = False) -> np.ndarray:
        """Return these rows of A B or of |A| |B|."""
        problem, several = self.problem, len(self.problem.slices) > 1
        if len(rows) == problem.rows and several:
            return self._multiply_all(absolute)
        found = np.empty((len(rows), problem.N))
        product, row = find_products(problem, rows)
        for number in np.unique(product):
            mine = np.flatnonzero(product == number) if several else slice(None)
            factors = self._a[number][row[mine]].astype(np.float64)
            found[mine] = _multiply(np.abs(factors) if absolute else factors, self._b[number], absolute)
        return found

    def _multiply_all(self, absolute: bool) -> np.ndarray:
        """Return all rows of A B or of |A| |B|, computing many small products at a time."""
        problem = self.problem
        found = np.empty((problem.rows, problem.N))
        products = view_products(problem, {problem.result.name: found}, problem.result.name)
        for part in split_products(problem, _CHUNK):
            a, b = self._a.take(part).astype(np.float64), self._b.take(part).astype(np.float64)
            np.matmul(np.abs(a, out=a) if absolute else a, np.abs(b, out=b) if absolute else b, out=products.take(part))
        return found

    @cached_property
    def scale(self) -> np.ndarray:
        """|alpha| |A| |B| + |beta| |C0| on the compared rows."""
        product = abs(self.alpha) * self._multiply_rows(self.rows, absolute=True)
        return np.asarray(product + abs(self.beta) * np.abs(self.operands["C"][self.rows].astype(np.float64)))

    @cached_property
    def _inverse_units(self) -> np.ndarray:
        """1 / (u (|alpha| |A| |B| + |beta| |C0|)) on the compared rows, or 0 where that sum is 0."""
        unit = find_sum_unit(self.problem, self.exact_sums) * self.scale
        return np.divide(1, unit, out=np.zeros_like(unit), where=unit > 0)

    @cached_property
    def _storage_error(self) -> np.ndarray:
        """The error that storing the sums in C may add, on the compared rows."""
        return self._find_storage_error(self.expected)

    def _find_storage_error(self, expected: np.ndarray) -> np.ndarray:
        return find_storage_error(self.problem, expected, self.exact_sums)

    def _make_finish(self, rows: np.ndarray, declared: Exactness = EXACT) -> Finish:
        return Finish(self.problem, self.operands, rows, transparent=self.transparent, approx=declared.approx)

    def _find_limits(
        self, rows: np.ndarray, factor: float, declared: Exactness, changed: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The compared rows of a C of which the sums are `factor` times as large, what they must be, and how nearly.

        Real numbers without an epilogue are divided by the factor. The operands of the epilogue are as the audit has
        `changed` them, or as they were written.
        """
        got = rows.astype(np.float64)
        if not self.problem.epilogue:
            exact = self.problem.precision.is_exact
            if not exact:
                got /= factor
            return got, factor * self.expected if exact else self.expected, self._bound(declared)
        finish = replace(self._make_finish(self.rows, declared), changed=changed)
        values, bound = finish.apply(factor * self.expected, abs(factor) * self._sum_bound(declared))
        return got, values, bound + self._find_storage_error(values)

    @cached_property
    def _bounds(self) -> dict[Exactness, np.ndarray]:
        """The bounds that _bound has computed."""
        return {}

    def _bound(self, declared: Exactness) -> np.ndarray:
        """Compute how far C may differ from C64 on the compared rows."""
        if declared not in self._bounds:
            self._bounds[declared] = np.asarray(self._sum_bound(declared) + self._storage_error)
        return self._bounds[declared]

    def _sum_bound(self, declared: Exactness) -> np.ndarray:
        """The same before C is stored."""
        unit = ROUNDING_FACTOR * find_sum_unit(self.problem, self.exact_sums)
        if self.problem.precision.may_split_factors(declared.product_class):
            weaker = choose_weaker(declared.product_class, self.problem.precision.product_class)
            unit += CLASSES[weaker].largest * 2.0**-23
        return np.asarray(unit * self.scale)

    @cached_property
    def vectors(self) -> np.ndarray:
        """Random vectors of -1 and 1, N x 32."""
        random = np.random.default_rng(1).integers(0, 2, (self.problem.N, _VECTORS))
        return random.astype(np.float64) * 2 - 1

    @cached_property
    def expected_projections(self) -> np.ndarray:
        """alpha A (B x) + beta C0 x for these vectors. It is exact for integers."""
        sums = self.alpha * np.concatenate([self._project(part) for part in split_products(self.problem, _CHUNK)])
        if self.beta:
            sums = sums + self.beta * _multiply_in_threads(self.operands["C"], self.vectors)
        return self._project_epilogue(sums)

    def _project_epilogue(self, projected: np.ndarray) -> np.ndarray:
        """What the linear steps of an epilogue make of projected sums."""
        product, _ = find_products(self.problem, np.arange(len(projected)))
        for name in self.problem.epilogue:
            step = EPILOGUE_STEPS[name]
            if step.part == "one":
                projected = projected * float(self.operands[name].reshape(-1)[0])
            elif step.part:
                added = _multiply_in_threads(self.operands[name], self.vectors)
                projected = projected + (added[product] if step.part == "row" else added)
        return projected

    def _is_linear(self, declared: Exactness = EXACT) -> bool:
        return (self.transparent and not declared.approx) or not self.problem.has_activation

    def _project(self, part: slice) -> np.ndarray:
        """Return A (B x) for some products."""
        a, b = self._a.take(part), self._b.take(part)
        if len(a) == 1:
            return _multiply_in_threads(a[0], _multiply_in_threads(b[0], self.vectors))
        projected = a.astype(np.float64) @ (b.astype(np.float64) @ self.vectors)
        return np.asarray(projected.reshape(-1, _VECTORS))

    def check_exact(self, result: np.ndarray, declared: Exactness = EXACT) -> Check:
        """Check an integer result for equality, element by element or with Freivalds' vectors.

        An epilogue that is not linear is compared on `rows` where not every element is.
        """
        if self.compares_all or not self._is_linear(declared):
            return self._compare_exactly(result[self.rows], self.rows, declared=declared)
        wrong = np.flatnonzero(~self._find_right_projections(result).all(axis=1))
        if not wrong.size:
            return Check(True, "exact")
        product, _ = find_products(self.problem, wrong)
        wrong = wrong[product == product[0]]  # rows of the same product show more of it
        spread = wrong[np.unique(np.linspace(0, wrong.size - 1, _MAP_ROWS).astype(int))]
        return self._compare_exactly(result[spread], spread, wrong)

    def _find_right_projections(self, result: np.ndarray) -> np.ndarray:
        """Return where the projections of a result are right, which for integers means modulo 2**bits."""
        projections = _multiply_in_threads(result, self.vectors)
        return np.asarray(self._subtract(projections, self.expected_projections) == 0)

    def is_exactly_right(self, result: np.ndarray, declared: Exactness = EXACT) -> bool:
        """Return whether an integer result is right. This is check_exact without its slow explanation."""
        if not self.compares_all and self._is_linear(declared):
            return bool(self._find_right_projections(result).all())
        got = result[self.rows].astype(np.float64)
        return not self._find_unequal(got, self.expected, self.rows, declared)[1].any()

    def _compare_exactly(
        self, result: np.ndarray, rows: np.ndarray, suspects: np.ndarray | None = None, declared: Exactness = EXACT
    ) -> Check:
        sums = self._compute_rows(rows) if suspects is not None else self.expected
        got = result.astype(np.float64)
        want, wrong = self._find_unequal(got, sums, rows, declared)
        if not wrong.any():
            return Check(True, "exact")
        return self._describe_failure("exact", math.inf, rows, got, want, wrong, suspects, sums, declared=declared)

    def _find_unequal(
        self, got: np.ndarray, sums: np.ndarray, rows: np.ndarray, declared: Exactness = EXACT
    ) -> tuple[np.ndarray, np.ndarray]:
        """What rows must be of which the sums are exact, and where they are something else; NaN is."""
        store = self.problem.storage("C").store
        stored = store(sums)  # the one rounding a 16-bit C may need
        if not self.problem.epilogue:
            return stored, got != stored
        finish, wrong = self._make_finish(rows, declared), np.ones(got.shape, bool)
        cuts = range(len(self.problem.epilogue)) if self.problem.precision.rounds_result else ()
        for stored_at in (None, *cuts):
            want, bound = finish.apply_exactly(sums, stored_at)
            rounded = store(want)
            slack = np.where(bound > 0, bound + self._find_storage_error(want), 0.0)
            with np.errstate(invalid="ignore"):
                wrong &= ~(np.abs(got - rounded) <= slack)
        return rounded, wrong

    def has_extra_step(self, result: np.ndarray, name: str, approx: float) -> bool:
        """Return whether an activation that the problem does not have was applied as well, anywhere in its epilogue."""
        if EPILOGUE_STEPS[name].part:
            return False
        steps, finish, got = self.problem.epilogue, self._make_finish(self.rows), result[self.rows].astype(np.float64)
        error = self._sum_bound(EXACT) + (ROUNDING_FACTOR * finish.unit + approx) * np.abs(self.expected)
        for at in range(len(steps) + 1):
            want = finish.follow((*steps[:at], name, *steps[at:]), self.expected)
            with np.errstate(invalid="ignore"):
                if (np.abs(got - want) <= 4 * error + self._find_storage_error(want)).all():
                    return True
        return False

    def check_rounding(self, result: np.ndarray, declared: Exactness = EXACT) -> Check:
        """Check a real result: |C - C64| <= 16 u (|alpha| |A| |B| + |beta| |C0|) + 2 u_out |C64|.

        If the manifest has `declared` a weaker product class, u grows by the error of a product; if it has declared
        that an activation is approximated, its error is added. Integers are compared as in check_exact.

        The bound is from N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 3.5. It uses
        16 instead of his factor K, because errors of random sign do not reach that.
        """
        if self.problem.precision.is_exact:
            return self.check_exact(result)
        return self.check_rows(result[self.rows], declared=declared)

    def check_scales(self, result: np.ndarray, declared: Exactness = EXACT) -> Check:
        """Check a result of which only the scales are rounded, in float, and then C.

        A scale that is rounded to fewer bits, or applied to sums that were stored in C, changes some elements.
        """
        return replace(self.check_rows(result[self.rows], declared=declared), rule="scales")

    def check_rows(
        self, rows: np.ndarray, factor: float = 1.0, declared: Exactness = EXACT, changed: bool = False
    ) -> Check:
        """As check_rounding, for the compared rows of a result whose sums should be `factor` times the reference.

        `factor` is a power of two. The operands of an epilogue are as the audit has `changed` them.
        """
        got, want, bound = self._find_limits(rows, factor, declared, changed)
        with np.errstate(invalid="ignore"):
            difference = self._subtract(got, want)
            np.abs(difference, out=difference)
            right = difference <= bound  # false for a NaN
            if self.problem.precision.rounds_result:
                difference -= self._find_storage_error(want) if self.problem.epilogue else self._storage_error
            if self.problem.epilogue:  # in sixteenths of what it may be
                difference *= np.divide(ROUNDING_FACTOR, bound, out=np.zeros_like(bound), where=bound > 0)
            else:
                difference *= self._inverse_units
            units = float(np.max(difference))
        error = max(units, 0.0) if math.isfinite(units) else math.inf
        if right.all():
            return Check(True, "rounding", error)
        sums = factor * self.expected if self.problem.epilogue else self.expected
        if self.problem.precision.is_exact:
            error = math.inf
        return self._describe_failure("rounding", error, self.rows, got, want, ~right, None, sums, bound, declared)

    def count_right_rows(self, rows: np.ndarray, factor: float, declared: Exactness = EXACT) -> int:
        """Count the compared rows that check_rows would find right."""
        got, want, bound = self._find_limits(rows, factor, declared, changed=False)
        with np.errstate(invalid="ignore"):
            return int((np.abs(self._subtract(got, want)) <= bound).all(axis=1).sum())

    def _subtract(self, got: np.ndarray, want: np.ndarray) -> np.ndarray:
        """The difference of two results, for integers modulo 2**bits."""
        storage = self.problem.storage("C")
        return storage.store(got - want) if storage.is_integer else got - want

    def alter(self, places: np.ndarray, altered: Altered) -> Reference:
        """Return the reference for `rows[places]` of the compared rows if parts of A and B have changed sign.

        The bounds are the same, because they depend on absolute values. No matrix product is needed.
        """
        rows = self.rows[places]
        product, _ = find_products(self.problem, rows)
        a = self._a.take_rows(rows).astype(np.float64)
        inner, which = np.unique(altered.inner, return_inverse=True)
        changed = np.zeros((len(rows), len(inner)), bool)
        for number, row in enumerate(rows):
            changed[number, which[altered.rows == row]] = True
        less = np.where(changed, 2 * a[:, inner], 0.0)
        a[:, inner] -= less
        lines = altered.lines
        lost = np.empty((len(rows), self.problem.N))
        for number in np.unique(product):
            mine, b = product == number, self._b[number]
            lost[mine] = less[mine] @ b[inner].astype(np.float64)
            lost[mine] += 2 * a[mine][:, lines] @ b[lines].astype(np.float64)
        other = replace(self, chosen=rows)
        other.__dict__.update(expected=self.expected[places] - self.alpha * lost, scale=self.scale[places])
        return other

    def _describe_failure(
        self,
        rule: str,
        error: float,
        rows: np.ndarray,
        got: np.ndarray,
        want: np.ndarray,
        mask: np.ndarray,
        suspects: np.ndarray | None = None,
        sums: np.ndarray | None = None,
        bound: np.ndarray | None = None,
        declared: Exactness = EXACT,
    ) -> Check:
        wrong = WrongResult(
            problem=self.problem,
            operands=self.operands,
            alpha=self.alpha,
            beta=self.beta,
            rows=rows,
            got=got,
            want=want,
            mask=mask,
            suspects=rows[mask.any(axis=1)] if suspects is None else suspects,
            error=error,
            exact=rule == "exact",
            exact_sums=self.exact_sums,
        )
        if self.problem.epilogue:
            assert sums is not None
            plain = replace(self.problem, epilogue=())
            operands = {name: array for name, array in self.operands.items() if name not in self.problem.epilogue}
            wrong = replace(wrong, problem=plain, operands=operands, stored=(got, want))
            number = int(find_products(plain, wrong.suspects[:1])[0][0])
            product = find_products(plain, rows)[0]
            failed, found = np.isin(product, product[mask.any(axis=1)]), None
            for part in (slice(None), failed):
                finish, near = self._make_finish(rows[part], declared), np.zeros(1) if bound is None else bound[part]
                is_whole = len(finish.rows) == len(rows)
                found = found or explain_epilogue(finish, sums[part], got[part], near, is_whole, self.alpha, self.beta)
            undone, known = self._make_finish(rows).undo(got)
            if found is None and not (mask & known).any():
                unwritten = self.problem.storage("C").find_unwritten(got[mask]).all()
                words = "C was never written there" if unwritten else "the product or its epilogue is wrong"
                found = Diagnosis(UNKNOWN, words)
            if found is not None:
                several = len(self.problem.slices) > 1
                words = describe_in_batch(wrong, number, found) if several else describe(wrong, found)
                return Check(False, rule, error, words, found)
            wrong = replace(wrong, got=undone, want=sums, mask=mask & known, known=known)
        if self.problem.precision.scales and (found := explain_scales(wrong)):
            return Check(False, rule, error, describe(wrong, found), found)
        explain = explain_groups if self.problem.groups else explain_batch
        message, diagnosis = explain(wrong) if len(self.problem.slices) > 1 else explain_product(wrong)
        return Check(False, rule, error, message, diagnosis)


def _choose_rows(M: int, most: int) -> np.ndarray:
    """Return at most this many rows of a product: the first, the last, tile edges, and random ones."""
    if most >= M:
        return np.arange(M)
    edges = [row for tile in (8, 16, 32, 64, 128, 256) for row in (tile - 1, tile, M - M % tile - 1, M - M % tile)]
    certain = sorted({0, M - 1, *(row for row in edges if 0 <= row < M)})
    random = np.random.default_rng(0).permutation(M)
    picked = dict.fromkeys([*(certain if most == _ROWS else (0, M - 1)), *random.tolist()])
    return np.array(sorted(list(picked)[:most]))


def make_reference(problem: Problem, fill: Fill, seed: int, alpha: float, beta: float) -> Reference:
    """Return the reference for a fill. It is kept for later batches if its operands are."""
    return (_make_cached if is_cached(problem) else _make)(problem, fill, seed, alpha, beta)


def _make(problem: Problem, fill: Fill, seed: int, alpha: float, beta: float) -> Reference:
    return Reference(problem, make_operands(problem, fill, seed), alpha, beta)


_make_cached = lru_cache(maxsize=3)(_make)  # one problem has at most two on integers and one on real data


def _multiply_in_threads(matrix: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return matrix @ vectors in float64. Conversion takes the most time, so threads share the rows."""
    if not matrix.shape[0]:
        return np.empty((0, vectors.shape[1]))
    share = -(-matrix.shape[0] // _THREADS)

    def product(row: int) -> np.ndarray:
        with np.errstate(invalid="ignore"):  # the setting is per thread
            return np.concatenate([part @ vectors for _, part in _convert_in_slabs(matrix[row : row + share])])

    with ThreadPoolExecutor(_THREADS) as pool:
        return np.concatenate(list(pool.map(product, range(0, matrix.shape[0], share))))


def _multiply(rows: np.ndarray, matrix: np.ndarray, absolute: bool = False) -> np.ndarray:
    """Return rows @ matrix or rows @ |matrix| in float64."""
    total = np.zeros((rows.shape[0], matrix.shape[1]))
    for slab, part in _convert_in_slabs(matrix):
        total += rows[:, slab] @ (np.abs(part, out=part) if absolute else part)
    return total


def _convert_in_slabs(matrix: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield some rows at a time with their values in float64, always in the same buffer."""
    step = max(1, _CHUNK // matrix.shape[1])
    buffer = np.empty_like(matrix[:step], np.float64)
    for row in range(0, matrix.shape[0], step):
        slab = slice(row, row + step)
        part = buffer[: matrix.shape[0] - row]
        part[:] = matrix[slab]
        yield slab, part
