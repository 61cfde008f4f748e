"""Checksums of all that kernels must leave alone: the inputs and the guard zones of every set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gemmbench.backends.base import Memory, Range
from gemmbench.bench.operands.guards import GuardedLayout
from gemmbench.bench.operands.layouts import Starts


@dataclass(frozen=True)
class Sealed:
    """A range of set `index` that must not change; `input` is its name, "" for a guard zone."""

    range: Range
    index: int
    input: str = ""


class Seal:
    """The inputs of every set, and its guard zones if it has any, as they were at the last `take`."""

    def __init__(self, memory: Memory, guarded: GuardedLayout, starts: Sequence[Starts], guards: bool):
        self._memory = memory
        self._sealed = [each for index, at in enumerate(starts) for each in _list_sealed(guarded, index, at, guards)]
        self._sums: list[int] = []

    def take(self) -> None:
        """Remember the bytes as they are now."""
        self._sums = self._add_up()

    def find_broken(self) -> Sealed | None:
        """The first range that has changed since; inputs come before guard zones."""
        pairs = zip(self._sealed, self._sums, self._add_up(), strict=True)
        broken = [sealed for sealed, before, now in pairs if before != now]
        return min(broken, key=lambda sealed: not sealed.input, default=None)

    def _add_up(self) -> list[int]:
        return self._memory.checksums([sealed.range for sealed in self._sealed])


def _list_sealed(guarded: GuardedLayout, index: int, starts: Starts, guards: bool) -> list[Sealed]:
    inputs = [(region.name, starts[region.name], region.nbytes) for region in guarded.inputs]
    sealed = [Sealed(Range(start, start + nbytes), index, name) for name, start, nbytes in inputs]
    if guards:
        base = starts[guarded.inputs[0].name] - guarded.inputs[0].offset
        sealed += [Sealed(Range(base + zone.offset, base + zone.end), index) for zone in guarded.zones]
    return sealed
