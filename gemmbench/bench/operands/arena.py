"""Operand sets on a device. Allocates, places, writes, prepares, seals, reads and compares them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from gemmbench.backends.base import Backend, Memory, OperandSet, Range, Rotation, ScaledArray, Step
from gemmbench.bench.operands import guards
from gemmbench.bench.operands.alterations import Alteration
from gemmbench.bench.operands.guards import GuardedLayout
from gemmbench.bench.operands.layouts import SetLayout
from gemmbench.bench.operands.operand_values import Operands
from gemmbench.bench.operands.placement import SetPlacement
from gemmbench.bench.operands.scratch import Scratch
from gemmbench.planning.plans.plan import Plan

_FACTORS = (1.0, -1.0, 2.0, -2.0)
_INITIAL = "C"
"""The name of the input that beta multiplies, if the result lies apart from it."""
WROTE_PADDING, WROTE_C = "wrote the padding", "C was written; the result belongs in D"


@cache
def list_set_factors(count: int) -> tuple[float, ...]:
    """Return the factors of `count` sets: 1, then a fixed sequence without a period.

    Adjacent factors differ, as do the first and the last, because a launch finds the result of an adjacent set in C.
    """
    chosen, rng = [1.0], random.Random(0)
    while len(chosen) < count:
        last = len(chosen) == count - 1
        unlike = (chosen[-1], chosen[0] if last else chosen[-1])
        chosen.append(rng.choice([factor for factor in _FACTORS if factor not in unlike]))
    return tuple(chosen)


@dataclass(frozen=True)
class Sealed:
    """A range of set `index` that must not change. `input` is the name of the input, or "" for a guard zone."""

    range: Range
    index: int
    input: str = ""


class Seal:
    """The state of all sets' inputs and guard zones, if any, at the last `take`."""

    def __init__(self, memory: Memory, guarded: GuardedLayout, starts: Sequence[OperandSet], guards: bool):
        self._memory = memory
        self._sealed = [each for index, at in enumerate(starts) for each in _list_sealed(guarded, index, at, guards)]
        self._sums: list[int] = []

    def take(self) -> None:
        """Remember the current bytes."""
        self._sums = self._add_up()

    def find_broken(self) -> Sealed | None:
        """Return the first range that has changed since `take`. Inputs come before guard zones."""
        pairs = zip(self._sealed, self._sums, self._add_up(), strict=True)
        broken = [sealed for sealed, before, now in pairs if before != now]
        return min(broken, key=lambda sealed: not sealed.input, default=None)

    def _add_up(self) -> list[int]:
        return self._memory.checksums([sealed.range for sealed in self._sealed])


def _list_sealed(guarded: GuardedLayout, index: int, starts: OperandSet, guards: bool) -> list[Sealed]:
    inputs = [(region.name, starts[region.name], region.nbytes) for region in guarded.inputs]
    sealed = [Sealed(Range(start, start + nbytes), index, name) for name, start, nbytes in inputs]
    if guards:
        base = starts[guarded.inputs[0].name] - guarded.inputs[0].offset
        sealed += [Sealed(Range(base + zone.offset, base + zone.end), index) for zone in guarded.zones]
    return sealed


def have_same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays of the same shape and type are equal bit for bit, including NaN and the sign of 0."""
    bits = f"u{one.itemsize}"
    return np.array_equal(one.view(bits), other.view(bits))


class Arena:
    """`count` operand sets on a device. If `shared`, all sets use the second input of the first one.

    If several sets are written, they differ. The first input and the initial result of set i are those of set 0 times
    `factors[i]`. Everything bound to all sets shares `rotation`. It passes over the sets twice. The first time, set i
    writes its own outputs, and the second time, those of set i + 1. A launch therefore never finds its own result in C,
    but a wrong multiple of it. Raises OutOfMemory.
    """

    def __init__(self, backend: Backend, layout: SetLayout, count: int, shared: bool = False):
        self.factors, self.shared = list_set_factors(count), shared and count > 1
        self._stops = [(index, (index + turn) % count) for turn in range(min(count, 2)) for index in range(count)]
        self.rotation = Rotation(len(self._stops))
        self._forget_alterations()
        self.layout, self._guarded, self._guards = layout, layout.guarded, backend.guards
        self._padding_byte = guards.PATTERN
        regions = self._guarded.regions
        self.placement = SetPlacement(count, self._guarded.total, self._guarded.alignment)
        if backend.guards:
            self.memory = backend.allocate(self.placement.total + self.result.nbytes)
            self._kept = self.placement.total
            self.place(0)
        else:
            self.memory = backend.allocate(*(region.nbytes for region in [*regions * count, self.result]))
            *each, self._kept = self.memory.starts
            starts = iter(each)
            self._set_starts([{region.name: next(starts) for region in regions} for _ in range(count)])

    @property
    def sets(self) -> int:
        """The number of operand sets."""
        return len(self.factors)

    def _set_starts(self, starts: Sequence[OperandSet]) -> None:
        shared = {
            region.name: starts[0][region.name]
            for region in self._guarded.inputs[1:]
            if self.shared and region.name != _INITIAL
        }
        self.starts = [{**each, **shared} for each in starts]
        self._seal, self._first_seal = (
            Seal(self.memory, self._guarded, starts, self._guards) for starts in (self.starts, self.starts[:1])
        )

    @property
    def result(self) -> guards.Region:
        """The array that holds the result of a set."""
        return self._guarded.outputs[-1]

    def place(self, shift: int) -> None:
        """Move all sets so that they begin `shift` bytes into the slack. The contents of their arrays are lost.

        The rotation starts again at the first set. It is written first, so it is no longer in the cache at the first
        launch. Without guard zones, all arrays stay where they are.
        """
        self.rotation.position = 0
        self._forget_alterations()
        if self._guards:
            self._bases = self.placement.find_bases(shift)
            regions = self._guarded.regions
            self._set_starts([{region.name: base + region.offset for region in regions} for base in self._bases])
            self._guarded.fill(self.memory, self._bases)

    def make_steps(self, plans: Sequence[Plan], loaded: Sequence[Any], scratch: Scratch, rotates: bool) -> list[Step]:
        """Return the steps of a chain at every stop of the rotation, or only on the first set.

        The workspaces of the steps are in `scratch`.
        """
        outputs = [region.name for region in self._guarded.outputs]
        stops = self._stops if rotates else self._stops[:1]
        starts = [{**self.starts[one], **{name: self.starts[other][name] for name in outputs}} for one, other in stops]
        located = [self.layout.locate(plans, each) for each in starts]
        each = zip(loaded, plans, zip(*located, strict=True), scratch.places, strict=True)
        return [Step(code, plan, operands, workspace) for code, plan, operands, workspace in each]

    def list_next_sets(self, launches: int) -> np.ndarray:
        """Return the sets that the next launches will read, each once."""
        stops = self.rotation.list_next(min(launches, self.rotation.stops))
        return np.array(list(dict.fromkeys(self._stops[stop][0] for stop in stops)))

    def list_last_results(self, launches: int) -> list[tuple[int, int]]:
        """Return the results of the last launches that still exist.

        Each is a pair of the set that was read and the set whose array holds the result. The latest comes first.
        """
        latest: dict[int, int] = {}
        for stop in reversed(self.rotation.list_last(min(launches, self.rotation.stops))):
            index, output = self._stops[stop]
            latest.setdefault(output, index)
        return [(index, output) for output, index in latest.items()]

    def list_result_factors(self) -> tuple[float, ...]:
        """Return the factor of the result in each set's array after at least one turn over all sets."""
        read = {output: index for index, output in self.list_last_results(self.rotation.stops)}
        return tuple(self.factors[read[output]] for output in range(self.sets))

    def _forget_alterations(self) -> None:
        """Forget all alterations, because the contents of the arrays are lost."""
        self.altered = Alteration.nothing()
        self._altered_at: list[tuple[np.ndarray, guards.Region]] = []
        self._touched = self._altered_at

    def alter(self, alteration: Alteration | None) -> None:
        """Undo the last alteration of the inputs and apply a new one. None restores the inputs as they were written."""
        self.altered = alteration or Alteration.nothing()
        self._touched = [*self._altered_at, *(altered_at := list(self._locate(self.altered)))]
        self._altered_at = altered_at
        self._negate(self._touched)

    def touch(self) -> None:
        """Write to all elements that the last `alter` changed, without changing their values."""
        self._negate(self._touched * 2)

    def _negate(self, places: Iterable[tuple[np.ndarray, guards.Region]]) -> None:
        """Change the sign of elements at offsets in their regions."""
        for offsets, region in places:
            self.memory.negate(offsets, region.kind)

    def _locate(self, alteration: Alteration) -> Iterator[tuple[np.ndarray, guards.Region]]:
        """Yield the offsets of altered elements in the first and second input."""
        if not alteration.sets.size:
            return
        first, second = self._guarded.inputs[:2]
        one = slice(1) if self.shared else slice(None)
        lines = self.layout.find_second(alteration.lines[one, :, None], np.arange(self.layout.columns))
        for region, sets, elements in (
            (first, alteration.sets, self.layout.find_first(alteration.rows, alteration.inner)),
            (second, alteration.sets[one], lines.reshape(len(lines), -1)),
        ):
            if elements.size:
                starts = np.array([self.starts[index][region.name] for index in sets])
                yield (starts[:, None] + elements * region.kind.nbytes(1)).reshape(-1), region

    def write(self, inputs: Operands, sets: int, padding: Operands | None = None) -> None:
        """Write the inputs to the first set, and their multiples to the other sets up to `sets`.

        If `sets` is 1 but there are more, the last set gets an exact copy for `find_changed_input` to compare with. NaN
        follows rows that have padding, or the `padding` of their operand.
        """
        first, last = self.starts[0], self.starts[-1]
        for number, region in enumerate(self._guarded.inputs):
            array = region.pad(inputs[region.name], (padding or {}).get(region.name))
            self.memory.write(first[region.name], array)
            if sets > 1:
                self._scale_from_first(region, sets, scaled=number == 0 or region.name == _INITIAL)
            elif last[region.name] != first[region.name]:
                self.memory.copy(first[region.name], last[region.name], array.nbytes)

    def _scale_from_first(self, region: guards.Region, sets: int, scaled: bool) -> None:
        """Write an array of the first set to the others, multiplied by their factors if `scaled`."""
        source = self.starts[0][region.name]
        pairs = zip(self.starts[1:sets], self.factors[1:sets], strict=True)
        arrays = [ScaledArray(source, starts[region.name], factor if scaled else 1.0) for starts, factor in pairs]
        self.memory.scale(arrays, region.kind, region.elements)

    def _scale_in_place(self, region: guards.Region, sets: int, factor: float) -> None:
        starts = dict.fromkeys(starts[region.name] for starts in self.starts[:sets])
        self.memory.scale([ScaledArray(start, start, factor) for start in starts], region.kind, region.elements)

    def scale_inputs(self, factors: Sequence[float]) -> None:
        """Multiply each input of every set by its factor."""
        for region, factor in zip(self._guarded.inputs, factors, strict=True):
            self._scale_in_place(region, len(self.starts), factor)

    def scale_outputs(self, sets: int, factor: float) -> None:
        """Multiply the contents of the first sets' outputs."""
        for region in self._guarded.outputs:
            self._scale_in_place(region, sets, factor)

    def fill_outputs(self, sets: Iterable[int], byte: int) -> None:
        """Set every byte of the outputs of these sets."""
        starts = [self.starts[index] for index in sets]
        for region in self._guarded.outputs:
            self.memory.fill_each([each[region.name] for each in starts], region.nbytes, byte)
        self._fill_padding(sets)

    def _fill_padding(self, sets: Iterable[int]) -> None:
        """Fill the padding of the results of these sets with what it must keep."""
        if region := self.result if self.result.padding else None:
            ends = [row * region.row_bytes - region.padding_bytes for row in range(1, region.rows + 1)]
            for index in sets:
                start = self.starts[index][region.name]
                self.memory.fill_each([start + end for end in ends], region.padding_bytes, self._padding_byte)

    def _find_written_padding(self, index: int) -> str:
        """Describe a write to the padding of a set's result, or return "". Restores the padding."""
        region = self.result
        if not region.padding:
            return ""
        wide = region.make_wide()
        self.memory.read(self.starts[index][region.name], wide)
        padding = wide[:, -region.padding :]
        if self._padding_byte:
            written = (np.ascontiguousarray(padding).view(np.uint8) != self._padding_byte).any(axis=1)
        else:
            written = ~(padding == 0).all(axis=1)  # scaling may have changed the sign
        if not written.any():
            return ""
        self._fill_padding([index])
        return f"{WROTE_PADDING} of {self.layout.name_row(int(written.argmax()))}"

    def reset(self, inputs: Operands, sets: int, byte: int = guards.NAN, factor: float = 1.0) -> None:
        """Fill the outputs of the first sets with a byte, and any initial result with `factor` times its values."""
        self.fill_outputs(range(sets), byte)
        if (initial := inputs.get(self.result.name)) is not None:
            self.memory.write(self.starts[0][self.result.name], self.result.pad(initial))
            self._fill_padding([0])
            self._scale_in_place(self.result, 1, factor)
            if sets > 1:
                self._scale_from_first(self.result, sets, scaled=True)

    def read(self, index: int = 0, into: np.ndarray | None = None) -> np.ndarray:
        """Copy the result of one set to the host. If `into` is given, it is used instead of a new array."""
        out = self.layout.empty_result() if into is None else into
        wide = self.result.make_wide() if self.result.padding else out
        self.memory.read(self.starts[index][self.result.name], wide)
        if wide is not out:
            out[:] = wide[:, : -self.result.padding]
        return out

    def read_rows(self, rows: np.ndarray, index: int) -> np.ndarray:
        """Copy these rows of one set's result to the host. Adjacent rows are copied together."""
        region, start = self.result, self.starts[index][self.result.name]
        whole = region.make_wide() if region.padding else self.layout.empty_result()
        for run in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1):
            part = whole[run[0] : run[-1] + 1]
            self.memory.read(start + int(run[0]) * whole.strides[0], part)
        return np.asarray(whole[rows, : -region.padding] if region.padding else whole[rows])

    def count_unlike(self, pairs: Sequence[tuple[int, int, float]]) -> list[int]:
        """For each (set, other, factor), count the elements of other's result that are not factor times set's."""
        name = self.result.name
        arrays = [ScaledArray(self.starts[one][name], self.starts[other][name], factor) for one, other, factor in pairs]
        return self.memory.count_unlike(arrays, self.result.kind, self.result.elements) if arrays else []

    def keep_result(self) -> None:
        """Keep a copy of the first set's result on the device."""
        self.memory.copy(self.starts[0][self.result.name], self._kept, self.result.nbytes)

    def holds_kept_result(self) -> bool:
        """Return whether the result of the first set equals the copy bit for bit."""
        return self.memory.equal(self.starts[0][self.result.name], self._kept, self.result.nbytes)

    def sum_result(self) -> int:
        """Return the checksum of the first set's result."""
        start = self.starts[0][self.result.name]
        return self.memory.checksums([Range(start, start + self.result.nbytes)])[0]

    def prepare(self, inputs: Operands) -> None:
        """Write every set, and remember it for `find_damage`. The contents of outputs do not matter yet."""
        self.write(inputs, self.sets)
        self.seal()

    def prepare_outputs(self, inputs: Operands) -> None:
        """Fill the outputs of every set with finite, wrong values, or with the initial C.

        An audit will find elements that are not written. The padding of rows is 0, so that it is part of all multiples.
        """
        self._padding_byte = 0
        self.reset(inputs, self.sets, guards.FINITE)

    def seal(self) -> None:
        """Remember the contents of every set outside its outputs, for `find_damage`."""
        self._seal.take()

    def find_damage(self) -> str:
        """Describe what was written outside the outputs of any set since `seal`, or return "".

        Guard zones are restored, but inputs are not.
        """
        broken = self._seal.find_broken()
        if broken is None:
            return next(filter(None, map(self._find_written_padding, range(len(self.starts)))), "")
        breaches = [breach for index in range(len(self.starts)) if (breach := self.find_breach(index))]
        if broken.input:
            where = f" of set {broken.index}" if len(self.starts) > 1 else ""
            return WROTE_C + where if broken.input == _INITIAL else f"changed the input {broken.input}{where}"
        return breaches[0] if breaches else "wrote outside its output"

    def seal_first_set(self) -> None:
        """Remember the contents of the first set outside its outputs, for `find_damage_of_first_set`."""
        self._padding_byte = guards.PATTERN
        self._first_seal.take()

    def find_damage_of_first_set(self, inputs: Operands) -> str:
        """Describe what was written outside the outputs of the first set since `seal_first_set`, or return "".

        Guard zones are restored, but inputs are not. `inputs` are those that were written to the set.
        """
        padding = self._find_written_padding(0)
        if self._first_seal.find_broken() is None:
            return padding
        return self.find_breach() or padding or self.find_changed_input(inputs)

    def find_breach(self, index: int = 0) -> str:
        """Describe what was written outside the outputs of a set, or return "". Restores the bytes."""
        if not self._guards:
            return ""
        breach = self._guarded.find_breach(self.memory, self._bases[index])
        return self._guarded.describe(breach) if breach else ""

    def find_changed_input(self, inputs: Operands) -> str:
        """Describe which input of the first set differs from `inputs`, or return "".

        This requires that only the first set has been used.
        """
        first, last = self.starts[0], self.starts[-1]
        for region in self._guarded.inputs:
            array = region.pad(inputs[region.name])
            start, copy = first[region.name], last[region.name]
            unchanged = self.memory.equal(start, copy, array.nbytes) if copy != start else self._holds(start, array)
            if not unchanged:
                return WROTE_C if region.name == _INITIAL else f"changed its input {region.name}"
        return ""

    def _holds(self, start: int, array: np.ndarray) -> bool:
        there = np.empty_like(array)
        self.memory.read(start, there)
        return have_same_bits(there, array)

    def free(self) -> None:
        """Free the memory."""
        self.memory.free()
