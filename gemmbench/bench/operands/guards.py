"""Guard zones: what surrounds the arrays of an operand set on a device.

NaN lies around what is read, so that a read beyond it spoils the result, and a pattern around what is
written, so that a write beyond it is seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gemmbench.backends.base import ALIGN, Memory

NAN = 0xFF
"""Every byte 0xFF is a NaN in every floating-point format."""
PATTERN = 0xA5


@dataclass(frozen=True)
class Zone:
    """`size` bytes that are all `byte`, from `offset` of a set on."""

    offset: int
    size: int
    byte: int

    @property
    def end(self) -> int:
        """Where what follows begins."""
        return self.offset + self.size


@dataclass(frozen=True)
class Breach:
    """A zone of which `count` bytes were changed, `first` bytes behind its start the first of them."""

    zone: Zone
    first: int
    count: int


class Layout:
    """The arrays and guard zones of one operand set, one behind the other; `total` is its bytes so far."""

    def __init__(self) -> None:
        self.total = 0
        self.zones: list[Zone] = []

    def guard(self, size: int, byte: int) -> None:
        """Guard the next bytes; zones that touch and hold the same are one."""
        start = self.total
        self.total += size
        if self.zones and self.zones[-1].end == start and self.zones[-1].byte == byte:
            start = self.zones.pop().offset
        if self.total > start:
            self.zones.append(Zone(start, self.total - start, byte))

    def array(self, nbytes: int, byte: int) -> int:
        """Where the next array begins; what is left of its last ALIGN bytes is guarded."""
        start = self.total
        self.total += nbytes
        self.guard(-nbytes % ALIGN, byte)
        return start

    def fill(self, memory: Memory, base: int) -> None:
        """Fill the zones of the set at `base`."""
        for zone in self.zones:
            memory.fill(base + zone.offset, zone.size, zone.byte)

    def breach(self, memory: Memory, base: int) -> Breach | None:
        """The first zone of the set at `base` that was written to; all that were are restored."""
        found = [breach for zone in self.zones if (breach := _restored(memory, base, zone))]
        return found[0] if found else None


def _restored(memory: Memory, base: int, zone: Zone) -> Breach | None:
    start = base + zone.offset
    if _untouched(memory, start, zone.size, zone.byte):
        return None
    found = np.empty(zone.size, np.uint8)
    memory.read(start, found)
    memory.fill(start, zone.size, zone.byte)
    wrong = np.flatnonzero(found != zone.byte)
    return Breach(zone, int(wrong[0]), wrong.size)


def _untouched(memory: Memory, start: int, size: int, byte: int) -> bool:
    """Every byte of a range is `byte`: the first ones are, and each is like the one ALIGN before it."""
    head = np.empty(min(size, -start % ALIGN + ALIGN), np.uint8)
    memory.read(start, head)
    seen, end = start + head.size, start + size
    return bool((head == byte).all()) and (seen == end or memory.equal(seen - ALIGN, seen, end - seen))
