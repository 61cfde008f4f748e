"""Bytes on the GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from gemmbench.backends.base import Range, ScaledArray
from gemmbench.backends.cuda.failure import translate_errors
from gemmbench.backends.cuda.memory.array_kernels import Addresses, ArrayKernels
from gemmbench.backends.cuda.system.driver import load_driver
from gemmbench.errors import OutOfMemory
from gemmbench.planning.precisions import StorageType

_MANY = 16
"""Fewer ranges are filled one by one."""


class DeviceMemory:
    """A `base.Memory` of one allocation; offsets are added to `address`.

    Copies run on the legacy default stream: they wait for the back end's stream, and it waits for
    them. Each raises LaunchError if a kernel crashed before, ValueError for a range outside the
    allocation.
    """

    def __init__(self, nbytes: int, kernels: ArrayKernels | None = None):
        """Allocate `nbytes`. Raises OutOfMemory."""
        cuda = load_driver()
        self._kernels = kernels
        self.nbytes, self.starts = nbytes, tuple[int, ...]((0,))
        self._cuda: Any = cuda
        self._allocation = _allocate(cuda, nbytes)
        self.address = int(self._allocation)

    def write(self, offset: int, array: np.ndarray) -> None:
        """Copy a contiguous array to the device."""
        with translate_errors((self._cuda.Error,)):
            self._cuda.memcpy_htod(self._at(offset, array.nbytes), array)

    def read(self, offset: int, out: np.ndarray) -> None:
        """Fill the contiguous array `out` from the device."""
        with translate_errors((self._cuda.Error,)):
            self._cuda.memcpy_dtoh(out, self._at(offset, out.nbytes))

    def copy(self, source: int, target: int, nbytes: int) -> None:
        """Copy inside the device."""
        with translate_errors((self._cuda.Error,)):
            self._cuda.memcpy_dtod(self._at(target, nbytes), self._at(source, nbytes), nbytes)

    def fill(self, offset: int, nbytes: int, byte: int) -> None:
        """Set every byte of a range to `byte`."""
        with translate_errors((self._cuda.Error,)):
            self._cuda.memset_d8(self._at(offset, nbytes), byte, nbytes)

    def fill_each(self, offsets: Sequence[int], nbytes: int, byte: int) -> None:
        """Set every byte of several ranges; many at equal distances in one call."""
        distance = self._find_distance(offsets) if len(offsets) >= _MANY else 0
        if distance < nbytes:
            for offset in offsets:
                self.fill(offset, nbytes, byte)
            return
        start = self._at(offsets[0], distance * (len(offsets) - 1) + nbytes)
        with translate_errors((self._cuda.Error,)):
            self._cuda.memset_d2d8(start, distance, byte, nbytes, len(offsets))

    def _find_distance(self, offsets: Sequence[int]) -> int:
        """From each of these ranges to the next, or 0 if it differs."""
        distances = {after - before for before, after in pairwise(offsets)}
        return distances.pop() if len(distances) == 1 else 0

    def equal(self, one: int, other: int, nbytes: int) -> bool:
        """Whether two ranges hold the same bytes; as the methods below, only for a memory with kernels."""
        with self._use_kernels() as kernels:
            return kernels.are_equal(self._at(one, nbytes), self._at(other, nbytes), nbytes)

    def scale(self, arrays: Sequence[ScaledArray], kind: StorageType, count: int) -> None:
        """Write factor * source to every target; each array has `count` elements."""
        with self._use_kernels() as kernels:
            kernels.scale(self._find(arrays, kind.nbytes(count)), kind, count)

    def count_unlike(self, arrays: Sequence[ScaledArray], kind: StorageType, count: int) -> list[int]:
        """For each pair, how many of `count` elements of target are not factor * source."""
        with self._use_kernels() as kernels:
            return kernels.count_unlike(self._find(arrays, kind.nbytes(count)), kind, count)

    def checksums(self, ranges: Sequence[Range]) -> list[int]:
        """A checksum of each range."""
        with self._use_kernels() as kernels:
            starts = [(self._at(each.start, each.end - each.start), each.end - each.start) for each in ranges]
            return kernels.checksums([(start, start + nbytes) for start, nbytes in starts])

    @contextmanager
    def _use_kernels(self) -> Iterator[ArrayKernels]:
        assert self._kernels is not None
        with translate_errors((self._cuda.Error,)):
            yield self._kernels

    def _find(self, arrays: Sequence[ScaledArray], nbytes: int) -> list[Addresses]:
        return [(self._at(each.source, nbytes), self._at(each.target, nbytes), each.factor) for each in arrays]

    def free(self) -> None:
        """Free the memory."""
        with translate_errors((self._cuda.Error,)):
            self._allocation.free()

    def _at(self, offset: int, nbytes: int) -> int:
        if offset < 0 or offset + nbytes > self.nbytes:
            raise ValueError(f"bytes {offset} to {offset + nbytes} are outside an allocation of {self.nbytes}")
        return self.address + offset


class SeparateMemory(DeviceMemory):
    """An allocation for each of `sizes`; offsets are addresses."""

    def __init__(self, sizes: Sequence[int], kernels: ArrayKernels | None = None):
        """Allocate. Raises OutOfMemory."""
        cuda = load_driver()
        self._kernels = kernels
        self._cuda, self.address, self.nbytes, self._sizes = cuda, 0, sum(sizes), tuple(sizes)
        self._allocations = [_allocate(cuda, size) for size in sizes]
        self.starts = tuple(map(int, self._allocations))

    def free(self) -> None:
        """Free the memory."""
        with translate_errors((self._cuda.Error,)):
            for allocation in self._allocations:
                allocation.free()

    def _find_distance(self, offsets: Sequence[int]) -> int:
        """None: no call may reach over several allocations."""
        return 0

    def _at(self, offset: int, nbytes: int) -> int:
        for start, size in zip(self.starts, self._sizes, strict=True):
            if start <= offset and offset + nbytes <= start + size:
                return offset
        raise ValueError(f"bytes {offset:#x} to {offset + nbytes:#x} are in none of {len(self.starts)} allocations")


def _allocate(cuda: Any, nbytes: int) -> Any:
    try:
        return cuda.mem_alloc(nbytes)
    except (cuda.MemoryError, OverflowError) as fault:
        free, total = cuda.mem_get_info()
        raise OutOfMemory(f"cannot allocate {nbytes:,} bytes: {free:,} of {total:,} are free") from fault
