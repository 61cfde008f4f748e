"""Operand memory that another process can map: an unnamed file in memory."""

from __future__ import annotations

import mmap
import os

import numpy as np

from gemmbench.backends.base import pack_allocations
from gemmbench.backends.cpu.device import free_memory
from gemmbench.backends.host_bytes import HostBytes
from gemmbench.errors import OutOfMemory


class CpuMemory(HostBytes):
    """A Memory; `file` is the descriptor to map. Raises OutOfMemory."""

    def __init__(self, *sizes: int):
        self.starts, end = pack_allocations(sizes)
        nbytes = sizes[0] if len(sizes) == 1 else end
        if nbytes > free_memory():
            raise OutOfMemory(f"cannot allocate {nbytes >> 20} MiB: only {free_memory() >> 20} MiB are free")
        self.nbytes = nbytes
        self.file = os.memfd_create("gemmbench")
        try:
            os.posix_fallocate(self.file, 0, nbytes)  # fails here; without it, a full memory would be a crash later
            self.bytes = np.frombuffer(mmap.mmap(self.file, nbytes), np.uint8)
        except OSError as fault:
            os.close(self.file)
            raise OutOfMemory(f"cannot allocate {nbytes >> 20} MiB: {fault.strerror}") from None

    def free(self) -> None:
        """Close the file.

        Its bytes are freed with the last array and the last process that map it.
        """
        if self.nbytes:
            os.close(self.file)
            self.nbytes, self.bytes = 0, np.zeros(0, np.uint8)
