"""The arrays in an operand set of a GEMM or a network, and which of them each step uses.

GEMM      | NaN | A | NaN | B | NaN | pattern | C | pattern |     and | NaN | C | before a result D
network   | NaN | X | NaN | parameters | NaN | pattern | h1 | pattern | h2 | pattern | Y | pattern |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from gemmbench.backends.base import ALIGN, OperandSet
from gemmbench.bench.operands import guards
from gemmbench.bench.operands.guards import GuardedLayout
from gemmbench.bench.operands.operand_values import make_array
from gemmbench.bench.operands.products import find_products
from gemmbench.planning.networks import Network
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems import Operand, Problem

_NETWORK_GUARD = 16 << 10


class SetLayout(Protocol):
    """The arrays of an operand set. The last output is the result.

    As a factor, the first input is `rows` x `inner`. The second input begins with the other factor, which is `inner` x
    `columns`.
    """

    guarded: GuardedLayout
    rows: int
    inner: int
    columns: int

    def find_first(self, rows: np.ndarray, inner: np.ndarray) -> np.ndarray:
        """Return the positions of these elements in the first input, counted in elements."""

    def find_second(self, inner: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the positions of these elements in the second input, counted in elements."""

    def name_row(self, row: int) -> str:
        """Name a row of the result, such as `row 3 of product 2 of C`."""

    def empty_result(self) -> np.ndarray:
        """Return an empty host array for the result, with the rows of all products stacked."""

    def locate(self, steps: Sequence[Plan], starts: OperandSet) -> list[OperandSet]:
        """Return the operands of each step."""


def _guard_operands(operands: Sequence[Operand], guard: int) -> GuardedLayout:
    """Lay out operands with `guard` bytes between them: NaN beside what is read, a pattern beside results."""
    guarded = GuardedLayout()
    for operand in operands:
        if operand.role != "result":
            guarded.guard(guard, guards.NAN)
            guarded.add_input(operand.name, operand.storage, operand.nbytes, operand.rows, operand.padding)
    guarded.guard(guard, guards.NAN)
    for operand in operands:
        if operand.role == "result":
            guarded.guard(guard, guards.PATTERN)
            guarded.add_output(operand.name, operand.storage, operand.nbytes, operand.rows, operand.padding)
    guarded.guard(guard, guards.PATTERN)
    return guarded


class GemmLayout:
    """The operands of a problem. `rows` and `columns` count those of all products, one after another."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.rows, self.inner, self.columns = problem.rows, problem.K, len(problem.slices) * problem.N
        row_bytes = max(operand.row_bytes for operand in problem.operands)
        # A kernel without a bound check may go a tile too far, which is up to 128 rows within reason.
        guard = min(max(128 * row_bytes, 4096), 4 << 20)
        guard += -guard % ALIGN
        self.guarded = _guard_operands(problem.operands, guard)

    def find_first(self, rows: np.ndarray, inner: np.ndarray) -> np.ndarray:
        """See SetLayout."""
        product, row = find_products(self.problem, rows)
        return self._find_stored("A", product, *((inner, row) if self.problem.trans_a else (row, inner)))

    def find_second(self, inner: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """See SetLayout."""
        product, column = np.divmod(columns, self.problem.N)
        return self._find_stored("B", product, *((column, inner) if self.problem.trans_b else (inner, column)))

    def _find_stored(self, name: str, product: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Return the positions of elements of stored products."""
        first = np.array([each.rows[name] for each in self.problem.slices])
        return np.asarray((first[product] + row) * self.problem.leading(name) + column)

    def name_row(self, row: int) -> str:
        """See SetLayout."""
        name = self.problem.result.name
        return f"{self.problem.locate_row(name, row)} of {name}"

    def empty_result(self) -> np.ndarray:
        """See SetLayout."""
        return make_array(self.problem.result)

    def locate(self, steps: Sequence[Plan], starts: OperandSet) -> list[OperandSet]:
        """See SetLayout."""
        moves = {step.group: self.problem.list_moves(self.problem.slices[step.group]) for step in steps
                 if step.group is not None}  # fmt: skip
        return [
            starts if step.group is None else {name: at + moves[step.group].get(name, 0) for name, at in starts.items()}
            for step in steps
        ]


class NetworkLayout:
    """The operands of a network."""

    def __init__(self, network: Network):
        self.network = network
        self.rows, self.inner, self.columns = network.batch, *network.sizes[:2]
        self._outputs = [operand.name for operand in network.operands if operand.role == "result"]
        self.guarded = _guard_operands(network.operands, _NETWORK_GUARD)

    def find_first(self, rows: np.ndarray, inner: np.ndarray) -> np.ndarray:
        """See SetLayout."""
        return np.asarray(rows * self.inner + inner)

    def find_second(self, inner: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """See SetLayout."""
        return np.asarray(self.network.weights_at[0] + inner * self.columns + columns)

    def name_row(self, row: int) -> str:
        """See SetLayout."""
        return f"row {row} of {self._outputs[-1]}"

    def empty_result(self) -> np.ndarray:
        """See SetLayout."""
        return np.empty((self.network.batch, self.network.sizes[-1]), self.network.storage.numpy_type())

    def locate(self, steps: Sequence[Plan], starts: OperandSet) -> list[OperandSet]:
        """See SetLayout."""
        located, layer = [], -1
        for step in steps:
            layer += not step.is_pass  # it belongs to the GEMM before it
            located.append(self._whole(starts) if step.network else self._layer(layer, starts))
        return located

    def _whole(self, starts: OperandSet) -> OperandSet:
        return {"A": starts["X"], "B": starts["parameters"], "C": starts["Y"]}

    def _layer(self, layer: int, starts: OperandSet) -> OperandSet:
        network, parameters = self.network, starts["parameters"]
        return {
            "A": starts[self._outputs[layer - 1]] if layer else starts["X"],
            "B": parameters + network.storage.nbytes(network.weights_at[layer]),
            "C": starts[self._outputs[layer]],
            "bias": parameters + network.storage.nbytes(network.biases_at[layer]),
        }
