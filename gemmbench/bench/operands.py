"""Where A, B and C lie on the device, and what surrounds them.

One arena holds every operand set of a problem. Each matrix lies between guard zones:
NaN around the inputs, so that a read beyond them spoils the result, and a pattern
around C, so that a write beyond it is seen.

    | NaN | A | NaN | B | NaN | pattern | C | pattern |   next set ...

On a back end without guards each matrix is an allocation of its own, of its exact size: what
compute-sanitizer watches, and guard zones would hide.
"""

from __future__ import annotations

import numpy as np

from gemmbench.backends.base import ALIGN, Backend, Memory, OperandSet
from gemmbench.bench.fill import Operands
from gemmbench.spec.problem import Problem

_NAN = 0xFF  # every byte 0xFF is a NaN in every floating-point format
_PATTERN = 0xA5
_LEAST_SETS, _MOST_SETS, _CACHE_FACTOR = 2, 1024, 4


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    """Two arrays of one shape and type are equal bit by bit, NaN and the sign of 0 included; no copy is made."""
    bits = f"u{one.itemsize}"
    return np.array_equal(one.view(bits), other.view(bits))


def cold_sets(problem: Problem, last_level_cache: int, room: int) -> tuple[int, bool]:
    """How many operand sets keep every launch cold, and whether they do.

    Their total is at least 4 times the last-level cache: at 2 times, random replacement
    still hits one time in five. `room` is bytes available.
    """
    touched = sum(problem.operand_bytes(operand) for operand in "ABC")
    wanted = max(_LEAST_SETS, -(-_CACHE_FACTOR * last_level_cache // touched))
    possible = max(1, room // set_bytes(problem))
    count = min(wanted, possible, _MOST_SETS)
    return count, count >= wanted


def set_bytes(problem: Problem) -> int:
    """Bytes of one operand set with its guard zones."""
    return _Layout(problem).total


class _Layout:
    """Offsets inside one set."""

    def __init__(self, problem: Problem):
        longest = max(problem.operand_bytes(name) // problem.shape(name)[0] for name in "ABC")
        # A kernel that forgets a guard goes a tile too far: 128 rows, within reason.
        guard = _up(min(max(128 * longest, 4096), 4 << 20))
        self.guards: list[tuple[int, int, int]] = []
        self.offsets: dict[str, int] = {}
        self.total = 0
        for name, byte_before in (("A", _NAN), ("B", _NAN), ("C", _PATTERN)):
            if name == "C":
                self._guard(guard, _NAN)
            self._guard(guard, byte_before)
            self.offsets[name] = self.total
            size = problem.operand_bytes(name)
            slack = _up(size) - size
            self.total += size
            self._guard(slack, _PATTERN if name == "C" else _NAN)
        self._guard(guard, _PATTERN)

    def _guard(self, size: int, byte: int) -> None:
        """Guard the next bytes; zones that touch and hold the same are one."""
        start = self.total
        self.total += size
        if self.guards and self.guards[-1][0] + self.guards[-1][1] == start and self.guards[-1][2] == byte:
            start = self.guards.pop()[0]
        if self.total > start:
            self.guards.append((start, self.total - start, byte))


def _up(size: int) -> int:
    return -(-size // ALIGN) * ALIGN


def untouched(memory: Memory, start: int, size: int, byte: int) -> bool:
    """Every byte of a range is `byte`: the first ones are, and each is like the one ALIGN before it."""
    head = np.empty(min(size, -start % ALIGN + ALIGN), np.uint8)
    memory.read(start, head)
    seen, end = start + head.size, start + size
    return bool((head == byte).all()) and (seen == end or memory.equal(seen - ALIGN, seen, end - seen))


class Arena:
    """Operand sets of one problem on a device. Raises OutOfMemory."""

    def __init__(self, backend: Backend, problem: Problem, count: int):
        self.problem, self._layout = problem, _Layout(problem)
        self._guards = self._layout.guards if backend.guards else []
        if not backend.guards:
            self.memory = backend.allocate(*(problem.operand_bytes(name) for name in "ABC" * count))
            starts = self.memory.starts
            self.sets = tuple(OperandSet(*starts[first : first + 3]) for first in range(0, 3 * count, 3))
            return
        self.memory = backend.allocate(count * self._layout.total)
        bases = [index * self._layout.total for index in range(count)]
        offsets = self._layout.offsets
        self.sets = tuple(OperandSet(base + offsets["A"], base + offsets["B"], base + offsets["C"]) for base in bases)
        for base in bases:
            for offset, size, byte in self._guards:
                self.memory.fill(base + offset, size, byte)

    def write_inputs(self, operands: Operands, sets: int) -> None:
        """Write A and B into the first `sets` sets; where that is one of several, into the last too, for `spoilt`."""
        first = self.sets[0]
        self.memory.write(first.A, operands.A)
        self.memory.write(first.B, operands.B)
        for other in self.sets[1:sets] or self.sets[1:][-1:]:
            self.memory.copy(first.A, other.A, operands.A.nbytes)
            self.memory.copy(first.B, other.B, operands.B.nbytes)

    def reset_c(self, operands: Operands, beta: float, sets: int) -> None:
        """Make C ready for a launch: NaN where beta is 0 and C must not be read, else the C that beta multiplies."""
        first = self.sets[0]
        if beta:
            self.memory.write(first.C, operands.C)
        for other in self.sets[:sets]:
            if not beta:
                self.memory.fill(other.C, operands.C.nbytes, _NAN)
            elif other is not first:
                self.memory.copy(first.C, other.C, operands.C.nbytes)

    def read_c(self, index: int = 0, into: np.ndarray | None = None) -> np.ndarray:
        """C of one set, as a host array: a new one, or `into`, which saves the pages of a new one."""
        out = np.empty(self.problem.shape("C"), self.problem.precision.numpy_type()) if into is None else into
        self.memory.read(self.sets[index].C, out)
        return out

    def same(self, index: int) -> bool:
        """C of a set is that of the first, bit by bit."""
        return self.memory.equal(self.sets[0].C, self.sets[index].C, self.problem.operand_bytes("C"))

    def breach(self, index: int = 0) -> str:
        """Say which guard zone of a set was written to first, or ""; all that was overwritten is restored."""
        message = ""
        for offset, size, byte in self._guards:
            start = index * self._layout.total + offset
            if not untouched(self.memory, start, size, byte):
                found = np.empty(size, np.uint8)
                self.memory.read(start, found)
                wrong = np.flatnonzero(found != byte)
                self.memory.fill(start, size, byte)
                message = message or self._where(offset, int(wrong[0]), wrong.size)
        return message

    def spoilt(self, operands: Operands) -> str:
        """Say which input of the first set is no longer what was written, or ""; only that set may have been used."""
        first, last = self.sets[0], self.sets[-1]
        inputs = ("A", first.A, last.A, operands.A), ("B", first.B, last.B, operands.B)
        for name, offset, copy, written in inputs:
            if not (
                self.memory.equal(offset, copy, written.nbytes) if copy != offset else self._holds(offset, written)
            ):
                return f"changed its input {name}"
        return ""

    def _holds(self, offset: int, written: np.ndarray) -> bool:
        found = np.empty_like(written)
        self.memory.read(offset, found)
        return same_bits(found, written)

    def _where(self, offset: int, first: int, count: int) -> str:
        name = min(self._layout.offsets, key=lambda name: self._distance(name, offset))
        start = self._layout.offsets[name]
        side = "before" if offset < start else "after the end of"
        found = f"wrote outside its output: {count} bytes {side} {name} changed, the first {first} bytes into the zone"
        rows, rest = divmod(count, self.problem.operand_bytes(name) // self.problem.shape(name)[0])
        return found if rest else f"{found}: {rows} row{'s' * (rows > 1)} of {name}"

    def _distance(self, name: str, offset: int) -> int:
        start = self._layout.offsets[name]
        end = start + self.problem.operand_bytes(name)
        return start - offset if offset < start else offset - end

    def free(self) -> None:
        """Give the memory back."""
        self.memory.free()
