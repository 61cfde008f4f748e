"""Finds the class of a kernel's products, using operands for which every element of C is a single product.

Each column of B has one number that is not 0, so nothing is summed. For any K, the error of an element is that of one
product. A bound on rounding errors cannot show this error, because the bound grows with K. From K = 1024 on, it accepts
three bf16 products as float32.

The factors fill their significand. Half of them lose something in every way of splitting them into fewer bits. Losses
always have the same sign, so they do not cancel. Some factors are powers of two. Their products are exact if the parts
of the other factor add up to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial

import numpy as np

from gemmbench.bench.operands.operand_values import Operands, is_cached, make_array, make_index
from gemmbench.bench.operands.products import StackedProducts, find_products, view_factor
from gemmbench.bench.verify.diagnosis import LOWER_PRECISION, Diagnosis
from gemmbench.bench.verify.reference import EXACT, Check, Reference
from gemmbench.planning.manifests.variant import Exactness
from gemmbench.planning.precisions import CLASSES, StorageType, choose_weaker, is_weaker, name_class
from gemmbench.planning.problems import Problem

RULE = "class"
_POOL = 65_537  # a prime, so that rows of A begin at different factors
_CHUNK = 1 << 18  # elements judged at a time
_THREADS = 4
_SHORT = 1000  # numbers below this are printed with three digits
_KEPT_BITS = (4, 8, 11, 17, 24)
"""The bits that fewer or smaller parts keep: fp8, bf16, TF32 and f16, two parts of bf16, and f32."""
_SURELY_IMPRECISE = CLASSES["tf32"].largest
"""An error of up to this size comes from a lower precision. A larger one may also come from a wrong element."""
_NARROW = 16
_NEXT_TO_NOTHING = 1e-4
_SHIFTS = {"A": 5, "B": 5}
"""Powers of two that make a product so large that an activation returns it."""
_LARGEST_EXPONENT = 4  # of alpha, so that no result leaves the range of f16
_STORED = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}
"""The class of exact products of stored numbers, by type. Other types have their own names."""


@dataclass(frozen=True)
class ProductError:
    """The largest error of any product and of products with a power of two, in units of C's last bit.

    `count` is the number of elements that are not the product rounded once.
    """

    largest: float = 0.0
    by_powers: float = 0.0
    count: int = 0

    def merge(self, other: ProductError) -> ProductError:
        """Return the combined error of two parts of C."""
        largest, by_powers = max(self.largest, other.largest), max(self.by_powers, other.by_powers)
        return ProductError(largest, by_powers, self.count + other.count)


@dataclass(frozen=True)
class SingleProducts:
    """A problem in which column j of product p's B holds only `factors[p, j]`, in row `rows[p, j]`.

    alpha is a power of two and C0 is 0, so that neither adds an error. Nor does an epilogue: its operands change
    nothing, and products are so large that an activation returns them, or 0 where they are negative. The error that an
    activation may have if a manifest declares `approx` does not count.
    """

    problem: Problem
    operands: Operands
    rows: np.ndarray
    factors: np.ndarray
    approx: float = 0.0

    @property
    def scalars(self) -> tuple[float, float]:
        """The power of two closest to the problem's alpha, within bounds, and its beta."""
        alpha = self.problem.alpha
        if not alpha or not math.isfinite(alpha):
            return 1.0, self.problem.beta
        exponent = round(math.log2(abs(alpha)))
        near = min(max(exponent, -_LARGEST_EXPONENT), _LARGEST_EXPONENT)
        return math.copysign(2.0**near, alpha), self.problem.beta

    @cached_property
    def _a(self) -> StackedProducts:
        return view_factor(self.problem, self.operands, "A")

    def measure_error(self, result: np.ndarray) -> ProductError:
        """Return the largest error of the elements of C. It is infinite if there is a NaN."""
        return self._measure_rows(result, 0, self.problem.rows)

    def _measure_rows(self, result: np.ndarray, first: int, end: int) -> ProductError:
        """Return the largest error in a range of the stacked rows of C."""
        step, worst = max(1, _CHUNK // self.problem.N), ProductError()
        parts = [np.arange(row, min(row + step, end)) for row in range(first, end, step)]
        with ThreadPoolExecutor(_THREADS) as pool, np.errstate(all="ignore"):
            for error in pool.map(partial(self._measure_part, result), parts):
                worst = worst.merge(error)
        return worst

    def _measure_part(self, result: np.ndarray, rows: np.ndarray) -> ProductError:
        got, (product, row) = result[rows[0] : rows[-1] + 1], find_products(self.problem, rows)
        kind = self.problem.precision.accumulator.type.numpy_type()
        if product[0] == product[-1]:  # far faster
            a = self._a[product[0]][row[0] : row[-1] + 1].take(self.rows[product[0]], axis=1).astype(kind, copy=False)
            factors = np.broadcast_to(self.factors[product[0]], got.shape)
        else:
            a = np.take_along_axis(self._a.take_rows(rows), self.rows[product], axis=1).astype(kind, copy=False)
            factors = self.factors[product]
        if self.problem.has_activation:
            got, factors = self._remove_clipped(got, a, factors)
        right = a * factors.astype(kind, copy=False) * kind.type(self.scalars[0])
        differs = got != right.astype(got.dtype, copy=False)  # true for a NaN
        return self._measure_elements(got, a, factors, differs) if differs.any() else ProductError()

    def _remove_clipped(self, got: np.ndarray, a: np.ndarray, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """C and the factors with zeros where an activation has to leave next to nothing, and has."""
        negative = a.astype(np.float64) * factors.astype(np.float64) * self.scalars[0] < 0
        exact = np.abs(a.astype(np.float64) * factors.astype(np.float64) * self.scalars[0])
        clipped = negative & (np.abs(got.astype(np.float64)) < np.maximum(_NEXT_TO_NOTHING, self.approx * exact))
        return np.where(clipped, 0, got).astype(got.dtype), np.where(clipped, 0, factors).astype(factors.dtype)

    def _measure_elements(
        self, got: np.ndarray, a: np.ndarray, factors: np.ndarray, differs: np.ndarray
    ) -> ProductError:
        """Return the error of elements that are not the product rounded once."""
        one, other = a[differs].astype(np.float64), factors[differs].astype(np.float64)
        exact = one * other * self.scalars[0]
        error = np.abs(got[differs].astype(np.float64) - exact) - self.approx * np.abs(exact)
        error = np.maximum(error, 0) / _find_last_bit(exact, self.problem.storage("C"))
        error[~np.isfinite(error)] = math.inf
        powers = (np.abs(np.frexp(one)[0]) == 0.5) | (np.abs(np.frexp(other)[0]) == 0.5)
        return ProductError(float(error.max()), float(error[powers].max(initial=0.0)), error.size)

    def judge(self, result: np.ndarray, declared: Exactness = EXACT) -> Check:
        """Find the class of the products and compare it with that of the precision.

        A weaker class is accepted if it is not weaker than the class `declared` in the manifest.
        """
        if declared.approx != self.approx:
            return replace(self, approx=declared.approx).judge(result, declared)
        error = self.measure_error(result)
        wanted = self.problem.precision.product_class
        found = self._find_class(error)
        if not found:
            return self._describe_failure(result)
        accepted = not is_weaker(found, choose_weaker(declared.product_class, wanted))
        check = Check(accepted, RULE, product_class=found, product_error=max(error.largest, self._rounding))
        return check if accepted else self._refuse(check, error, result, declared.product_class)

    @property
    def _rounding(self) -> float:
        """The error of a product that is rounded once, in units of C's last bit."""
        return 0.0 if self.problem.storage("C").is_integer else 0.5

    def _find_class(self, error: ProductError) -> str:
        stored = _STORED.get(self.problem.storage("A").name, self.problem.precision.product_class)
        most = 1.0 if self.problem.storage("C").bits == _NARROW else self._rounding  # C may be truncated to 16 bits
        if error.largest <= most:
            return stored
        scale = 2.0 ** (24 - self.problem.storage("C").significand)
        return name_class(stored, error.largest * scale, error.by_powers * scale)

    def _refuse(self, check: Check, error: ProductError, result: np.ndarray, declared: str) -> Check:
        found, name = CLASSES[check.product_class], self.problem.precision.name
        likely = self.reference.check_rounding(result).diagnosis
        imprecise = likely is None or likely.cause == LOWER_PRECISION
        if found.largest > _SURELY_IMPRECISE and not imprecise:
            return self._describe_failure(result)
        share = f"in {error.count} of {result.size} elements" if error.count < result.size else "in every element"
        share += self._name_products(result, declared)
        size = f"off by up to {_format_error(error)} units in the last place {share}"
        wanted = self.problem.precision.product_class
        limit = f"the manifest declares class {declared}" if declared else f"{name} needs class {wanted}"
        words = f"single products are of class {found.name}, {found.words}: {size}; {limit}"
        if not declared:
            words += f", or write `class: {found.name}` in the manifest, which lists the kernel without ranking it"
        if likely and likely.is_recomputed:
            words = f"{likely.words.partition(', the error is')[0]}; {words}"
        diagnosis = Diagnosis(LOWER_PRECISION, words)
        return Check(False, RULE, math.inf, words, diagnosis, check.product_class, check.product_error)

    def _name_products(self, result: np.ndarray, declared: str) -> str:
        """Name the products or groups that have a weaker class, such as ` of product 3`; "" if all of them have."""
        problem, wrong = self.problem, list[int]()
        allowed = choose_weaker(declared, problem.precision.product_class)
        for number, one in enumerate(problem.slices):
            first = one.rows[problem.result.name]
            if is_weaker(self._find_class(self._measure_rows(result, first, first + one.M)), allowed):
                wrong.append(number)
        if len(wrong) == sum(one.M > 0 for one in problem.slices):
            return ""
        name = problem.product_name
        return f" of {name} {wrong[0]}" if len(wrong) == 1 else f" of {len(wrong)} {name}s, first in {name} {wrong[0]}"

    def _describe_failure(self, result: np.ndarray) -> Check:
        """Describe an error that is larger than that of any class. The result is then wrong, not imprecise."""
        check = self.reference.check_rounding(result)
        if not check.ok:
            return check
        words = "elements that consist of one product are wrong, in rows that other checks do not compare"
        return Check(False, RULE, math.inf, words)

    @cached_property
    def reference(self) -> Reference:
        """The same problem with its usual checks."""
        return Reference(self.problem, self.operands, *self.scalars)


def _format_error(error: ProductError) -> str:
    return f"{error.largest:.3g}" if error.largest < _SHORT else f"{error.largest:,.0f}"


def make_single_products(problem: Problem, seed: int) -> SingleProducts:
    """Make operands for which each sum has a single product. Small operands are kept for later batches."""
    return (_make_cached if is_cached(problem) else _make)(problem, seed)


def _make(problem: Problem, seed: int) -> SingleProducts:
    rng = np.random.default_rng([seed, 1])
    storage = [problem.storage(name) for name in "ABC"]
    count, N = len(problem.slices), problem.N
    operands = {operand.name: make_array(operand) for operand in problem.operands}
    shifts = _SHIFTS if problem.has_activation else dict.fromkeys(_SHIFTS, 0)
    operands["A"][:] = np.resize(_draw_factors(rng, storage[0], _POOL, shifts["A"]), operands["A"].shape)
    factors = _draw_factors(rng, storage[1], count * N, shifts["B"]).reshape(count, N)
    rows = rng.integers(0, problem.K, (count, N))
    rows[:, -1], rows[:, 0] = problem.K - 1, 0
    for operand in problem.operands:
        if operand.role == "index":
            operands[operand.name][:] = make_index(problem)
        elif operand.name != "A":
            operands[operand.name][:] = 1 if operand.role == "scale" else 0
    b = view_factor(problem, operands, "B").all
    b[np.arange(count)[:, None], rows, np.arange(N)] = factors
    return SingleProducts(problem, operands, rows, factors)


_make_cached = lru_cache(maxsize=1)(_make)


def _draw_factors(rng: np.random.Generator, storage: StorageType, count: int, shift: int = 0) -> np.ndarray:
    """Numbers of full significands, times 2**shift: every second one hard to split, every fourth one a power of two."""
    bits = storage.significand
    whole = rng.integers(1 << (bits - 1), 1 << bits, count)
    whole[::2] = _make_hard(whole[::2], bits)
    whole[3::4] = 1 << (bits - 1)
    signs = rng.integers(0, 2, count) * 2 - 1
    exponents = 0 if storage.is_integer else rng.integers(-2, 2, count) - (bits - 1) + shift
    return np.asarray(np.ldexp((signs * whole).astype(np.float64), exponents).astype(storage.numpy_type()))


def _make_hard(whole: np.ndarray, bits: int) -> np.ndarray:
    """Return integers with this number of bits whose remainder is 1/4 to 1/2 of a unit after each kind of rounding.

    The last bits are 01, so that a remainder never fits exactly in a part of fewer bits.
    """
    hard = whole | 1
    for dropped in _list_dropped(bits):
        hard = (hard & ~(1 << (dropped - 1))) | 1 << (dropped - 2)
    return hard


def _list_dropped(bits: int) -> Iterator[int]:
    """Yield how many bits each kind of rounding drops, and 2 for the last bits."""
    yield from sorted({2, *(bits - kept for kept in _KEPT_BITS if bits - kept > 2)}, reverse=True)


def _find_last_bit(values: np.ndarray, storage: StorageType) -> np.ndarray:
    """Return the value of the last significand bit of each number."""
    if storage.is_integer:
        return np.ones_like(values)
    return np.asarray(np.ldexp(1.0, np.frexp(values)[1] - storage.significand))
