"""Guard zones, which surround the arrays of an operand set on a device.

NaN surrounds arrays that are read, so reads beyond them corrupt the result. A pattern surrounds arrays that are
written, so writes beyond them are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gemmbench.backends.base import ALIGN, Memory
from gemmbench.planning.precisions import StorageType

NAN = 0xFF
"""If every byte is 0xFF, a number is NaN in every floating-point format."""
PATTERN = 0xA5
_LARGE = 1 << 20
LARGE_ALIGN = 64 << 10
"""The alignment in bytes of arrays of at least 1 MiB. Allocators give such arrays separate pages."""
FINITE = 0x3C
"""If every byte is 0x3C, a number has ordinary size in every floating-point format."""
NEGATIVE = 0xC2
"""If every byte is 0xC2, a number is negative and of ordinary size in every format. It is larger than FINITE."""


@dataclass(frozen=True)
class Zone:
    """`size` bytes of a set, which start at `offset` and all equal `byte`."""

    offset: int
    size: int
    byte: int

    @property
    def end(self) -> int:
        """The offset of the first byte after the zone."""
        return self.offset + self.size


@dataclass(frozen=True)
class Breach:
    """A zone with `count` changed bytes.

    `first` and `last` are the offsets in the zone of the first and last of them.
    """

    zone: Zone
    first: int
    count: int
    last: int = 0


@dataclass(frozen=True)
class Region:
    """An array of an operand set: its type, its offset in the set, and the number of its bytes and rows (0: none).

    `padding` elements that are not part of the matrix follow each row.
    """

    name: str
    kind: StorageType
    offset: int
    nbytes: int
    rows: int = 0
    padding: int = 0

    @property
    def elements(self) -> int:
        """The number of elements, with those of the padding."""
        return self.nbytes * 8 // self.kind.bits

    @property
    def row_bytes(self) -> int:
        """The bytes from one row to the next."""
        return self.nbytes // self.rows

    @property
    def padding_bytes(self) -> int:
        """The bytes of the padding of a row."""
        return self.kind.nbytes(self.padding)

    def make_wide(self) -> np.ndarray:
        """Return a host array, rows x leading dimension, of NaN."""
        wide = np.empty((self.rows, self.elements // self.rows), self.kind.numpy_type())
        wide.view(np.uint8)[:] = NAN
        return wide

    def pad(self, array: np.ndarray, padding: np.ndarray | None = None) -> np.ndarray:
        """Return an array as it is stored, with NaN or other elements after each row."""
        if not self.padding:
            return array
        wide = self.make_wide()
        wide[:, : -self.padding] = array.reshape(self.rows, -1)
        if padding is not None:
            wide[:, -self.padding :] = padding
        return wide

    def distance(self, offset: int) -> int:
        """Return the distance in bytes between an offset in the set and the array."""
        return self.offset - offset if offset < self.offset else offset - self.offset - self.nbytes


class GuardedLayout:
    """The arrays and guard zones of one operand set, in order. `total` is the number of bytes so far."""

    def __init__(self) -> None:
        self.total = 0
        self.zones: list[Zone] = []
        self.inputs: list[Region] = []
        self.outputs: list[Region] = []

    @property
    def regions(self) -> list[Region]:
        """All arrays, starting with the inputs."""
        return [*self.inputs, *self.outputs]

    @property
    def alignment(self) -> int:
        """The alignment of a set in bytes that aligns all its arrays."""
        return max(_find_alignment(region.nbytes) for region in self.regions)

    def guard(self, size: int, byte: int) -> None:
        """Guard the next bytes. Adjacent zones with the same byte are merged."""
        start = self.total
        self.total += size
        if self.zones and self.zones[-1].end == start and self.zones[-1].byte == byte:
            start = self.zones.pop().offset
        if self.total > start:
            self.zones.append(Zone(start, self.total - start, byte))

    def add_input(self, name: str, kind: StorageType, nbytes: int, rows: int = 0, padding: int = 0) -> None:
        """Place the next array that kernels read."""
        self.inputs.append(self._add_region(name, kind, nbytes, rows, padding, NAN))

    def add_output(self, name: str, kind: StorageType, nbytes: int, rows: int = 0, padding: int = 0) -> None:
        """Place the next array that kernels write."""
        self.outputs.append(self._add_region(name, kind, nbytes, rows, padding, PATTERN))

    def _add_region(self, name: str, kind: StorageType, nbytes: int, rows: int, padding: int, byte: int) -> Region:
        """Place an array at an aligned offset. Guard the skipped bytes and the rest of its last ALIGN bytes."""
        self.guard(-self.total % _find_alignment(nbytes), byte)
        region = Region(name, kind, self.total, nbytes, rows, padding)
        self.total += nbytes
        self.guard(-nbytes % ALIGN, byte)
        return region

    def fill(self, memory: Memory, bases: Sequence[int]) -> None:
        """Fill the zones of the sets that begin at `bases`."""
        for zone in self.zones:
            memory.fill_each([base + zone.offset for base in bases], zone.size, zone.byte)

    def find_breach(self, memory: Memory, base: int) -> Breach | None:
        """Return the first zone of the set at `base` that was written to. Restores all such zones."""
        breaches = [breach for zone in self.zones if (breach := _restore(memory, base, zone))]
        return breaches[0] if breaches else None

    def describe(self, breach: Breach, own: str = "output") -> str:
        """Describe a breach relative to the nearest array. `own` is what the kernel may write."""
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
"""The most extra rows or columns that an unguarded store can write, because no tile is larger."""


def _explain_overrun(region: Region, breach: Breach) -> str:
    """Explain which guards are missing if a store went beyond the last row or column; "" otherwise."""
    columns = region.elements // region.rows
    last = (breach.zone.offset + breach.last - region.offset) * 8 // region.kind.bits
    rows, more = divmod(last + 1, columns)
    guards = [name for name, missing in (("M", rows > region.rows), ("N", more > 0)) if missing]
    if not guards or rows - region.rows >= _MOST_OVERRUN or more >= _MOST_OVERRUN:
        return ""
    place = f"{region.name}[{rows - 1}][{columns - 1 + more}]"
    return f"; the last write is the one for {place}, so a guard on {' and '.join(guards)} is missing or wrong"


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
    """Return whether every byte of a range is `byte`: the first ones are, and each equals the byte ALIGN before it."""
    head = np.empty(min(size, -start % ALIGN + ALIGN), np.uint8)
    memory.read(start, head)
    checked, end = start + head.size, start + size
    return bool((head == byte).all()) and (checked == end or memory.equal(checked - ALIGN, checked, end - checked))
