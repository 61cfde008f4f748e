"""Memory on the GPU. It is compared and scaled there, because a copy to the host would take longer than a GEMM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from gemmbench.backends.base import Range, ScaledArray
from gemmbench.backends.cuda.driver import load_driver, pack_launch, translate_errors
from gemmbench.errors import OutOfMemory
from gemmbench.planning.precisions import StorageType

_THREADS, _BLOCKS = 256, 1024
_BYTES_PER_BLOCK = _THREADS * 64
"""The smallest number of bytes for each block that works on a short array."""

Addresses = tuple[int, int, float]
"""The addresses of source and target, and the factor between them."""
_SCALED = np.dtype([("source", "u8"), ("target", "u8"), ("factor", "f8")])
_RANGE = np.dtype([("start", "u8"), ("end", "u8")])


class ArrayKernels:
    """The kernels of helpers.cu that work on arrays. `module` is the loaded helpers.cu.

    All addresses are on the GPU. All methods wait until the work is done, and raise pycuda's errors.
    """

    def __init__(self, module: Any, stream: Any):
        self._cuda: Any = load_driver()
        self._module, self._stream = module, stream

    def are_equal(self, one: int, other: int, nbytes: int) -> bool:
        """Return whether `nbytes` bytes at two addresses are equal. All three numbers must be multiples of 16."""
        (found,) = self._count("differ", 1, nbytes, "PPQ", one, other, nbytes)
        return not found

    def scale(self, arrays: Sequence[Addresses], kind: StorageType, count: int) -> None:
        """Write factor * source to every target. Each array has `count` elements."""
        table = self._upload(np.array(arrays, _SCALED))
        self._launch(f"scale_{kind.name}", len(arrays), kind.nbytes(count), "PQ", int(table), count)
        self._stream.synchronize()

    def negate(self, addresses: np.ndarray, kind: StorageType) -> None:
        """Change the sign of the element at each of these addresses (uint64)."""
        table = self._upload(addresses)
        self._launch(f"negate_{kind.name}", 1, addresses.nbytes, "PQ", int(table), len(addresses))
        self._stream.synchronize()

    def count_unlike(self, arrays: Sequence[Addresses], kind: StorageType, count: int) -> list[int]:
        """Count the elements of each target that differ from factor * source. See Memory."""
        table = self._upload(np.array(arrays, _SCALED))
        numbers = int(table), count, kind.smallest_normal, kind.subnormal_step
        return self._count(f"count_unlike_{kind.name}", len(arrays), kind.nbytes(count), "PQdd", *numbers)

    def checksums(self, ranges: Sequence[tuple[int, int]]) -> list[int]:
        """Return a checksum of the bytes between each pair of addresses."""
        table = self._upload(np.array(ranges, _RANGE))
        longest = max(end - start for start, end in ranges)
        return self._count("checksum", len(ranges), longest, "P", int(table))

    def _upload(self, table: np.ndarray) -> Any:
        uploaded = self._cuda.mem_alloc(table.nbytes)
        self._cuda.memcpy_htod(uploaded, table)
        return uploaded

    def _count(self, kernel: str, rows: int, nbytes: int, layout: str, *arguments: float) -> list[int]:
        """Run a kernel that adds to `rows` counters, which are its last argument, and return the counters."""
        counters = np.zeros(rows, np.uint64)
        uploaded = self._upload(counters)
        self._launch(kernel, rows, nbytes, f"{layout}P", *arguments, int(uploaded))
        self._cuda.memcpy_dtoh(counters, uploaded)  # on the default stream, which waits for the other one
        return [int(counter) for counter in counters]

    def _launch(self, kernel: str, rows: int, nbytes: int, layout: str, *arguments: float) -> None:
        """Launch a kernel on `rows` arrays, with as many blocks for each as `nbytes` can occupy."""
        blocks = max(1, min(_BLOCKS, nbytes // _BYTES_PER_BLOCK))
        grid, block = (blocks, rows, 1), (_THREADS, 1, 1)
        pack_launch(self._module.get_function(kernel), grid, block, self._stream, layout, *arguments)()


_MANY = 16
"""Fewer ranges than this are filled one by one."""


class DeviceMemory:
    """A Memory made of one allocation. Offsets are added to `address`.

    Copies run on the legacy default stream, so they and the back end's stream wait for each other. Methods raise
    LaunchError if a kernel has crashed, and ValueError for a range outside the allocation.
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
        """Copy within the device."""
        with translate_errors((self._cuda.Error,)):
            self._cuda.memcpy_dtod(self._at(target, nbytes), self._at(source, nbytes), nbytes)

    def fill(self, offset: int, nbytes: int, byte: int) -> None:
        """Set every byte of a range to `byte`."""
        with translate_errors((self._cuda.Error,)):
            self._cuda.memset_d8(self._at(offset, nbytes), byte, nbytes)

    def fill_each(self, offsets: Sequence[int], nbytes: int, byte: int) -> None:
        """Set every byte of several ranges. Many equally spaced ranges are set in one call."""
        distance = self._find_distance(offsets) if len(offsets) >= _MANY else 0
        if distance < nbytes:
            for offset in offsets:
                self.fill(offset, nbytes, byte)
            return
        start = self._at(offsets[0], distance * (len(offsets) - 1) + nbytes)
        with translate_errors((self._cuda.Error,)):
            self._cuda.memset_d2d8(start, distance, byte, nbytes, len(offsets))

    def _find_distance(self, offsets: Sequence[int]) -> int:
        """Return the distance between adjacent ranges, or 0 if it varies."""
        distances = {after - before for before, after in pairwise(offsets)}
        return distances.pop() if len(distances) == 1 else 0

    def equal(self, one: int, other: int, nbytes: int) -> bool:
        """Return whether two ranges hold the same bytes. This and the methods below need a memory with kernels."""
        with self._use_kernels() as kernels:
            return kernels.are_equal(self._at(one, nbytes), self._at(other, nbytes), nbytes)

    def scale(self, arrays: Sequence[ScaledArray], kind: StorageType, count: int) -> None:
        """Write factor * source to every target. Each array has `count` elements."""
        with self._use_kernels() as kernels:
            kernels.scale(self._find(arrays, kind.nbytes(count)), kind, count)

    def negate(self, offsets: np.ndarray, kind: StorageType) -> None:
        """Change the sign of the element at each offset."""
        if not len(offsets):
            return
        first, last = int(offsets.min()), int(offsets.max())
        with self._use_kernels() as kernels:
            self._at(last, kind.nbytes(1))
            kernels.negate((offsets + (self._at(first, kind.nbytes(1)) - first)).astype(np.uint64), kind)

    def count_unlike(self, arrays: Sequence[ScaledArray], kind: StorageType, count: int) -> list[int]:
        """For each pair, count how many of the `count` elements of the target differ from factor * source."""
        with self._use_kernels() as kernels:
            return kernels.count_unlike(self._find(arrays, kind.nbytes(count)), kind, count)

    def checksums(self, ranges: Sequence[Range]) -> list[int]:
        """Return a checksum of each range."""
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
    """A separate allocation for each of `sizes`. Offsets are addresses."""

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
        """Return 0, because no call may span several allocations."""
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
