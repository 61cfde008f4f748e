"""Numbers that a kernel must not lose: NaN and infinities, subnormals, and values near overflow.

IEEE 754 determines what a correct kernel does in every order of summation:

- A NaN in A reaches its row of C, and a NaN in B reaches its column. The same holds for infinities. An infinity times 0
  is NaN. No other element may change, so padding must be left out and not multiplied by 0.
- Subnormal numbers count, as in every product of CUDA cores unless `-ftz` or `.ftz` says otherwise. NVIDIA does not
  document how tensor cores treat them, so only sums that round like their factors are checked.
- A sum whose parts cannot overflow is finite. A sum of large products of the same sign is infinite.

Elements that depend on the order of summation are not checked.

An epilogue follows these sums as its steps say, with two choices that kernels make differently: ReLU of NaN may be NaN,
as in torch, or 0, as `fmaxf` gives; and GELU and SiLU of minus infinity, which their formulas make NaN, may be 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from gemmbench.bench.operands.operand_values import Operands, make_array, make_index, round_factor
from gemmbench.bench.operands.products import find_products, view_factor
from gemmbench.bench.verify.diagnosis import Diagnosis
from gemmbench.bench.verify.epilogue_reference import Finish
from gemmbench.bench.verify.reference import EXACT, Check
from gemmbench.bench.verify.wrong_result import ROUNDING_FACTOR
from gemmbench.planning.manifests.variant import Exactness
from gemmbench.planning.precisions import FLOAT64
from gemmbench.planning.problems import SCALED, Problem

NOT_FINITE, SUBNORMAL, OVERFLOW = "NaN and infinity", "subnormal", "overflow"
_WEAK = 0.02  # largest error of a sum of bf16 products, as a fraction of |alpha| |A| |B|
_LEAST_SIDE, _MOST_PRODUCTS = 16, 1 << 21


def has_special_values(problem: Problem) -> bool:
    """Return whether to check a problem with special values.

    It must be small, and every side must have room for them.
    """
    small = problem.flops <= 2 * _MOST_PRODUCTS
    return small and min(problem.M, problem.N, problem.K) >= _LEAST_SIDE and not problem.storage("A").is_integer


@dataclass(frozen=True)
class SpecialValues:
    """Operands with special values, and the C that they must give. `rule` names the check."""

    rule: str
    problem: Problem
    operands: Operands
    alpha: float = 1.0
    beta: float = 0.0

    @cached_property
    def _terms(self) -> np.ndarray:
        """alpha A[i][k] B[k][j] of every row of C, rows x K x N, in a type in which none of them overflows."""
        problem, rows = self.problem, np.arange(self.problem.rows)
        kind = np.longdouble if problem.storage("A") == FLOAT64 else np.float64
        a = view_factor(problem, self.operands, "A").take_rows(rows).astype(kind)
        b = view_factor(problem, self.operands, "B").all.astype(kind)
        return np.asarray(self.alpha * a[..., None] * b[find_products(problem, rows)[0]])

    @cached_property
    def _base(self) -> np.ndarray:
        return np.asarray(self.beta * self.operands["C"].astype(np.float64) if self.beta else 0.0)

    @cached_property
    def _scale(self) -> np.ndarray:
        """|alpha| |A| |B| + |beta| |C0|."""
        return np.asarray(self._sum(np.abs(self._terms)) + np.abs(self._base))

    def _sum(self, terms: np.ndarray) -> np.ndarray:
        """Return the sums of terms, rows x N."""
        return np.asarray(terms.sum(axis=1))

    @cached_property
    def _total(self) -> np.ndarray:
        """The sums, which an epilogue may follow."""
        return np.asarray(self._sum(self._terms) + self._base)

    def _clip(self, values: np.ndarray) -> np.ndarray:
        """Make values infinite where the type of C has no number this large."""
        return np.asarray(np.where(np.abs(values) > self._largest, np.copysign(np.inf, values), values))

    @property
    def want(self) -> np.ndarray:
        """The correct C, with the first of several choices. It is infinite where its type has no number this large."""
        return self._choices[0]

    @cached_property
    def _choices(self) -> list[np.ndarray]:
        """What C may be. Before any step of an epilogue, a pass may begin, which finds what was stored in C."""
        starts = [None, *range(len(self.problem.epilogue))]
        return [self._clip(values) for stored_at in starts for values in self._list_choices(stored_at)]

    def _list_choices(self, stored_at: int | None) -> list[np.ndarray]:
        values = [self._total]
        for number, step in enumerate(self._finish.steps):
            operand = self._finish.find_operand(step.name) if step.part else np.zeros(1)
            before = [self._clip(each) for each in values] if number == stored_at else values
            values = [step.apply(each, operand) for each in before]
            if step.is_activation:
                lost = [np.isnan(each) if step.name == "relu" else np.isneginf(each) for each in before]
                values += [np.where(dropped, 0.0, each) for dropped, each in zip(lost, values, strict=True)]
        return values

    @cached_property
    def _finish(self) -> Finish:
        return Finish(self.problem, self.operands, np.arange(self.problem.rows))

    @cached_property
    def _largest(self) -> float:
        return _find_limits(self.problem, "C").largest

    @cached_property
    def _is_certain(self) -> np.ndarray:
        """Whether each element is the same in every order of summation: no part can overflow, or all have one sign."""
        if self.rule == NOT_FINITE:
            return np.ones(self._total.shape, bool)
        one_sign = np.abs(self._sum(self._terms)) == self._scale
        return np.asarray((self._scale < self._largest / 2) | (one_sign & (self._scale / 2 > self._largest)))

    def _allow(self, weak: bool, approx: float) -> np.ndarray:
        """The largest allowed error of a finite element: rounding, and one subnormal step for every operation."""
        step, unit = _find_limits(self.problem, "C").step, 2 * self.problem.precision.result_unit
        rounding = (ROUNDING_FACTOR * self.problem.sum_unit + weak * _WEAK) * self._scale
        finite = np.isfinite(self._total)  # elsewhere, a finite element is what the epilogue makes of 0
        sums, errors = (np.where(finite, each, 0.0) for each in (self._total, rounding))
        values, bound = replace(self._finish, approx=approx).apply(sums, errors + 2 * (self.problem.K + 1) * step)
        return np.asarray(bound + unit * np.abs(values))

    def judge(self, result: np.ndarray, declared: Exactness = EXACT) -> Check:
        """Check a result. Products of parts and a weaker `declared` class may turn infinities into NaN.

        If they overflow, either infinity is right, because parts of a number may have either sign.
        """
        weak = self.problem.precision.may_split_factors(declared.product_class)
        if weak and self.rule == SUBNORMAL:  # parts of a small number are even smaller
            return Check(True, self.rule)
        with np.errstate(all="ignore"):
            got, bound = result.astype(np.float64), self._allow(weak, declared.approx)
            right = np.zeros(got.shape, bool)
            for want in self._choices:
                right |= np.where(np.isfinite(want), np.abs(got - want) <= bound, got == want)
                right |= np.isnan(want) & np.isnan(got)
            accepted = ~np.isfinite(got) if self.rule == OVERFLOW else np.isnan(got)
            right |= weak & np.isinf(self._clip(self._total)) & (accepted | self.problem.has_activation)
            wrong = ~right & self._is_certain
            return self._describe(got, wrong) if wrong.any() else Check(True, self.rule)

    def _describe(self, got: np.ndarray, wrong: np.ndarray) -> Check:
        i, j = (int(index) for index in np.argwhere(wrong)[0])
        (product,), (row,) = find_products(self.problem, np.array([i]))
        where = f" of {self.problem.product_name} {product}" if len(self.problem.slices) > 1 else ""
        first = f"first C[{row}][{j}]{where} = {got[i, j]:.9g}, should be {self.want[i, j]:.9g}"
        words = self._explain_epilogue(got[wrong], self._total[wrong]) or self._explain(got[wrong], self.want[wrong])
        message = f"{int(wrong.sum())} of {wrong.size} elements wrong, {first}: {words}"
        return Check(False, self.rule, float("inf"), message, Diagnosis(f"{self.rule} lost", words))

    def _explain_epilogue(self, got: np.ndarray, total: np.ndarray) -> str:
        """Say that an epilogue makes NaN of infinities alone, as by a product with 0; "" if it does not."""
        spoilt = self.problem.epilogue and self.rule != SUBNORMAL and np.isinf(total).all() and np.isnan(got).all()
        return "the epilogue makes NaN of an infinity: it is multiplied by 0, as by a mask" if spoilt else ""

    def _explain(self, got: np.ndarray, want: np.ndarray) -> str:
        if self.rule == SUBNORMAL:
            flushed = "subnormal numbers become 0: " if (got == 0).all() else "subnormal numbers are lost: "
            return f"{flushed}remove -ftz=true, --use_fast_math and instructions with .ftz"
        if (np.isfinite(want) & ~np.isfinite(got)).any():
            return self._explain_spread()
        if (np.isnan(want) & ~np.isnan(got)).any():
            return (
                "a NaN, or 0 times an infinity, is dropped: the kernel skips products, such as those with 0, "
                "or clamps values"
            )
        if (np.isinf(want) & np.isnan(got)).any():
            return "an infinity becomes NaN: it is multiplied by 0, as in padding, or subtracted from itself"
        return "an infinity is lost: the kernel clamps values, or parts of large numbers"

    def _explain_spread(self) -> str:
        if self.rule == OVERFLOW:
            return (
                "a sum that fits its type overflows: factors or partial sums are stored in a type with a smaller range"
            )
        return (
            "NaN or infinity reaches elements that do not depend on it: it is multiplied by 0, as in padding; "
            "leave out such products"
        )


class _Limits(NamedTuple):
    """The largest number of a type, its smallest normal number, and the step between subnormal numbers."""

    largest: float
    least_normal: float
    step: float


def _find_limits(problem: Problem, operand: str) -> _Limits:
    limits: Any = ml_dtypes.finfo(problem.storage(operand).numpy_type())  # type: ignore[no-untyped-call]
    return _Limits(float(limits.max), float(limits.smallest_normal), float(limits.smallest_subnormal))


def make_special_values(problem: Problem, seed: int) -> Iterator[SpecialValues]:
    """Yield the checks of a problem that `has_special_values`. Each needs one launch."""
    with np.errstate(all="ignore"):
        yield SpecialValues(NOT_FINITE, problem, _make_not_finite(problem, seed), problem.alpha or 1.0, problem.beta)
        if _keeps_subnormals(problem):
            yield SpecialValues(SUBNORMAL, problem, _make_subnormal(problem, seed))
        yield SpecialValues(OVERFLOW, problem, _make_large(problem, seed))


def _keeps_subnormals(problem: Problem) -> bool:
    """Return whether sums are rounded in the type of the factors, as on CUDA cores or on a CPU."""
    precision = problem.precision
    return precision.accumulator.type == precision.a and not precision.accumulator.truncates


def _draw(problem: Problem, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return op(A), op(B) and C in float64, with absolute values between 0.5 and 1.

    The rows of op(A) and C of all products are stacked. op(B) is 3-D.
    """
    rng = np.random.default_rng([seed, 2])
    rows = problem.rows
    sizes = (rows, problem.K), (len(problem.slices), problem.K, problem.N), (rows, problem.N)
    a, b, c = (rng.uniform(0.5, 1, size) * rng.choice([-1, 1], size) for size in sizes)
    return a, b, c


def _store(problem: Problem, a: np.ndarray, b: np.ndarray, c: np.ndarray, addend: float = 0.75) -> Operands:
    """Return the arrays in the problem's types and layout, with factors that its products do not round.

    Each addend of an epilogue is `addend` everywhere, and its scale is 1/2, or 1 where nothing is added. Other scales
    are 1.
    """
    stored = [_round(problem, "A", a.reshape(problem.count, problem.M, problem.K)), _round(problem, "B", b)]
    swapped = problem.trans_a, problem.trans_b
    first, second = (
        np.ascontiguousarray(one.swapaxes(1, 2) if swap else one) for one, swap in zip(stored, swapped, strict=True)
    )
    first, second, c = (each.reshape(-1, each.shape[-1]) for each in (first, second, c))
    operands = {"A": first, "B": second, "C": c.astype(problem.storage("C").numpy_type())}
    for operand in problem.inputs[len(operands) - 1 :]:
        operands[operand.name] = make_array(operand)
        if operand.role == "index":
            operands[operand.name][:] = make_index(problem)
        else:
            scale = 0.5 if addend and operand.name not in SCALED else 1
            operands[operand.name][:] = addend if operand.role == "addend" else scale
    return operands


def _round(problem: Problem, operand: str, values: np.ndarray) -> np.ndarray:
    stored = values.astype(problem.storage(operand).numpy_type())
    rounded = round_factor(stored, problem.precision)
    return np.where(np.isfinite(stored), rounded, stored)


def _make_not_finite(problem: Problem, seed: int) -> Operands:
    """Make operands with NaN and infinities at the start and end of K, next to which padding may lie in memory.

    Every second product has none, so that any that come from adjacent products are noticed.
    """
    a, b, c = _draw(problem, seed)
    N = problem.N
    for number, (first, M) in enumerate(_list_rows(problem)):
        if number % 2 == 0 and M:
            mine = a[first : first + M]
            mine[M // 4, 0], mine[M // 2, 0], mine[M - 1, -1] = np.nan, np.inf, -np.inf
            mine[2:3, 0] = 0.0  # multiplied by an infinity
    some = slice(None, None, 2)
    b[some, 0, N // 4], b[some, 0, N // 2], b[some, -1, N - 1] = np.nan, -np.inf, np.inf
    b[some, -1, 1] = 0.0
    return _store(problem, a, b, c)


def _list_rows(problem: Problem) -> list[tuple[int, int]]:
    """Return the first row of each product in the stacked C, and the number of its rows."""
    return [(each.rows[problem.result.name], each.M) for each in problem.slices]


def _make_subnormal(problem: Problem, seed: int) -> Operands:
    """Make operands with subnormal even rows of A and large even columns of B. Other rows and columns are small."""
    a, b, c = _draw(problem, seed)
    least = _find_limits(problem, "A").least_normal
    for first, M in _list_rows(problem):
        a[first : first + M : 2] *= least * 2.0**-4
        a[first + 1 : first + M : 2] *= least * 2.0**20
    b[..., ::2] *= 2.0**40
    b[..., 1::2] *= 2.0**-24
    return _store(problem, a, b, c, addend=0)


def _make_large(problem: Problem, seed: int) -> Operands:
    """Make factors close to the largest number whose sums just fit, except in one row and column.

    If C has a larger range than A and B, all sums fit.
    """
    a, b, c = _draw(problem, seed)
    in_a, in_b, in_c = (int(np.frexp(_find_limits(problem, name).largest)[1]) - 1 for name in "ABC")
    product = in_c - int(np.ceil(np.log2(problem.K))) - 1
    a[..., ::2] *= 2.0**in_a
    b[:, ::2] *= 2.0 ** min(product - in_a, in_b)
    a[..., 1::2] *= 2.0 ** min(product - in_b, in_a)
    b[:, 1::2] *= 2.0**in_b
    for number, (first, M) in enumerate(_list_rows(problem)):
        if M:
            last = a[first + M - 1]
            b[number, :, -1] = np.copysign(2.0 ** (in_b // 2 + 1), last)
            last[:] = np.copysign(2.0 ** (in_a // 2 + 1), last)
    return _store(problem, a, b, c)
