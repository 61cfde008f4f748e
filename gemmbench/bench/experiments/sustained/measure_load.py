"""One block of a steady load: launches without a pause, counted once the device has settled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from statistics import fmean

from gemmbench.backends.base import SteadyExecutable, Window
from gemmbench.bench.experiments.sustained.load_sensors import LoadSensors
from gemmbench.bench.sustained import Load
from gemmbench.bench.timing.steadiness import Observation, Steadiness, Tolerance

_TOLERANCE = Tolerance(temperature=1.0)
_STRETCHES = 20
"""The parts of a block that are compared with each other to see whether the device has settled."""
_MOST_SETTLING = 0.5
"""The share of a block that may pass before counting begins."""


def measure_load(
    executable: SteadyExecutable,
    launches: int,
    seconds: float,
    sensors: LoadSensors,
    is_interrupted: Callable[[], bool],
) -> Load | None:
    """Launch for `seconds` in windows of `launches`; None after an interruption. Raises what the executable raises."""
    with closing(executable.sustain(launches, sensors.poll)) as windows:
        spent, settled = settle(windows, sensors, _MOST_SETTLING * seconds, seconds / _STRETCHES, is_interrupted)
        start = sensors.now()
        counted = _take(windows, seconds - spent, is_interrupted)
        if is_interrupted():
            return None
        return _describe(counted, sensors, start, settled)


def settle(
    windows: Iterator[Window],
    sensors: LoadSensors,
    limit: float,
    stretch: float,
    is_interrupted: Callable[[], bool],
) -> tuple[float, bool]:
    """Launch until the device is steady, or for `limit` seconds; returns the seconds, and whether it is steady."""
    spent, steadiness = 0.0, Steadiness(_TOLERANCE)
    while spent < limit and not steadiness.is_steady and not is_interrupted():
        taken = _take(windows, stretch, is_interrupted)
        spent += sum(window.seconds for window in taken)
        steadiness.add(_observe(taken, sensors))
    return spent, steadiness.is_steady


def _take(windows: Iterator[Window], seconds: float, is_interrupted: Callable[[], bool]) -> list[Window]:
    """Windows for so many seconds, at least one."""
    taken = [next(windows)]
    spent = taken[0].seconds
    while spent < seconds and not is_interrupted():
        taken.append(next(windows))
        spent += taken[-1].seconds
    return taken


def _observe(windows: list[Window], sensors: LoadSensors) -> Observation:
    reading = sensors.last
    return Observation(_mean_time(windows), _mean_clock(windows), reading.power, reading.temperature)


def _describe(windows: list[Window], sensors: LoadSensors, start: float, settled: bool) -> Load:
    energy, clock, temperature = sensors.count_energy(start), _mean_clock(windows), sensors.last.temperature
    return Load(
        seconds=sum(window.seconds for window in windows),
        launches=sum(window.launches for window in windows),
        clock_hz=None if math.isnan(clock) else clock,
        joules=energy.joules if energy else None,
        joules_seconds=energy.seconds if energy else 0.0,
        temperature=None if math.isnan(temperature) else temperature,
        slowed_by=sensors.list_slowing(start),
        settled=settled,
    )


def _mean_time(windows: list[Window]) -> float:
    """Seconds per launch."""
    return sum(window.seconds for window in windows) / sum(window.launches for window in windows)


def _mean_clock(windows: list[Window]) -> float:
    """Hz; NaN if unknown."""
    return fmean([window.clock_hz for window in windows if window.clock_hz] or [math.nan])
