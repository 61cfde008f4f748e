"""Sensors of the fake device: it reads the values of the script in turn, then repeats the last one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from gemmbench.backends.monitor import Reading

KEYS = ("power", "temperature", "slowed", "others", "watts")
TICK = 0.1
"""Seconds between two ticks of the energy counter."""


class FakeMonitor:
    """A `monitor.Monitor`: `power` and `temperature` have a value per reading, `slowed` has names, `others` a count.

    Time passes only while kernels run. Each draws `watts`, one number for all or one for each variant.
    """

    def __init__(self, script: Mapping[str, Any]):
        self._power, self._temperature = _repeat_last(script.get("power")), _repeat_last(script.get("temperature"))
        self._slowed = frozenset(script.get("slowed", ()))
        self._others: int | None = script.get("others")
        self._watts: float | Mapping[str, float] = script.get("watts", float("nan"))
        self._seconds = self._joules = self._shown = 0.0

    def spend(self, name: str, seconds: float) -> None:
        """Let the variant `name` run for a time."""
        watts = self._watts if isinstance(self._watts, (int, float)) else self._watts.get(name, float("nan"))
        ticks = int(self._seconds / TICK)
        self._seconds += seconds
        self._joules += watts * seconds
        if int(self._seconds / TICK) > ticks:
            self._shown = self._joules

    def read(self) -> Reading:
        """The next reading."""
        return Reading(next(self._power), next(self._temperature), 1e9, 2e9, self._slowed)

    def now(self) -> float:
        """Seconds that kernels have run."""
        return self._seconds

    def energy(self) -> float:
        """Joules at the last tick."""
        return self._shown

    def count_other_processes(self) -> int | None:
        """As scripted."""
        return self._others


def _repeat_last(values: float | Sequence[float] | None) -> itertools.chain[float]:
    listed = values if isinstance(values, list) else [float("nan") if values is None else values]
    return itertools.chain(listed, itertools.repeat(listed[-1]))
