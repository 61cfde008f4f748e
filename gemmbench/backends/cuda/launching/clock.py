"""The SM clock during a window, from stamps taken on the device itself.

NVML, read between windows, shows the idle clock. The cycle counter of each multiprocessor and the
global nanosecond timer, read before and after the window, show the clock during the kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gemmbench.backends.cuda.launching.packed_launch import pack_launch
from gemmbench.backends.cuda.system.driver import load_driver

_FIELDS = 3  # multiprocessor, cycles, nanoseconds, as in helpers.cu
_BLOCKS_PER_SM = 4
_MARKS = 4
_SHORTEST = 50_000  # ns; the timer may step by 1 us, 2 % of this


def median_frequency(before: np.ndarray, after: np.ndarray) -> float:
    """Hz from two stamps, rows of (multiprocessor, cycles, nanoseconds); 0 if unknown.

    It is the median over the multiprocessors in both stamps that are at least 50 us apart.
    """
    count = 1 + int(max(before[:, 0].max(), after[:, 0].max()))
    first, last = _find_rows(before, count), _find_rows(after, count)
    both = (first >= 0) & (last >= 0)
    cycles, ns = (after[last[both], 1:].astype(np.int64) - before[first[both], 1:].astype(np.int64)).T
    known = ns >= _SHORTEST
    return 1e9 * float(np.median(cycles[known] / ns[known])) if known.any() else 0.0


def _find_rows(stamp: np.ndarray, count: int) -> np.ndarray:
    """A row of each multiprocessor, -1 for one without; of several any will do, since a row is of one moment."""
    rows = np.full(count, -1)
    rows[stamp[:, 0].astype(np.intp)] = np.arange(len(stamp))
    return rows


class Clock:
    """Stamps a stream before and after a window; `kernel` is the `stamp` function of helpers.cu."""

    def __init__(self, kernel: Any, stream: Any, sms: int):
        cuda = load_driver()
        self._cuda, blocks = cuda, _BLOCKS_PER_SM * sms
        self._seen = np.zeros((2, blocks, _FIELDS), np.uint64)
        self._slots = cuda.mem_alloc(self._seen.nbytes)
        slots = (int(self._slots) + which * self._seen[which].nbytes for which in (0, 1))
        self._marks = cuda.pagelocked_empty((_MARKS, *self._seen.shape[1:]), np.uint64)
        self._marked = 0
        self._stream = stream
        self._stamps = [pack_launch(kernel, (blocks, 1, 1), (1, 1, 1), stream, "P", slot) for slot in slots]

    def mark(self) -> np.ndarray:
        """Queue a stamp and its copy to the host.

        The array holds it once the stream has got there, until as many marks as there are buffers
        have followed.
        """
        buffer: np.ndarray = self._marks[self._marked % _MARKS]
        self._marked += 1
        self.stamp(0)
        self._cuda.memcpy_dtoh_async(buffer, self._slots, self._stream)
        return buffer

    def stamp(self, which: int) -> None:
        """Queue stamp 0 (before) or 1 (after)."""
        self._stamps[which]()

    def read(self) -> float:
        """Hz between the last two stamps, 0 if unknown; the stream must be synchronised."""
        self._cuda.memcpy_dtoh(self._seen, self._slots)
        return median_frequency(*self._seen)
