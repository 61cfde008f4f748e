"""The sensors of a device that works without a pause."""

from __future__ import annotations

import math

from gemmbench.backends.base import Monitor, Reading
from gemmbench.bench.timing.energy import Energy, EnergyCounter

_PERIOD = 0.02


class LoadSensors:
    """Reads the energy counter at every poll and the other sensors at most every 20 ms; nothing without a monitor."""

    def __init__(self, monitor: Monitor | None):
        self._monitor = monitor
        self._counter = EnergyCounter(monitor) if monitor else None
        self._readings: list[tuple[float, Reading]] = []

    def poll(self) -> None:
        """Read what is due."""
        if self._monitor is None or self._counter is None:
            return
        self._counter.poll()
        now = self._monitor.now()
        if not self._readings or now >= self._readings[-1][0] + _PERIOD:
            self._readings.append((now, self._monitor.read()))

    def now(self) -> float:
        """Seconds on the clock of the sensors."""
        return self._monitor.now() if self._monitor else math.nan

    @property
    def last(self) -> Reading:
        """The last reading."""
        return self._readings[-1][1] if self._readings else Reading()

    def count_energy(self, start: float) -> Energy | None:
        """The energy drawn since a moment, from tick to tick; None if unknown."""
        return self._counter.count(start, self.now()) if self._counter else None

    def list_slowing(self, start: float) -> list[str]:
        """What held the clock down since a moment."""
        return sorted({name for moment, reading in self._readings if moment >= start for name in reading.slowed})
