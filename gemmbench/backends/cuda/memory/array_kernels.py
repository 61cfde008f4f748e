"""Compares and scales arrays on the GPU, since a copy to the host takes longer than a GEMM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gemmbench.backends.cuda.launching.packed_launch import pack_launch
from gemmbench.backends.cuda.system.driver import load_driver
from gemmbench.planning.precisions import StorageType

_THREADS, _BLOCKS = 256, 1024
_BYTES_PER_BLOCK = _THREADS * 64
"""A block of a short array has at least this much to do."""

Addresses = tuple[int, int, float]
"""Source, target, and the factor between them."""
_SCALED = np.dtype([("source", "u8"), ("target", "u8"), ("factor", "f8")])
_RANGE = np.dtype([("start", "u8"), ("end", "u8")])


class ArrayKernels:
    """The kernels of helpers.cu that work on arrays, from their loaded `module`.

    Every argument is an address on the GPU; every method waits until it is done, and raises
    pycuda's errors.
    """

    def __init__(self, module: Any, stream: Any):
        self._cuda: Any = load_driver()
        self._module, self._stream = module, stream

    def are_equal(self, one: int, other: int, nbytes: int) -> bool:
        """Whether the `nbytes` at two addresses, multiples of 16, are the same."""
        (found,) = self._count("differ", 1, nbytes, "PPQ", one, other, nbytes)
        return not found

    def scale(self, arrays: Sequence[Addresses], kind: StorageType, count: int) -> None:
        """Write factor * source to every target; each array has `count` elements."""
        table = self._upload(np.array(arrays, _SCALED))
        self._launch(f"scale_{kind.name}", len(arrays), kind.nbytes(count), "PQ", int(table), count)
        self._stream.synchronize()

    def count_unlike(self, arrays: Sequence[Addresses], kind: StorageType, count: int) -> list[int]:
        """How many elements of each target are not factor * source, as `base.Memory` counts them."""
        table = self._upload(np.array(arrays, _SCALED))
        numbers = int(table), count, kind.smallest_normal, kind.subnormal_step
        return self._count(f"count_unlike_{kind.name}", len(arrays), kind.nbytes(count), "PQdd", *numbers)

    def checksums(self, ranges: Sequence[tuple[int, int]]) -> list[int]:
        """A checksum of the bytes between each pair of addresses."""
        table = self._upload(np.array(ranges, _RANGE))
        longest = max(end - start for start, end in ranges)
        return self._count("checksum", len(ranges), longest, "P", int(table))

    def _upload(self, table: np.ndarray) -> Any:
        uploaded = self._cuda.mem_alloc(table.nbytes)
        self._cuda.memcpy_htod(uploaded, table)
        return uploaded

    def _count(self, kernel: str, rows: int, nbytes: int, layout: str, *arguments: float) -> list[int]:
        """Run a kernel that adds to `rows` counters, its last argument, and return them."""
        counters = np.zeros(rows, np.uint64)
        uploaded = self._upload(counters)
        self._launch(kernel, rows, nbytes, f"{layout}P", *arguments, int(uploaded))
        self._cuda.memcpy_dtoh(counters, uploaded)  # on the default stream, which waits for the other
        return [int(counter) for counter in counters]

    def _launch(self, kernel: str, rows: int, nbytes: int, layout: str, *arguments: float) -> None:
        """Launch a kernel, for each of `rows` arrays as many blocks as its `nbytes` can use."""
        blocks = max(1, min(_BLOCKS, nbytes // _BYTES_PER_BLOCK))
        grid, block = (blocks, rows, 1), (_THREADS, 1, 1)
        pack_launch(self._module.get_function(kernel), grid, block, self._stream, layout, *arguments)()
