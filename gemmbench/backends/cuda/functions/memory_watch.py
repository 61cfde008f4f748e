"""Tells a leak from a cache: a cache stops growing.

The driver counts the free memory of the whole GPU. While another process uses it, what is missing may
be in that process, so nothing is held against the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gemmbench.errors import LaunchError

MOST_RECORDS = 4
"""How often calls may take more memory than ever before, once the first of them are over."""


class MemoryWatch:
    """Adds up the memory that the calls of one function keep.

    `read_free` returns the free bytes of the GPU, and `is_shared` whether another process uses it.
    """

    def __init__(self, name: str, read_free: Callable[[], int], is_shared: Callable[[], bool]):
        self._name, self._read_free, self._is_shared = name, read_free, is_shared
        self._kept, self._most, self._records = 0, 0, 0

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Watch the calls inside the block, at whose end they are complete. Raises LaunchError for a leak."""
        before = self._read_free()
        yield
        kept = self._kept + before - self._read_free()
        if kept > self._most and self._is_shared():
            return
        self._kept = kept
        if self._kept > self._most:
            self._most = self._kept
            self._records += 1
        if self._records > MOST_RECORDS:
            raise LaunchError(
                f"leaks memory of the GPU: its calls keep {self._kept / 2**20:,.0f} MiB so far, and more each time; "
                f"free or reuse what a call allocates ({self._name})"
            )
