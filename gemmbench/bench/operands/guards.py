"""Guard zones: what surrounds the arrays of an operand set on a device.

NaN surrounds arrays that are read, so a read beyond them corrupts the result. A pattern surrounds
arrays that are written, so a write beyond them is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gemmbench.backends.base import ALIGN, Memory
from gemmbench.planning.precisions import StorageType

NAN = 0xFF
"""Every byte 0xFF is a NaN in every floating-point format."""
PATTERN = 0xA5
_LARGE = 1 << 20
LARGE_ALIGN = 64 << 10
"""Bytes to which arrays of at least 1 MiB are aligned, since allocators give them separate pages."""
FINITE = 0x3C
"""Every byte 0x3C is a number of normal size in every floating-point format."""
NEGATIVE = 0xC2
"""Every byte 0xC2 is a negative number of normal size in every floating-point format, larger than FINITE."""


@dataclass(frozen=True)
class Zone:
    """`size` bytes from `offset` of a set on, all of them `byte`."""

    offset: int
    size: int
    byte: int

    @property
    def end(self) -> int:
        """Where the next bytes begin."""
        return self.offset + self.size


@dataclass(frozen=True)
class Breach:
    """A zone with `count` changed bytes, the first of them `first` bytes into the zone, the last `last`."""

    zone: Zone
    first: int
    count: int
    last: int = 0


@dataclass(frozen=True)
class Region:
    """An array of an operand set: its type, where it begins in the set, its bytes, and its rows (0: none)."""

    name: str
    kind: StorageType
    offset: int
    nbytes: int
    rows: int = 0

    @property
    def elements(self) -> int:
        """The number of its elements."""
        return self.nbytes * 8 // self.kind.bits

    def distance(self, offset: int) -> int:
        """How far an offset of the set is from the array."""
        return self.offset - offset if offset < self.offset else offset - self.offset - self.nbytes


class GuardedLayout:
    """The arrays and guard zones of one operand set, in order; `total` is its bytes so far."""

    def __init__(self) -> None:
        self.total = 0
        self.zones: list[Zone] = []
        self.inputs: list[Region] = []
        self.outputs: list[Region] = []

    @property
    def regions(self) -> list[Region]:
        """All arrays, the inputs first."""
        return [*self.inputs, *self.outputs]

    @property
    def alignment(self) -> int:
        """Bytes to which a set must be aligned so that each of its arrays is."""
        return max(_find_alignment(region.nbytes) for region in self.regions)

    def guard(self, size: int, byte: int) -> None:
        """Guard the next bytes; zones that touch and hold the same are one."""
        start = self.total
        self.total += size
        if self.zones and self.zones[-1].end == start and self.zones[-1].byte == byte:
            start = self.zones.pop().offset
        if self.total > start:
            self.zones.append(Zone(start, self.total - start, byte))

    def add_input(self, name: str, kind: StorageType, nbytes: int, rows: int = 0) -> None:
        """Place the next array, which kernels read."""
        self.inputs.append(self._add_region(name, kind, nbytes, rows, NAN))

    def add_output(self, name: str, kind: StorageType, nbytes: int, rows: int = 0) -> None:
        """Place the next array, which kernels write."""
        self.outputs.append(self._add_region(name, kind, nbytes, rows, PATTERN))

    def _add_region(self, name: str, kind: StorageType, nbytes: int, rows: int, byte: int) -> Region:
        """Place an array where it is aligned; what is skipped, and the rest of its last ALIGN bytes, is guarded."""
        self.guard(-self.total % _find_alignment(nbytes), byte)
        region = Region(name, kind, self.total, nbytes, rows)
        self.total += nbytes
        self.guard(-nbytes % ALIGN, byte)
        return region

    def fill(self, memory: Memory, bases: Sequence[int]) -> None:
        """Fill the zones of the sets at these places."""
        for zone in self.zones:
            memory.fill_each([base + zone.offset for base in bases], zone.size, zone.byte)

    def find_breach(self, memory: Memory, base: int) -> Breach | None:
        """The first zone of the set at `base` that was written to; all that were are restored."""
        breaches = [breach for zone in self.zones if (breach := _restore(memory, base, zone))]
        return breaches[0] if breaches else None

    def describe(self, breach: Breach, own: str = "output") -> str:
        """A breach in words, by the array that is nearest to it; `own` is what the kernel may write."""
        offset, count = breach.zone.offset, breach.count
        region = min(self.regions, key=lambda region: region.distance(offset))
        side = "before" if offset < region.offset else "after the end of"
        away = breach.zone.size - 1 - breach.last if side == "before" else breach.first
        changed = f"{count} bytes {side} {region.name} changed{f', the nearest {away} bytes away' if away else ''}"
        if not region.rows:
            return f"wrote outside its {own}: {changed}"
        rows, rest = divmod(count, region.nbytes // region.rows)
        in_rows = "" if rest else f": {rows} row{'s' * (rows > 1)} of {region.name}"
        hint = _explain_overrun(region, breach) if side != "before" and region in self.outputs else ""
        return f"wrote outside its {own}: {changed}{in_rows}{hint}"


_MOST_OVERRUN = 128
"""Rows or columns that a store without a guard writes too many: a tile has no more."""


def _explain_overrun(region: Region, breach: Breach) -> str:
    """Which guards a store lacks that went on beyond its last row, its last column or both, in words, or ""."""
    columns = region.elements // region.rows
    last = (breach.zone.offset + breach.last - region.offset) * 8 // region.kind.bits
    rows, more = divmod(last + 1, columns)
    guards = [name for name, missing in (("M", rows > region.rows), ("N", more > 0)) if missing]
    if not guards or rows - region.rows >= _MOST_OVERRUN or more >= _MOST_OVERRUN:
        return ""
    place = f"{region.name}[{rows - 1}][{columns - 1 + more}]"
    return f"; the last write is that of {place}, so the store lacks a guard on {' and '.join(guards)}"


def _find_alignment(nbytes: int) -> int:
    return LARGE_ALIGN if nbytes >= _LARGE else ALIGN


def _restore(memory: Memory, base: int, zone: Zone) -> Breach | None:
    start = base + zone.offset
    if is_filled(memory, start, zone.size, zone.byte):
        return None
    bytes_there = np.empty(zone.size, np.uint8)
    memory.read(start, bytes_there)
    memory.fill(start, zone.size, zone.byte)
    wrong = np.flatnonzero(bytes_there != zone.byte)
    return Breach(zone, int(wrong[0]), wrong.size, int(wrong[-1]))


def is_filled(memory: Memory, start: int, size: int, byte: int) -> bool:
    """Every byte of a range is `byte`: the first are, and each equals the one ALIGN before it."""
    head = np.empty(min(size, -start % ALIGN + ALIGN), np.uint8)
    memory.read(start, head)
    checked, end = start + head.size, start + size
    return bool((head == byte).all()) and (checked == end or memory.equal(checked - ALIGN, checked, end - checked))
