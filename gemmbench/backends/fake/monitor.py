"""Sensors of the fake device: it reads the values of the script in turn, then repeats the last one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from gemmbench.backends.monitor import Reading

KEYS = ("power", "temperature", "slowed", "others", "joules")


class FakeMonitor:
    """A `monitor.Monitor`: `power` and `temperature` have a value per reading, `slowed` has names, `others` a count.

    `joules` is the increase of the energy counter between two readings.
    """

    def __init__(self, script: Mapping[str, Any]):
        self._power, self._temperature = _repeat_last(script.get("power")), _repeat_last(script.get("temperature"))
        self._slowed = frozenset(script.get("slowed", ()))
        self._others: int | None = script.get("others")
        self._joules = itertools.count(0.0, script.get("joules", float("nan")))

    def read(self) -> Reading:
        """The next reading."""
        return Reading(next(self._power), next(self._temperature), 1e9, 2e9, self._slowed)

    def energy(self) -> float:
        """Joules."""
        return float(next(self._joules))

    def count_other_processes(self) -> int | None:
        """As scripted."""
        return self._others


def _repeat_last(values: float | Sequence[float] | None) -> itertools.chain[float]:
    listed = values if isinstance(values, list) else [float("nan") if values is None else values]
    return itertools.chain(listed, itertools.repeat(listed[-1]))
