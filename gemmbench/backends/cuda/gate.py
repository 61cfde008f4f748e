"""The gate, a kernel that holds the stream until everything is queued, and a way to measure a window's SM clock."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from gemmbench.backends.cuda.driver import load_driver, pack_launch

QUEUE = 512
"""The most kernels to queue behind a gate.

A full launch queue would block the host, which could then never open the gate.
"""

LIMIT = 1.0
"""Seconds after which a gate opens by itself.

This is much longer than queuing takes, but shorter than a display's watchdog.
"""

# Variables set by tools that intercept driver calls. Such tools may run kernels one at a time,
# so a kernel that waits for the host would never end.
_TOOLS = {
    "NV_COMPUTE_PROFILER_PERFWORKS_DIR": "Nsight Compute",
    "NV_NSIGHT_INJECTION_PORT_BASE": "Nsight Compute",
    "NV_SANITIZER_INJECTION_PORT_BASE": "compute-sanitizer",
    "NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN": "compute-sanitizer",
    "NSYS_PROFILING_SESSION_ID": "Nsight Systems",
    "CUDA_INJECTION64_PATH": "a tool in CUDA_INJECTION64_PATH",
}
_PRELOADED = ("libsanitizer", "TreeLauncher", "InterceptorInjection", "libcuda-injection")


def why_gate_is_off(environment: Mapping[str, str] = os.environ) -> str:
    """Return why windows cannot use a gate; "" if they can."""
    if environment.get("GEMMBENCH_GATE") == "0":
        return "GEMMBENCH_GATE=0"
    if environment.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0"):
        return "CUDA_LAUNCH_BLOCKING"
    for variable, tool in _TOOLS.items():
        if environment.get(variable):
            return tool
    preloaded = environment.get("LD_PRELOAD", "")
    return next((f"{name} in LD_PRELOAD" for name in _PRELOADED if name in preloaded), "")


class Gate:
    """Holds a stream from close() to open(), but for at most `limit` seconds.

    `kernel` is the `gate` function of helpers.cu. A word in mapped host memory tells how many gates are open. If a gate
    opens by itself, it writes its number to the next word.
    """

    def __init__(self, kernel: Any, stream: Any, limit: float = LIMIT):
        cuda = load_driver()
        self._words = cuda.pagelocked_zeros(2, "uint32", mem_flags=cuda.host_alloc_flags.DEVICEMAP)
        self._address = int(self._words.base.get_device_pointer())
        self._kernel, self._stream, self._limit = kernel, stream, int(limit * 1e9)
        self._ticket = 0

    def close(self) -> None:
        """Queue the kernel that waits. Everything queued after it also waits."""
        self._ticket += 1
        one = (1, 1, 1)
        words = self._address, self._address + self._words.itemsize
        pack_launch(self._kernel, one, one, self._stream, "PPIQ", *words, self._ticket, self._limit)()

    def open(self) -> None:
        """Release the stream. This is harmless if it was never held."""
        self._words[0] = self._ticket

    @property
    def expired(self) -> bool:
        """Whether the last gate opened by itself. Valid once the stream is synchronised."""
        return int(self._words[1]) == self._ticket > 0


_FIELDS = 3  # multiprocessor, cycles and nanoseconds, as in helpers.cu
_BLOCKS_PER_SM = 4
_MARKS = 4
_SHORTEST = 50_000  # ns; the timer may advance in steps of 1 us, which are 2 % of this


def median_frequency(before: np.ndarray, after: np.ndarray) -> float:
    """Return the clock in Hz from two stamps with rows of (multiprocessor, cycles, nanoseconds); 0 if unknown.

    The result is the median over the multiprocessors whose rows in the two stamps are at least 50 us apart.
    """
    count = 1 + int(max(before[:, 0].max(), after[:, 0].max()))
    first, last = _find_rows(before, count), _find_rows(after, count)
    both = (first >= 0) & (last >= 0)
    cycles, ns = (after[last[both], 1:].astype(np.int64) - before[first[both], 1:].astype(np.int64)).T
    known = ns >= _SHORTEST
    return 1e9 * float(np.median(cycles[known] / ns[known])) if known.any() else 0.0


def _find_rows(stamp: np.ndarray, count: int) -> np.ndarray:
    """Return the index of one row for each multiprocessor, or -1 if it has none. Any of its rows will do."""
    rows = np.full(count, -1)
    rows[stamp[:, 0].astype(np.intp)] = np.arange(len(stamp))
    return rows


class Clock:
    """Stamps a stream before and after a window. `kernel` is the `stamp` function of helpers.cu."""

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

        The returned array holds the stamp once the stream has reached it. It is reused once all buffers have been used.
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
        """Return the clock in Hz between the last two stamps, or 0 if unknown. The stream must be synchronised."""
        self._cuda.memcpy_dtoh(self._seen, self._slots)
        return median_frequency(*self._seen)
