"""The products of a problem in its host arrays, in which the rows of all products are stacked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from gemmbench.bench.operands.operand_values import Operands
from gemmbench.planning.problems import Problem, Slice


@lru_cache(maxsize=8)
def _list_first_rows(problem: Problem) -> np.ndarray:
    return np.array([each.rows[problem.result.name] for each in problem.slices])


def find_products(problem: Problem, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the product that each row of the stacked C belongs to, and its row in that product."""
    first = _list_first_rows(problem)
    product = np.searchsorted(first, rows, side="right") - 1
    return product, rows - first[product]


def split_products(problem: Problem, elements: int) -> Iterator[slice]:
    """Yield ranges of adjacent products with equal shapes whose largest operand has about this many elements."""
    slices, first = problem.slices, 0
    while first < len(slices):
        one = slices[first]
        most = first + max(1, elements // max(one.M * one.K, one.K * one.N, one.M * one.N))
        end = first + 1
        while end < min(most, len(slices)) and slices[end].M == one.M:
            end += 1
        yield slice(first, end)
        first = end


class StackedProducts:
    """An operand of every product: views of a host array, 2-D for one product and 3-D for several.

    With `is_factor`, they are op(A) or op(B) instead of the stored A or B.
    """

    def __init__(self, problem: Problem, operands: Operands, name: str, is_factor: bool = False):
        self._problem, self._stored, self._name = problem, operands[name], name
        self._swaps = is_factor and (problem.trans_a if name == "A" else problem.trans_b)

    def __getitem__(self, number: int) -> np.ndarray:
        """Return the operand of one product."""
        found: np.ndarray = self.take(slice(number, number + 1))[0]
        return found

    def take(self, part: slice) -> np.ndarray:
        """Return the operand of a range of products with equal shapes."""
        one = self._problem.slices[part.start]
        rows, columns = self._count_rows(one), self._stored.shape[-1]
        first, count = one.rows[self._name], part.stop - part.start
        found = self._stored[first : first + count * rows].reshape(count, rows, columns)
        return found.swapaxes(1, 2) if self._swaps else found

    @property
    def all(self) -> np.ndarray:
        """The operand of all products, which have equal shapes."""
        return self.take(slice(0, len(self._problem.slices)))

    def take_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of op(A) by their place in the stacked C."""
        product, row = find_products(self._problem, rows)
        found: np.ndarray = self.all[product, row] if self._swaps else self._stored[rows]
        return found

    def _count_rows(self, one: Slice) -> int:
        """Return how many stored rows an operand of one product has."""
        transposed = {"A": self._problem.trans_a, "B": self._problem.trans_b}.get(self._name, False)
        rows = {"A": (one.M, one.K), "B": (one.K, one.N)}.get(self._name, (one.M, 0))
        return rows[transposed]


def view_products(problem: Problem, operands: Operands, name: str) -> StackedProducts:
    """Return an operand of every product as stored."""
    return StackedProducts(problem, operands, name)


def view_scaled_factor(problem: Problem, operands: Operands, name: str) -> StackedProducts:
    """Return op(A) or op(B) of every product; in a precision with scales, times these, in float64."""
    if problem.precision.scales is None:
        return view_factor(problem, operands, name)
    factor = operands[name].astype(np.float64)
    lines = factor.T if (problem.trans_a if name == "A" else not problem.trans_b) else factor  # rows x K or columns x K
    scales = find_scales(problem, operands, name)
    depth = problem.precision.scales.depth or problem.K
    for step, scale in enumerate(scales):
        lines[:, step * depth : (step + 1) * depth] *= scale[:, None]
    return view_factor(problem, {name: factor}, name)


def find_scales(problem: Problem, operands: Operands, name: str) -> np.ndarray:
    """Return the scale of every row of op(A) or column of op(B), one row for each step along K, in float64."""
    scales, stored = problem.precision.scales, operands[f"scale_{name.lower()}"].astype(np.float64)
    assert scales is not None
    count, size = (scales.rows, problem.M) if name == "A" else (scales.columns, problem.N)
    by_step = stored.T if name == "B" and scales.columns > 1 else stored
    return np.asarray(by_step[:, np.arange(size) // (count or size)])


def view_factor(problem: Problem, operands: Operands, name: str) -> StackedProducts:
    """Return op(A) or op(B) of every product."""
    return StackedProducts(problem, operands, name, is_factor=True)
