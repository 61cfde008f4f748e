"""Explains a wrong batch: which products are wrong, and whether they were made from operands of other products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gemmbench.bench.operands.products import find_products, view_factor, view_products
from gemmbench.bench.verify.diagnosis import PRODUCT_NEVER_WRITTEN, Diagnosis, describe, explain_product
from gemmbench.bench.verify.wrong_result import WrongResult, WrongSample

_ELEMENTS, _LEAST_ELEMENTS = 16, 4
"""The number of a product's wrong elements that a hypothesis must explain, and the smallest number that is enough."""
_EXAMPLES = 8
"""The number of wrong products that a sentence about all of them must fit."""
_MOST_TERMS = 1 << 23
_NEAR = 8
_ADVICE = "look at the grid, and at how C advances from one product to the next"


def explain_batch(wrong: WrongResult) -> tuple[str, Diagnosis]:
    """Describe a wrong result of several products, and return its most likely cause."""
    batch = _Batch(wrong)
    found = batch.find_stride() or batch.find_unwritten() or batch.find_other_product()
    if found is None:
        diagnosis = explain_product(batch.take(batch.products[0]))[1]
        return describe_in_batch(wrong, batch.products[0], diagnosis), diagnosis
    number, cause, words = found
    is_known = cause != PRODUCT_NEVER_WRITTEN
    diagnosis = Diagnosis(cause, words, is_index_mistake=is_known, is_recomputed=is_known)
    return describe_in_batch(wrong, number, diagnosis), diagnosis


def describe_in_batch(wrong: WrongResult, number: int, diagnosis: Diagnosis) -> str:
    """Write a sentence about a wrong result of several products whose product `number` shows this cause."""
    batch, name = Products(wrong), wrong.problem.product_name
    count = f"{len(batch.products)} of {len(wrong.problem.slices)} {name}s wrong"
    return f"{count}; {name} {number}: {describe(batch.take(number), diagnosis)}"


_Cause = tuple[int, str, str]
"""A product that shows a cause, the key of the cause, and its description."""


@dataclass(frozen=True)
class _Origin:
    """A product that was computed with `parts` ("B", "A and B" or "C") of product `other`."""

    number: int
    parts: str
    other: int


class Products:
    """A wrong result of several products. Its rows are those of all products."""

    def __init__(self, wrong: WrongResult):
        self.wrong, self.problem = wrong, wrong.problem

    @cached_property
    def products(self) -> list[int]:
        """The numbers of the wrong products among those that were compared."""
        return [int(number) for number in np.unique(find_products(self.problem, self.wrong.suspects)[0])]

    def take(self, number: int) -> WrongResult:
        """Return the compared part of one product as a separate result."""
        wrong = self.wrong
        first = self.problem.slices[number].rows[self.problem.result.name]
        mine, suspected = (find_products(self.problem, rows)[0] == number for rows in (wrong.rows, wrong.suspects))
        operands = {name: view_products(self.problem, wrong.operands, name)[number] for name in "ABC"}
        return replace(
            wrong,
            problem=self.problem.take(number),
            operands=operands,
            rows=wrong.rows[mine] - first,
            got=wrong.got[mine],
            want=wrong.want[mine],
            mask=wrong.mask[mine],
            known=None if wrong.known is None else wrong.known[mine],
            stored=wrong.stored and (wrong.stored[0][mine], wrong.stored[1][mine]),
            suspects=wrong.suspects[suspected] - first,
        )


class _Batch(Products):
    """A wrong result of a batch."""

    def find_unwritten(self) -> _Cause | None:
        """Find products that hold what C held before the launch, if others do not."""
        unwritten = [number for number in self.products if _is_unwritten(self.take(number))]
        if not unwritten or len(unwritten) == self.problem.count:
            return None
        one, last = len(unwritten) == 1, unwritten[-1]
        if one:
            words = f"product {last} was never written"
        elif last - unwritten[0] == len(unwritten) - 1:
            words = f"products {unwritten[0]} to {last} were never written"
        else:
            words = f"{len(unwritten)} products were never written; the first of them is product {unwritten[0]}"
        return unwritten[0], PRODUCT_NEVER_WRITTEN, f"{words}: {_ADVICE}"

    def find_other_product(self) -> _Cause | None:
        """Find products that were made from operands of another product."""
        origins = [self._find_origin(number) for number in self.products[:_EXAMPLES]]
        first = next(filter(None, origins), None)
        if first is None:
            return None
        known = [each for each in origins if each is not None]
        alike = len(known) == len(origins) and all(each.parts == first.parts for each in known)
        shifts = {each.other - each.number for each in known}
        wrong_rows = self.take(first.number).suspects
        if alike and first.parts == "B" and shifts == {-1} and len(wrong_rows) < self.problem.M / 2:
            rows = "one row" if len(wrong_rows) == 1 else f"{len(wrong_rows)} rows"
            over = "the first row" if len(wrong_rows) == 1 else "the first rows"
            words = f"as if each product wrote {rows} too many, over {over} of the next one; look at the guard on M"
            return first.number, "row of other product", words
        if first.parts == "A and B" and first.other in self.products:
            return first.number, "other product", f"product {first.number} holds product {first.other}"
        cause, subject, origin = f"{first.parts} of other product", f"product {first.number}", f"product {first.other}"
        if alike and len(known) > 1:
            if shifts in ({-1}, {1}):
                subject, origin = "each product", f"the product {'before' if shifts == {-1} else 'after'} it"
            elif len({each.other for each in known}) == 1:
                subject = "each product"
        return first.number, cause, f"{subject} was computed with the {first.parts} of {origin}"

    def _find_origin(self, number: int) -> _Origin | None:
        sample = self._sample(number)
        if len(sample) < _LEAST_ELEMENTS:
            return None
        candidates = np.array(self._list_candidates(number, len(sample)))
        a, b = self._a[candidates][:, sample.i].astype(np.float64), self._b[candidates][:, :, sample.j]
        b = b.swapaxes(1, 2).astype(np.float64)
        own_a, own_b = self._a[number, sample.i].astype(np.float64), self._b[number, :, sample.j].astype(np.float64)
        for parts, sums in (
            ("B", (own_a * b).sum(axis=2)),
            ("A", (a * own_b).sum(axis=2)),
            ("A and B", (a * b).sum(axis=2)),
        ):
            right = sample.matches(sample.apply_scalars(sums.T)).all(axis=0)
            if right.any():
                return _Origin(number, parts, int(candidates[right][0]))
        if self.wrong.beta:
            right = np.zeros((len(sample), len(candidates)), bool)
            for c in self._list_states_of_c():
                found = c[candidates][:, sample.i, sample.j].astype(np.float64)
                values = self.wrong.alpha * sample.terms.sum(axis=1) + self.wrong.beta * found
                right |= sample.matches(values.T)
            right = right.all(axis=0)
            if right.any():
                return _Origin(number, "C", int(candidates[right][0]))
        return None

    def _list_states_of_c(self) -> list[np.ndarray]:
        """Return C from before the launch and, if known completely, from after it. Either may have been read."""
        wrong, problem = self.wrong, self.problem
        before = view_products(problem, wrong.operands, "C").all
        is_whole = len(wrong.rows) == problem.rows
        return [before, wrong.want.reshape(before.shape)] if is_whole else [before]

    def _list_candidates(self, number: int, elements: int) -> Sequence[int]:
        """Return other products: all of them unless there are very many."""
        count = self.problem.count
        if count * elements * self.problem.K <= _MOST_TERMS:
            return [each for each in range(count) if each != number]
        near = range(number - _NEAR, number + _NEAR + 1)
        powers = [2**power for power in range(1, count.bit_length())]
        listed = {0, count - 1, count - 1 - number, *near, *(number % each for each in powers)}
        listed |= {number // each for each in powers}
        return [each for each in sorted(listed) if 0 <= each < count and each != number]

    def find_stride(self) -> _Cause | None:
        """Find a different distance between an operand's products that explains the result."""
        if self.problem.ld:
            return None  # what was read in between is not known
        strides = {name: self.problem.stride(name) for name in "ABC"}
        later = [number for number in self.products if number][:_EXAMPLES]
        for name, usual in [(name, strides[name]) for name in "AB"]:
            for stride in sorted({*strides.values(), *(2 * each for each in strides.values())} - {usual}):
                fitting = [number for number in later if (number * stride + usual) <= self.problem.count * usual]
                if fitting and all(self._is_strided(number, name, stride) for number in fitting):
                    words = f"as if the products of {name} were {stride} elements apart instead of {usual}"
                    return fitting[0], f"stride of {name}", words
        return None

    def _is_strided(self, number: int, name: str, stride: int) -> bool:
        sample, problem = self._sample(number), self.problem
        if len(sample) < _LEAST_ELEMENTS:
            return False
        start, (rows, columns) = number * stride, problem.stored_shape(name)
        stored = self.wrong.operands[name].reshape(-1)[start : start + rows * columns].reshape(rows, columns)
        moved = replace(sample.wrong, operands={**sample.wrong.operands, name: stored})
        return bool(sample.matches(sample.apply_scalars(replace(sample, wrong=moved).terms.sum(axis=1))).all())

    def _sample(self, number: int) -> WrongSample:
        """Return a few wrong elements of one product."""
        sample = self.take(number).sample
        few = np.unique(np.linspace(0, len(sample) - 1, _ELEMENTS).astype(int)) if len(sample) else np.zeros(0, int)
        return replace(sample, i=sample.i[few], j=sample.j[few], got=sample.got[few])

    @cached_property
    def _a(self) -> np.ndarray:
        return view_factor(self.problem, self.wrong.operands, "A").all

    @cached_property
    def _b(self) -> np.ndarray:
        return view_factor(self.problem, self.wrong.operands, "B").all


def _is_unwritten(wrong: WrongResult) -> bool:
    """Return whether the compared part of a product is NaN or the old C."""
    if wrong.unwritten.all():
        return True
    before = wrong.operands["C"][wrong.rows].astype(np.float64)
    return bool(wrong.beta) and np.array_equal(wrong.got, before)
