"""The host's cores: the number of other threads that want them, and settings for idle BLAS threads."""

from __future__ import annotations

import os
import time
from pathlib import Path

_LOAD = Path("/proc/loadavg")
_READINGS, _PAUSE, _PERIOD = 3, 0.0002, 0.01
_BUSY = 0.25
"""The host counts as busy if there are at least this many competitors per core."""

BLAS_SETTINGS = {"OPENBLAS_THREAD_TIMEOUT": "20"}
"""Environment variables for a process that times OpenBLAS. Set them before NumPy is imported.

Idle OpenBLAS threads spin for 2^N cycles before they sleep. The default of 2^26 cycles, or 0.1 s, would occupy cores
that the next window needs. 2^20 cycles are still longer than any gap between two launches of a window.
"""


def count_cores() -> int:
    """Return the number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_competitors() -> float:
    """Count the threads of other processes that are running or waiting for a core, minus the cores left for them.

    This process and its children must be idle. Returns the smallest of a few readings, because a thread that is about
    to sleep is not a competitor.
    """
    readings = [_read_competitors()]
    while readings[-1] and len(readings) < _READINGS:
        time.sleep(_PAUSE)
        readings.append(_read_competitors())
    return min(readings)


def average_competitors(seconds: float = 0.2) -> float:
    """Sleep for some seconds and return the mean number of competitors during that time.

    The system's load average over the last minute would include this process and its compilers.
    """
    readings, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(_PERIOD)
        readings.append(_read_competitors())
    return sum(readings) / len(readings)


def _read_competitors() -> float:
    left_to_them = (os.cpu_count() or 1) - count_cores()
    return max(0.0, _count_running() - 1 - left_to_them)  # this process itself is running


def is_busy(competitors: float, cores: int) -> bool:
    """Return whether times measured on the host may be too long."""
    return competitors > _BUSY * cores


def _count_running() -> float:
    """Count the threads that are running or waiting for a core. If unknown, return the mean of the last minute."""
    try:
        return int(_LOAD.read_text(encoding="utf-8").split()[3].partition("/")[0])
    except (OSError, IndexError, ValueError):
        return os.getloadavg()[0] + 1


def shorten_blas_spinning() -> None:
    """Apply the BLAS_SETTINGS that the user has not set. Call this before NumPy is imported."""
    for name, value in BLAS_SETTINGS.items():
        os.environ.setdefault(name, value)
