"""Finds mistakes in leading dimensions, in the use of padding and in the roles of C and D, by further launches.

Padding holds NaN while a kernel is checked. A launch with numbers in it shows what the kernel made of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from gemmbench.bench.operands import guards
from gemmbench.bench.operands.operand_values import Operands
from gemmbench.planning.problems import Problem

_MOST_PRODUCTS = 1 << 28
"""The largest count M N K for which products with other leading dimensions are computed."""

LEADING, PADDING_READ, READS_D, READS_C = "leading dimension", "padding read", "D read for C", "C read at beta 0"
STORAGE_CAUSES = (LEADING, PADDING_READ, READS_D, READS_C)


class LaunchPadded(Protocol):
    """Returns the result of a launch on operands whose rows are followed by this padding, or by NaN."""

    def __call__(self, data: Operands, padding: Operands) -> np.ndarray: ...


class IsRight(Protocol):
    """Tells whether a result is exactly right."""

    def __call__(self, result: np.ndarray) -> bool: ...


@dataclass(frozen=True)
class StorageProbe:
    """A problem whose exact result was wrong. `fill` is the byte that filled the result before a launch."""

    problem: Problem
    operands: Operands
    alpha: float
    beta: float
    launch: LaunchPadded
    is_right: IsRight
    fill: int

    def find_mistake(self) -> tuple[str, str] | None:
        """Return the key and the description of the mistake, or None. Raises the errors of a launch."""
        return self._find_role_of_c() or self._find_leading() or self._find_read_padding()

    def _find_role_of_c(self) -> tuple[str, str] | None:
        """Test whether D is read for C, or C although beta is 0."""
        if not self.problem.separate_c:
            return None
        c = self.operands["C"]
        if not self.beta:
            if self.is_right(self.launch({**self.operands, "C": np.zeros_like(c)}, {})):
                return READS_C, "C is read although beta is 0: it may hold NaN, and 0 * NaN is NaN"
            return None
        if self.is_right(self.launch({**self.operands, "D": c}, {})):
            return READS_D, "D was read for C: beta multiplies C, and D is only written"
        return None

    @cached_property
    def _inputs(self) -> tuple[str, ...]:
        """The names of the operands among A, B and C that are read and written apart from the result."""
        return ("A", "B", *("C" for _ in range(self.problem.separate_c)))

    def _find_leading(self) -> tuple[str, str] | None:
        """Test whether an operand was read or written with another leading dimension."""
        problem = self.problem
        if problem.flops > 2 * _MOST_PRODUCTS or problem.epilogue or problem.groups:
            return None
        rng = np.random.default_rng(5)
        padding = {
            operand.name: rng.choice([-2, -1, 1, 2], (operand.rows, operand.padding)).astype(
                operand.storage.numpy_type()
            )
            for operand in problem.operands
            if operand.padding and operand.role in ("factor", "initial")
        }
        got = self.launch(self.operands, padding)
        if np.isnan(got.astype(np.float64)).all() and self._is_kept(padding):
            return None
        memory = {name: self._lay_out(name, padding.get(name)) for name in (*self._inputs, problem.result.name)}
        for leading in self._list_leading():
            with np.errstate(all="ignore"):
                predicted = self._predict(memory, leading)
            if np.array_equal(predicted, got.astype(np.float64), equal_nan=True):
                return LEADING, self._describe(leading)
        return None

    def _is_kept(self, padding: Operands) -> bool:
        """Whether a launch leaves a D as it was, so that its NaN is not computed."""
        if not self.problem.separate_c:
            return False
        before = np.ones_like(self.operands["C"])
        return np.array_equal(self.launch({**self.operands, "D": before}, padding), before)

    def _lay_out(self, name: str, padding: np.ndarray | None) -> np.ndarray:
        """Return the elements of an operand as they are stored, one row after another."""
        operand = self.problem.operand(name)
        wide = np.empty((operand.rows, self.problem.leading(name)), operand.storage.numpy_type())
        wide.view(np.uint8)[:] = guards.NAN
        columns = operand.shape[-1]
        if operand.role == "result":
            wide.view(np.uint8)[:] = guards.PATTERN
            wide[:, :columns].view(np.uint8)[:] = self.fill
        if operand.role != "result" or (name == "C" and self.beta):
            wide[:, :columns] = self.operands[name]
        if padding is not None:
            wide[:, columns:] = padding
        return wide.astype(np.float64).reshape(-1)

    def _list_leading(self) -> Iterator[Mapping[str, tuple[str, int]]]:
        """Yield leading dimensions that differ from the right ones, by operand, each with its name."""
        problem, names = self.problem, (*self._inputs, self.problem.result.name)
        packed = {
            "A": "M" if problem.trans_a else "K", "B": "K" if problem.trans_b else "N", "C": "N", "D": "N"
        }  # fmt: skip
        sizes = {size: getattr(problem, size) for size in "MNK"}
        choices = [[None, (packed[name], sizes[packed[name]])] for name in names]
        for chosen in itertools.product(*choices):
            found = {name: each for name, each in zip(names, chosen, strict=True) if each}
            found = {name: each for name, each in found.items() if each[1] != problem.leading(name)}
            if found:
                yield found
        known = {**sizes, **{f"ld{name.lower()}": problem.leading(name) for name in names}}
        for name, (size, value) in itertools.product(names, known.items()):
            if value != problem.leading(name):
                yield {name: (size, value)}

    def _predict(self, memory: Mapping[str, np.ndarray], leading: Mapping[str, tuple[str, int]]) -> np.ndarray:
        """Compute the result if operands had these leading dimensions, with what is stored between their rows."""
        problem, result = self.problem, self.problem.result.name
        size = {name: leading[name][1] if name in leading else problem.leading(name) for name in memory}

        def find_places(name: str) -> np.ndarray:
            rows, columns = problem.stored_shape(name)
            first = np.array([each.rows[name] for each in problem.slices])[:, None, None] * problem.leading(name)
            return np.asarray(first + np.arange(rows)[:, None] * size[name] + np.arange(columns))

        def take(name: str) -> np.ndarray:
            places = find_places(name)
            inside = places < memory[name].size
            return np.where(inside, memory[name][np.where(inside, places, 0)], np.nan)

        a, b = take("A"), take("B")
        values = self.alpha * np.matmul(
            a.swapaxes(1, 2) if problem.trans_a else a, b.swapaxes(1, 2) if problem.trans_b else b
        )
        if self.beta:
            values = values + self.beta * take("C")
        written, places = memory[result].copy(), find_places(result)
        inside = places < written.size
        written[places[inside]] = values.astype(problem.result.storage.numpy_type()).astype(np.float64)[inside]
        return np.asarray(written.reshape(-1, problem.leading(result))[:, : problem.N])

    def _describe(self, leading: Mapping[str, tuple[str, int]]) -> str:
        result = self.problem.result.name
        parts = [
            f"row 1 of {name} was {'written' if name == result else 'read'} at {size} instead of ld{name.lower()}"
            for name, (size, _) in leading.items()
        ]
        return " and ".join(parts)

    def _find_read_padding(self) -> tuple[str, str] | None:
        """Test whether the result is right if the padding of an operand, or that of all of them, is 0."""
        padded = [operand for operand in self.problem.inputs if operand.padding]
        zeros = {
            operand.name: np.zeros((operand.rows, operand.padding), operand.storage.numpy_type()) for operand in padded
        }
        if not zeros or not self.is_right(self.launch(self.operands, zeros)):
            return None
        alone = [name for name, each in zeros.items() if self.is_right(self.launch(self.operands, {name: each}))]
        which = " and ".join(alone[:1] or list(zeros))
        return PADDING_READ, f"the padding of {which} was read and used: it may hold NaN"
