"""Energy of a launch, from the device's energy counter under steady load.

The sensor behind the counter may average over 0.1 s, and on some GPUs sees a quarter of the time only
(Z. Yang, K. Adamek, W. Armour, "Part-time power measurements", 2023, arXiv:2312.02741). A window
of the rounds is too short for it and its neighbours are other kernels, so energy has a load of its
own: one kernel alone, window after window. The rule: load for a quarter of the time first, so that
temperature and sensor settle; then count for at least 0.2 s; and the GPU must have
worked 90 % of that time, since the counter does not stop between windows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from gemmbench.backends.base import Executable
from gemmbench.backends.monitor import Monitor
from gemmbench.bench.record import Telemetry

_WINDOW = 0.1
_LEAD = 0.25
_LEAST = 0.2
_BUSY = 0.9


@dataclass(frozen=True)
class Energy:
    """Joules a launch, watts, and the seconds they were counted over."""

    joules: float
    watts: float
    seconds: float


def steady(
    executable: Executable,
    monitor: Monitor,
    seconds: float,
    most_launches: int,
    interrupted: Callable[[], bool],
    clock: Callable[[], float] = time.monotonic,
) -> Energy | None:
    """Energy of a launch from `seconds` of load; None where the rule is not met, or nothing is known.

    Raises what the executable raises.
    """
    once = executable.time(1).seconds
    launches = max(1, min(most_launches, math.ceil(_WINDOW / max(once, 1e-9))))

    def load(least: float) -> tuple[float, int]:
        """Seconds the device worked, and launches."""
        busy, count = 0.0, 0
        while busy < least and not interrupted():
            window = executable.time(launches)
            busy, count = busy + window.seconds, count + window.launches
        return busy, count

    load(_LEAD * seconds)
    start, before = clock(), monitor.energy()
    busy, count = load(seconds)
    wall, joules = clock() - start, monitor.energy() - before
    if math.isnan(joules) or joules <= 0 or not count or busy < _LEAST or busy < _BUSY * wall:
        return None
    return Energy(joules / count, joules / max(wall, busy), busy)


def noted(telemetry: Telemetry, energy: Energy | None) -> Telemetry:
    """The telemetry with an energy, if there is one."""
    if energy is None:
        return telemetry
    found = {"energy": energy.joules, "energy_power": energy.watts, "energy_seconds": energy.seconds}
    return msgspec.structs.replace(telemetry, **found)
