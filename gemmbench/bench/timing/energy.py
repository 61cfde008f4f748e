"""Energy per launch, from the device's energy counter under steady load.

The sensor behind the counter may average over 0.1 s, and on some GPUs it sees only a quarter of
the time (Z. Yang, K. Adamek, W. Armour, "Part-time power measurements", 2023, arXiv:2312.02741). A
window of the rounds is too short for it, and its neighbours are other kernels, so energy has a load
of its own: one kernel, window after window. The rule: run the load for a quarter of the time first,
so that temperature and sensor settle; then count for at least 0.2 s; and the GPU must have worked
for 90 % of that time, since the counter does not stop between windows.
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

_WINDOW_SECONDS = 0.1
_LEAD_SHARE = 0.25
_MIN_SECONDS = 0.2
_MIN_BUSY_SHARE = 0.9


@dataclass(frozen=True)
class Energy:
    """Joules per launch, watts, and the seconds over which they were counted."""

    joules: float
    watts: float
    seconds: float


def measure_energy(
    executable: Executable,
    monitor: Monitor,
    seconds: float,
    max_launches: int,
    is_interrupted: Callable[[], bool],
    clock: Callable[[], float] = time.monotonic,
) -> Energy | None:
    """Energy per launch from `seconds` of load; None if the rule is not met or there is no counter.

    Raises what the executable raises.
    """
    once = executable.time(1).seconds
    launches = max(1, min(max_launches, math.ceil(_WINDOW_SECONDS / max(once, 1e-9))))

    def run_load(duration: float) -> tuple[float, int]:
        """The seconds that the device worked, and the launches."""
        busy, count = 0.0, 0
        while busy < duration and not is_interrupted():
            window = executable.time(launches)
            busy, count = busy + window.seconds, count + window.launches
        return busy, count

    run_load(_LEAD_SHARE * seconds)
    start, before = clock(), monitor.energy()
    busy, count = run_load(seconds)
    wall, joules = clock() - start, monitor.energy() - before
    if math.isnan(joules) or joules <= 0 or not count or busy < _MIN_SECONDS or busy < _MIN_BUSY_SHARE * wall:
        return None
    return Energy(joules / count, joules / max(wall, busy), busy)


def with_energy(telemetry: Telemetry, energy: Energy | None) -> Telemetry:
    """The telemetry with the energy added, if there is one."""
    if energy is None:
        return telemetry
    fields = {"energy": energy.joules, "energy_power": energy.watts, "energy_seconds": energy.seconds}
    return msgspec.structs.replace(telemetry, **fields)
