"""What the rows of a batch compute: operands, their values, and correct results, before timing and in an audit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

import numpy as np

from gemmbench.backends.base import Executable
from gemmbench.bench.operands.alterations import Altered
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.layouts import GemmLayout, SetLayout
from gemmbench.bench.operands.operand_values import (
    Operands,
    has_transparent_operands,
    make_inputs,
    make_large_operands,
    make_scaled_operands,
    make_transparent_operands,
)
from gemmbench.bench.operands.scratch import count_cold_sets
from gemmbench.bench.verify import epilogue_reference
from gemmbench.bench.verify.reference import EXACT, Check, Reference, make_reference
from gemmbench.bench.verify.relaunch import Relauncher, explain_by_relaunch
from gemmbench.bench.verify.single_products import make_single_products
from gemmbench.bench.verify.special_values import SpecialValues, has_special_values, make_special_values
from gemmbench.planning.manifests.variant import Exactness
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.run_request import Fill

CHANGES = (2.0, -1.0)
"""The factors by which the audit multiplies the inputs. If their product were 1, old results would be right."""
CHANGE = CHANGES[0] * CHANGES[1]
SCALE_CHANGES = {"scale_a": 4.0, "scale_b": 0.25}
"""The factors of scales, which leave the product as it is, but not if one of them is old."""


def choose_audit_fill(timed: Fill) -> Fill:
    """Return the data for the audit. These are the timed data unless all their results are alike."""
    return "uniform" if timed in ("zeros", "ones") else timed


class AuditCase(Protocol):
    """The inputs of set 0 before the audit changes them, and how to judge the results after that.

    If `is_linear` is True, the result of a set is that of set 0 times the set's factor. Otherwise only sets with the
    same factor have the same result. `rows` are the rows that are compared with the reference.
    """

    @property
    def inputs(self) -> Operands:
        """The unchanged inputs of set 0."""

    @property
    def is_linear(self) -> bool:
        """Whether results are multiples of each other."""

    @property
    def rows(self) -> np.ndarray:
        """The rows of the result to compare."""

    @property
    def changes(self) -> tuple[float, ...]:
        """What the audit multiplies each input by."""

    def declare(self, exactness: Exactness) -> AuditCase:
        """Return the case for a row whose manifest declares this."""

    def judge(self, result: np.ndarray, factor: float, rows: np.ndarray) -> Check:
        """Check these rows of the result of a set with this factor. `result` holds only these rows."""

    def judge_altered(self, result: np.ndarray, factor: float, places: np.ndarray, altered: Altered) -> Check:
        """Check `rows[places]` of a result from before the change, if the set was altered."""

    def find_multiple(self, result: np.ndarray, share: float = 1.0) -> float | None:
        """Return the multiple of set 0's old result that at least this fraction of the compared rows holds, if any."""


@dataclass(frozen=True)
class Turn:
    """One launch on each of several operand sets, and the first wrong result.

    `index` is the set whose array holds the wrong result. `check` is the failed check, or None if all results are
    right. If one is wrong, `samples` holds the compared rows of the first few arrays, and `factors` holds the factors
    of the expected results. `unchanged` tells whether the first array still holds what it held before the turn. If
    `differs` is True, the results are within the bounds of rounding but not equal.
    """

    check: Check | None = None
    index: int = 0
    samples: Sequence[np.ndarray] = ()
    unchanged: bool = False
    differs: bool = False
    factors: Sequence[float] = ()


Judge = Callable[[np.ndarray, Exactness], Check]
"""Takes a result and what the manifest declares of it. Returns a check."""
Explain = Callable[[Check, np.ndarray, Relauncher, bool], Check]
"""Takes a failed check, a result, a relauncher, and whether an earlier check passed.

Returns a check with a better explanation.
"""


@dataclass(frozen=True)
class VerificationCase:
    """Operands for verifying a row, and functions that judge its result.

    `exact` cases have a single correct result, bit for bit, and are launched in every verifying mode of the back end.
    `scalars` holds alpha and beta if they differ from those of the problem.
    """

    inputs: Operands
    exact: bool
    judge: Judge
    scalars: tuple[float, float] | None = None
    explain: Explain | None = None


@dataclass(frozen=True)
class Workload:
    """What an experiment needs to know about a GEMM or a network.

    A launch uses `touched` bytes of an operand set. `make_cases` takes a seed. `find_case` takes the kind of data and a
    seed, for timing or an audit. `measure_accuracy` runs after timing, on the first operand set.
    """

    layout: SetLayout
    touched: int
    make_cases: Callable[[int], Iterable[VerificationCase]]
    find_case: Callable[[Fill, int], AuditCase]
    measure_accuracy: Callable[[Arena, Executable], float] | None = None

    def count_cold_sets(self, last_level_cache: int, room: int) -> tuple[int, bool]:
        """Return how many operand sets are needed to keep every launch cold, and whether they do."""
        kept = self.layout.guarded.outputs[-1].nbytes  # a copy of one result
        return count_cold_sets(self.touched, self.layout.guarded.total, last_level_cache, room - kept)


_MULTIPLES = [sign * 2.0**power for power in range(-1, 5) for sign in (1, -1)]


@dataclass(frozen=True)
class GemmCase:
    """An AuditCase. `reference` is the reference of set 0 before the change."""

    inputs: Operands
    reference: Reference
    declared: Exactness = EXACT

    @property
    def is_linear(self) -> bool:
        """See AuditCase."""
        problem = self.reference.problem
        return problem.precision.keeps_multiples and not problem.epilogue

    @property
    def rows(self) -> np.ndarray:
        """See AuditCase."""
        return self.reference.rows

    @property
    def changes(self) -> tuple[float, ...]:
        """See AuditCase."""
        added = self.reference.problem.inputs[len(CHANGES) :]
        changes = {**epilogue_reference.CHANGES, "initial": CHANGE, "index": 1.0}
        return (*CHANGES, *(SCALE_CHANGES.get(operand.name, changes[operand.role]) for operand in added))

    def declare(self, exactness: Exactness) -> GemmCase:
        """See AuditCase."""
        return replace(self, declared=exactness)

    def judge(self, result: np.ndarray, factor: float, rows: np.ndarray) -> Check:
        """See AuditCase."""
        compared = self.reference if rows is self.rows else replace(self.reference, chosen=rows)
        return compared.check_rows(result, CHANGE * factor, self.declared, changed=True)

    def judge_altered(self, result: np.ndarray, factor: float, places: np.ndarray, altered: Altered) -> Check:
        """See AuditCase."""
        return self.reference.alter(places, altered).check_rows(result, factor, self.declared)

    def find_multiple(self, result: np.ndarray, share: float = 1.0) -> float | None:
        """See AuditCase."""
        count, least = self.reference.count_right_rows, share * len(self.rows)
        return next((multiple for multiple in _MULTIPLES if count(result, multiple, self.declared) >= least), None)


EXACT_SCALARS = ((2.0, 0.0), (-1.0, 3.0))
"""The alpha and beta used on integers."""
_UNSCALED = (1.0, 0.0)


def gemm_workload(problem: Problem, thorough: bool = False, unscaled: bool = False) -> Workload:
    """Return the workload of a GEMM.

    It is verified on integers with EXACT_SCALARS, on single products, with scales if it has some, and on real data.

    If `unscaled`, it is also verified on integers with alpha 1 and beta 0, for kernels that do not support others. If
    `thorough`, it is also verified with special values, unless the problem is too small or too large for them.
    """

    @cache
    def find_reference(fill: Fill, seed: int) -> Reference:
        return make_reference(problem, fill, seed, problem.alpha, problem.beta)

    @cache
    def find_inputs(fill: Fill, seed: int) -> Operands:
        return make_inputs(find_reference(fill, seed).operands, problem.beta, problem.separate_c)

    def make_cases(seed: int) -> Iterator[VerificationCase]:
        scalars = EXACT_SCALARS if problem.beta else EXACT_SCALARS[:1]
        if has_transparent_operands(problem):
            yield _make_exact_case(_make_transparent_reference(problem, seed + 1))
        for alpha, beta in (*scalars, *([_UNSCALED] if unscaled else [])):
            yield _make_exact_case(make_reference(problem, "ints", seed + 1, alpha, beta))
        if problem.precision.is_exact:
            large = make_large_operands(problem, seed + 1)
            yield _make_exact_case(Reference(problem, large, problem.alpha, problem.beta))
        products = make_single_products(problem, seed + 3)
        yield _make_case(products.reference, products.judge)
        if problem.precision.scales:
            operands = make_scaled_operands(problem, seed + 4)
            scaled = Reference(problem, operands, problem.alpha, problem.beta, exact_sums=True)
            yield _make_case(scaled, scaled.check_scales)
        real = find_reference("uniform", seed)
        yield _make_case(real, real.check_rounding, exact=problem.precision.is_exact)
        if thorough and has_special_values(problem):
            yield from map(_make_special_case, make_special_values(problem, seed))

    @cache
    def find_case(fill: Fill, seed: int) -> GemmCase:
        if problem.precision.is_exact and fill == "ints":
            fill = "uniform"  # integers too, with room for the multiples of other sets
        return GemmCase(find_inputs(fill, seed), find_reference(fill, seed))

    touched = sum(operand.used_bytes for operand in problem.operands)
    return Workload(GemmLayout(problem), touched, make_cases, find_case)


def _make_transparent_reference(problem: Problem, seed: int) -> Reference:
    alpha, beta = problem.alpha, problem.beta
    if (alpha, beta) != _UNSCALED:
        alpha, beta = 2.0, 3.0 if beta else 0.0
    return Reference(problem, make_transparent_operands(problem, seed), alpha, beta, transparent=True)


def _make_special_case(values: SpecialValues) -> VerificationCase:
    inputs = make_inputs(values.operands, values.beta, values.problem.separate_c)
    return VerificationCase(inputs, False, values.judge, (values.alpha, values.beta))


def _make_exact_case(reference: Reference) -> VerificationCase:
    return _make_case(reference, reference.check_exact, exact=True)


def _make_case(reference: Reference, judge: Judge, exact: bool = False) -> VerificationCase:
    def explain(check: Check, result: np.ndarray, relauncher: Relauncher, passed: bool) -> Check:
        read = replace(reference, operands=inputs) if reference.problem.separate_c else reference
        return explain_by_relaunch(check, result, read, relauncher, passed)

    inputs = make_inputs(reference.operands, reference.beta, reference.problem.separate_c)
    scalars = reference.alpha, reference.beta
    return VerificationCase(inputs, exact, judge, scalars, explain)
