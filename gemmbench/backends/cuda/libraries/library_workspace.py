"""The workspace that all launches of a library on one stream share."""

from __future__ import annotations

from typing import Any

from gemmbench.backends.cuda.libraries.variants import WORKSPACE
from gemmbench.backends.cuda.system.driver import load_driver


class LibraryWorkspace:
    """Device memory that only grows; `address` and `nbytes` change when it does."""

    def __init__(self) -> None:
        self.address, self.nbytes = 0, 0
        self._allocations: list[Any] = []
        self.reserve(WORKSPACE)

    def reserve(self, nbytes: int) -> bool:
        """Have at least this many bytes; True if the address has changed.

        What was there before stays allocated, since launches that are bound to it may still come.
        Raises pycuda's errors.
        """
        if nbytes <= self.nbytes:
            return False
        self._allocations.append(load_driver().mem_alloc(nbytes))
        self.address, self.nbytes = int(self._allocations[-1]), nbytes
        return True

    def free(self) -> None:
        """Free the memory."""
        for allocation in self._allocations:
            allocation.free()
