"""Operands in the host's memory: the verbs of a Memory, by NumPy."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gemmbench.backends.base import Range, ScaledArray
from gemmbench.planning.precisions import FLOAT64, StorageType

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class HostBytes:
    """The part of a Memory that works on its `bytes`."""

    bytes: np.ndarray

    def write(self, offset: int, array: np.ndarray) -> None:
        """Copy a contiguous array in."""
        self.bytes[offset : offset + array.nbytes] = array.reshape(-1).view(np.uint8)

    def read(self, offset: int, out: np.ndarray) -> None:
        """Fill the contiguous array `out`."""
        out.reshape(-1).view(np.uint8)[:] = self.bytes[offset : offset + out.nbytes]

    def copy(self, source: int, target: int, nbytes: int) -> None:
        """Copy inside."""
        self.bytes[target : target + nbytes] = self.bytes[source : source + nbytes]

    def fill(self, offset: int, nbytes: int, byte: int) -> None:
        """Set every byte of a range."""
        self.bytes[offset : offset + nbytes] = byte

    def fill_each(self, offsets: Sequence[int], nbytes: int, byte: int) -> None:
        """Set every byte of several ranges."""
        for offset in offsets:
            self.fill(offset, nbytes, byte)

    def equal(self, one: int, other: int, nbytes: int) -> bool:
        """Whether two ranges hold the same bytes."""
        return np.array_equal(self.bytes[one : one + nbytes], self.bytes[other : other + nbytes])

    def scale(self, arrays: Sequence[ScaledArray], kind: StorageType, count: int) -> None:
        """Write factor * source to every target."""
        element = kind.numpy_type()
        for array in arrays:
            source, target = (self.array(at, (count,), element) for at in (array.source, array.target))
            np.multiply(source, element.type(array.factor), out=target)

    def count_unlike(self, arrays: Sequence[ScaledArray], kind: StorageType, count: int) -> list[int]:
        """For each pair, the elements of target that are not factor * source."""
        return [self._count_unlike(array, kind, count) for array in arrays]

    def _count_unlike(self, array: ScaledArray, kind: StorageType, count: int) -> int:
        wide = np.float64 if kind == FLOAT64 else np.float32
        source, target = (
            self.array(at, (count,), kind.numpy_type()).astype(wide) for at in (array.source, array.target)
        )
        scaled = source * wide(array.factor)
        unlike = scaled != target  # true for a NaN
        if not unlike.any():
            return 0
        near = np.abs(scaled[unlike] - target[unlike]) <= kind.subnormal_step  # false for a NaN
        sizes = [np.abs(each[unlike]) for each in (source, scaled, target)]
        return int(unlike.sum() - (near & (np.minimum.reduce(sizes) < kind.smallest_normal)).sum())

    def checksums(self, ranges: Sequence[Range]) -> list[int]:
        """A CRC of each range."""
        return [zlib.crc32(self.bytes[each.start : each.end].data) for each in ranges]

    def array(self, offset: int, shape: tuple[int, ...], kind: DTypeLike) -> np.ndarray:
        """The bytes at `offset` as an array, in place."""
        array: np.ndarray = np.ndarray(shape, kind, self.bytes, offset)
        return array
