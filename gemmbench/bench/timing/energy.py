"""Watts from the energy counter of a device, read at its ticks.

The counter grows in ticks, 20 to 100 ms apart, and the sensor behind it may average over 0.1 s (Z.
Yang, K. Adamek, W. Armour, "Part-time power measurements", 2023, arXiv:2312.02741). Read at any
moment, it would be wrong by up to a tick at both ends: 50 % of 0.2 s. So it is read again and again
while the load runs, and energy is counted from one tick to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import dropwhile, takewhile

from gemmbench.backends.base import Monitor

_LEAST_SECONDS = 0.05


@dataclass(frozen=True)
class Tick:
    """When the counter was first seen with a new value, and its joules."""

    seconds: float
    joules: float


@dataclass(frozen=True)
class Energy:
    """Joules drawn between two ticks, and the seconds between them."""

    joules: float
    seconds: float


class EnergyCounter:
    """Notes the ticks of a monitor's energy counter; `poll` it far more often than it ticks."""

    def __init__(self, monitor: Monitor):
        self._monitor, self._last = monitor, monitor.energy()
        self._ticks: list[Tick] = []

    def poll(self) -> None:
        """Read the counter, and note a tick if it has grown."""
        joules = self._monitor.energy()
        if joules > self._last:
            self._ticks.append(Tick(self._monitor.now(), joules))
        self._last = joules

    def count(self, start: float, end: float) -> Energy | None:
        """The energy from the first tick to the last between two moments; None if they are less than 50 ms apart."""
        later = dropwhile(lambda tick: tick.seconds < start, self._ticks)
        inside = list(takewhile(lambda tick: tick.seconds <= end, later))
        if not inside or inside[-1].seconds - inside[0].seconds < _LEAST_SECONDS:
            return None
        return Energy(inside[-1].joules - inside[0].joules, inside[-1].seconds - inside[0].seconds)
