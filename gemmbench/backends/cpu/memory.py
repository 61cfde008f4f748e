"""Operand memory that another process can map: an unnamed file in memory."""

from __future__ import annotations

import mmap
import os

import numpy as np

from gemmbench.backends.base import pack_allocations
from gemmbench.backends.cpu.device import free_memory
from gemmbench.errors import OutOfMemory


class CpuMemory:
    """A Memory; `file` is the descriptor to map. Raises OutOfMemory."""

    def __init__(self, *sizes: int):
        self.starts, end = pack_allocations(sizes)
        nbytes = sizes[0] if len(sizes) == 1 else end
        if nbytes > free_memory():
            raise OutOfMemory(f"the operands need {nbytes >> 20} MiB, but only {free_memory() >> 20} MiB are free")
        self.nbytes = nbytes
        self.file = os.memfd_create("gemmbench")
        try:
            os.posix_fallocate(self.file, 0, nbytes)  # fails here; without it, a full memory would be a crash later
            self._bytes = np.frombuffer(mmap.mmap(self.file, nbytes), np.uint8)
        except OSError as fault:
            os.close(self.file)
            raise OutOfMemory(f"the operands need {nbytes >> 20} MiB: {fault.strerror}") from None

    def write(self, offset: int, array: np.ndarray) -> None:
        """Copy a contiguous array in."""
        self._bytes[offset : offset + array.nbytes] = array.reshape(-1).view(np.uint8)

    def read(self, offset: int, out: np.ndarray) -> None:
        """Fill the contiguous array `out`."""
        out.reshape(-1).view(np.uint8)[:] = self._bytes[offset : offset + out.nbytes]

    def copy(self, source: int, target: int, nbytes: int) -> None:
        """Copy inside."""
        self._bytes[target : target + nbytes] = self._bytes[source : source + nbytes]

    def fill(self, offset: int, nbytes: int, byte: int) -> None:
        """Set every byte of a range."""
        self._bytes[offset : offset + nbytes] = byte

    def equal(self, one: int, other: int, nbytes: int) -> bool:
        """Whether two ranges hold the same bytes."""
        return np.array_equal(self._bytes[one : one + nbytes], self._bytes[other : other + nbytes])

    def array(self, offset: int, shape: tuple[int, ...], kind: str) -> np.ndarray:
        """The bytes at `offset` as an array, in place."""
        array: np.ndarray = np.ndarray(shape, kind, self._bytes, offset)
        return array

    def free(self) -> None:
        """Close the file.

        Its bytes are freed with the last array and the last process that map it.
        """
        if self.nbytes:
            os.close(self.file)
            self.nbytes, self._bytes = 0, np.zeros(0, np.uint8)
