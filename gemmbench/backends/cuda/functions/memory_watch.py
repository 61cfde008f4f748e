"""Tells a leak from a cache: a cache stops growing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gemmbench.errors import LaunchError

MOST_RECORDS = 4
"""How often calls may take more memory than ever before, once the first of them are over."""


class MemoryWatch:
    """Adds up the memory that the calls of one function keep; `read_free` returns the free bytes of the GPU."""

    def __init__(self, name: str, read_free: Callable[[], int]):
        self._name, self._read_free = name, read_free
        self._kept, self._most, self._records = 0, 0, 0

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Watch the calls inside the block, at whose end they are complete. Raises LaunchError for a leak."""
        before = self._read_free()
        yield
        self._kept += before - self._read_free()
        if self._kept > self._most:
            self._most = self._kept
            self._records += 1
        if self._records > MOST_RECORDS:
            raise LaunchError(
                f"leaks memory of the GPU: its calls keep {self._kept / 2**20:,.0f} MiB so far, and more each time; "
                f"free or reuse what a call allocates ({self._name})"
            )
