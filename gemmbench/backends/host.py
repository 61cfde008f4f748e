"""The host's cores: how many other processes use them, and how long idle BLAS threads spin on them."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_LOAD = Path("/proc/loadavg")
_READINGS, _PERIOD = 20, 0.01
_BUSY = 0.25
"""Processes per core from which on a host is busy."""

BLAS_SETTINGS = {"OPENBLAS_THREAD_TIMEOUT": "20"}
"""Environment variables for a process that times OpenBLAS, set before NumPy is imported.

Threads of OpenBLAS that have no work spin for 2^N cycles before they sleep, by default 2^26 or
0.1 s, on cores that the next window needs. 2^20 cycles are still longer than any gap between two
launches of a window.
"""


@dataclass(frozen=True)
class HostLoad:
    """How many other processes used or waited for a core of `cores`, on average."""

    processes: float
    cores: int

    @property
    def is_busy(self) -> bool:
        """Times on the host may be too long."""
        return self.processes > _BUSY * self.cores

    def count_free_cores(self, allowed: int) -> int:
        """How many of the cores that this process may use are free, at least 1."""
        return max(1, min(allowed, self.cores - round(self.processes)))


def measure_host_load() -> HostLoad:
    """Watch the host for 0.2 s, in which this process sleeps.

    The mean load of the last minute would also count what this process and its compilers did.
    """
    readings = []
    for _ in range(_READINGS):
        time.sleep(_PERIOD)
        readings.append(_count_running() - 1)  # this process runs while it reads
    return HostLoad(max(0.0, sum(readings) / _READINGS), os.cpu_count() or 1)


def _count_running() -> float:
    """Threads that run or wait for a core now; the mean of the last minute where that is unknown."""
    try:
        return int(_LOAD.read_text().split()[3].partition("/")[0])
    except (OSError, IndexError, ValueError):
        return os.getloadavg()[0] + 1


def shorten_blas_spinning() -> None:
    """Apply BLAS_SETTINGS to this process, where the user has not set them; call it before NumPy is imported."""
    for name, value in BLAS_SETTINGS.items():
        os.environ.setdefault(name, value)
