"""Operand sets on a device: allocated, written, made ready for a launch, read and compared.

One allocation holds every operand set, each array between guard zones (`guards`). On a back end
without guards each array is an allocation of its own, of its exact size: compute-sanitizer watches
the bounds of allocations, which guard zones would hide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from gemmbench.backends.base import Backend, Rotation, Step
from gemmbench.bench.operands import guards
from gemmbench.bench.operands.layouts import SetLayout
from gemmbench.bench.operands.scratch import Scratch
from gemmbench.planning.plans.plan import Plan

T = TypeVar("T")


@dataclass(frozen=True)
class Inputs:
    """What a launch reads: the input arrays in the order of the layout, and the initial result.

    `initial` is None if the result must not be read; it then holds NaN.
    """

    arrays: tuple[np.ndarray, ...]
    initial: np.ndarray | None = None


def have_same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    """Two arrays of one shape and type are equal bit by bit, NaN and the sign of 0 included."""
    bits = f"u{one.itemsize}"
    return np.array_equal(one.view(bits), other.view(bits))


def ignore_sets(done: int, of: int) -> None:
    """Report no progress."""


class Arena:
    """`count` operand sets on a device; `progress` takes how many are made, of how many.

    `rotation` is that of everything bound to all sets. Raises OutOfMemory.
    """

    def __init__(
        self,
        backend: Backend,
        layout: SetLayout,
        count: int,
        progress: Callable[[int, int], None] = ignore_sets,
    ):
        self._progress, self.rotation = progress, Rotation(count)
        self.layout, self._guarded, self._guards = layout, layout.guarded, backend.guards
        regions = self._guarded.regions
        if backend.guards:
            self.memory = backend.allocate(count * self._guarded.total)
            bases = [index * self._guarded.total for index in range(count)]
            self.starts = [{region.name: base + region.offset for region in regions} for base in bases]
            for base in self._report(bases):
                self._guarded.fill(self.memory, base)
        else:
            self.memory = backend.allocate(*(region.nbytes for region in regions * count))
            starts = iter(self.memory.starts)
            self.starts = [{region.name: next(starts) for region in regions} for _ in range(count)]

    def make_steps(self, plans: Sequence[Plan], loaded: Sequence[Any], sets: int, scratch: Scratch) -> list[Step]:
        """The steps of a chain on the first `sets` sets, with their workspaces in `scratch`."""
        located = [self.layout.locate(plans, starts) for starts in self.starts[:sets]]
        each = zip(loaded, plans, zip(*located, strict=True), scratch.places, strict=True)
        return [Step(code, plan, operands, workspace) for code, plan, operands, workspace in each]

    def write(self, inputs: Inputs, sets: int) -> None:
        """Write the inputs into the first `sets` sets.

        If that is one of several, also into the last, with which `find_changed_input` compares.
        """
        pairs = list(zip(self._guarded.inputs, inputs.arrays, strict=True))
        first = self.starts[0]
        for region, array in pairs:
            self.memory.write(first[region.name], array)
        for other in self._report(self.starts[1:sets]) if sets > 1 else self.starts[1:][-1:]:
            for region, array in pairs:
                self.memory.copy(first[region.name], other[region.name], array.nbytes)

    def _report(self, sets: Sequence[T]) -> Iterator[T]:
        for number, one in enumerate(sets):
            self._progress(number, len(sets))
            yield one

    def reset(self, inputs: Inputs, sets: int) -> None:
        """Fill the outputs of the first sets with NaN, or the result with its initial values."""
        first, result = self.starts[0][self._result.name], self._result
        if inputs.initial is not None:
            self.memory.write(first, inputs.initial)
        for starts in self.starts[:sets]:
            for region in self._guarded.outputs:
                start = starts[region.name]
                if region is not result or inputs.initial is None:
                    self.memory.fill(start, region.nbytes, guards.NAN)
                elif start != first:
                    self.memory.copy(first, start, region.nbytes)

    def read(self, index: int = 0, into: np.ndarray | None = None) -> np.ndarray:
        """Copy the result of one set to the host, into `into` if given, which saves allocating."""
        out = self.layout.empty_result() if into is None else into
        self.memory.read(self.starts[index][self._result.name], out)
        return out

    def equals_first(self, index: int) -> bool:
        """The result of a set equals that of the first, bit by bit."""
        name = self._result.name
        return self.memory.equal(self.starts[0][name], self.starts[index][name], self._result.nbytes)

    def find_breach(self, index: int = 0) -> str:
        """What was written outside the outputs of a set, in words, or ""; restores the bytes."""
        if not self._guards:
            return ""
        breach = self._guarded.find_breach(self.memory, index * self._guarded.total)
        return self._guarded.describe(breach) if breach else ""

    def find_changed_input(self, inputs: Inputs) -> str:
        """Which input of the first set differs from what was written, in words, or "".

        Only the first set may have been used.
        """
        first, last = self.starts[0], self.starts[-1]
        for region, array in zip(self._guarded.inputs, inputs.arrays, strict=True):
            start, copy = first[region.name], last[region.name]
            unchanged = self.memory.equal(start, copy, array.nbytes) if copy != start else self._holds(start, array)
            if not unchanged:
                return f"changed its input {region.name}"
        return ""

    @property
    def _result(self) -> guards.Region:
        return self._guarded.outputs[-1]

    def _holds(self, start: int, array: np.ndarray) -> bool:
        there = np.empty_like(array)
        self.memory.read(start, there)
        return have_same_bits(there, array)

    def free(self) -> None:
        """Free the memory."""
        self.memory.free()
