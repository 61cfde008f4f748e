"""The host's cores: how many other threads want them, and how long idle BLAS threads spin on them."""

from __future__ import annotations

import os
import time
from pathlib import Path

_LOAD = Path("/proc/loadavg")
_READINGS, _PAUSE, _PERIOD = 3, 0.0002, 0.01
_BUSY = 0.25
"""A host with at least this many competitors per core counts as busy."""

BLAS_SETTINGS = {"OPENBLAS_THREAD_TIMEOUT": "20"}
"""Environment variables for a process that times OpenBLAS, set before NumPy is imported.

OpenBLAS threads without work spin for 2^N cycles before they sleep: by default 2^26, or 0.1 s, on
cores that the next window needs. 2^20 cycles are still longer than any gap between two launches of
a window.
"""


def count_cores() -> int:
    """Return the number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_competitors() -> float:
    """Count the threads of other processes that run or wait for a core now, minus the cores left for them.

    This process and its children must be idle. Returns the smallest of a few readings, because a
    thread that is about to sleep does not compete.
    """
    readings = [_read_competitors()]
    while readings[-1] and len(readings) < _READINGS:
        time.sleep(_PAUSE)
        readings.append(_read_competitors())
    return min(readings)


def average_competitors(seconds: float = 0.2) -> float:
    """Return the mean number of competitors over some seconds in which this process sleeps.

    The system's load average of the last minute would include this process and its compilers.
    """
    readings, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(_PERIOD)
        readings.append(_read_competitors())
    return sum(readings) / len(readings)


def _read_competitors() -> float:
    left_to_them = (os.cpu_count() or 1) - count_cores()
    return max(0.0, _count_running() - 1 - left_to_them)  # this process runs while it reads


def is_busy(competitors: float, cores: int) -> bool:
    """Return whether times on the host may be too long."""
    return competitors > _BUSY * cores


def _count_running() -> float:
    """Count the threads that run or wait for a core now; if unknown, return the mean of the last minute."""
    try:
        return int(_LOAD.read_text(encoding="utf-8").split()[3].partition("/")[0])
    except (OSError, IndexError, ValueError):
        return os.getloadavg()[0] + 1


def shorten_blas_spinning() -> None:
    """Apply the BLAS_SETTINGS that the user has not set; call this before NumPy is imported."""
    for name, value in BLAS_SETTINGS.items():
        os.environ.setdefault(name, value)
