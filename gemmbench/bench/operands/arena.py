"""Where A, B and C lie on the device, and what surrounds them.

One arena holds every operand set of a problem. Each matrix lies between guard zones, see bench.guards:

    | NaN | A | NaN | B | NaN | pattern | C | pattern |   next set ...

On a back end without guards each matrix is an allocation of its own, of its exact size: what
compute-sanitizer watches, and guard zones would hide.
"""

from __future__ import annotations

import numpy as np

from gemmbench.backends.base import ALIGN, Backend, OperandSet
from gemmbench.bench.operands import guards
from gemmbench.bench.operands.fill import Operands
from gemmbench.planning.problems.problem import Problem

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


class _Layout(guards.Layout):
    """Offsets inside one set."""

    def __init__(self, problem: Problem):
        super().__init__()
        longest = max(problem.operand_bytes(name) // problem.shape(name)[0] for name in "ABC")
        # A kernel that forgets a guard goes a tile too far: 128 rows, within reason.
        guard = min(max(128 * longest, 4096), 4 << 20)
        guard += -guard % ALIGN
        self.offsets: dict[str, int] = {}
        for name, byte in (("A", guards.NAN), ("B", guards.NAN), ("C", guards.PATTERN)):
            if name == "C":
                self.guard(guard, guards.NAN)
            self.guard(guard, byte)
            self.offsets[name] = self.array(problem.operand_bytes(name), byte)
        self.guard(guard, guards.PATTERN)


class Arena:
    """Operand sets of one problem on a device. Raises OutOfMemory."""

    def __init__(self, backend: Backend, problem: Problem, count: int):
        self.problem, self._layout = problem, _Layout(problem)
        self._guarded = backend.guards
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
            self._layout.fill(self.memory, base)

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
                self.memory.fill(other.C, operands.C.nbytes, guards.NAN)
            elif other is not first:
                self.memory.copy(first.C, other.C, operands.C.nbytes)

    def read_c(self, index: int = 0, into: np.ndarray | None = None) -> np.ndarray:
        """C of one set, as a host array: a new one, or `into`, which saves the pages of a new one."""
        out = np.empty(self.problem.shape("C"), self.problem.storage("C").numpy_type()) if into is None else into
        self.memory.read(self.sets[index].C, out)
        return out

    def same(self, index: int) -> bool:
        """C of a set is that of the first, bit by bit."""
        return self.memory.equal(self.sets[0].C, self.sets[index].C, self.problem.operand_bytes("C"))

    def breach(self, index: int = 0) -> str:
        """Say which guard zone of a set was written to first, or ""; all that was overwritten is restored."""
        found = self._layout.breach(self.memory, index * self._layout.total) if self._guarded else None
        return self._where(found) if found else ""

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

    def _where(self, breach: guards.Breach) -> str:
        offset, count = breach.zone.offset, breach.count
        name = min(self._layout.offsets, key=lambda name: self._distance(name, offset))
        side = "before" if offset < self._layout.offsets[name] else "after the end of"
        changed = f"{count} bytes {side} {name} changed, the first {breach.first} bytes into the zone"
        rows, rest = divmod(count, self.problem.operand_bytes(name) // self.problem.shape(name)[0])
        return f"wrote outside its output: {changed}" + ("" if rest else f": {rows} row{'s' * (rows > 1)} of {name}")

    def _distance(self, name: str, offset: int) -> int:
        start = self._layout.offsets[name]
        end = start + self.problem.operand_bytes(name)
        return start - offset if offset < start else offset - end

    def free(self) -> None:
        """Give the memory back."""
        self.memory.free()
