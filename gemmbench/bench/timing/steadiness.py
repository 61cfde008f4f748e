"""When a device is steady under load: its last observations agree in time, clock, power and temperature."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import astuple, dataclass
from statistics import fmean


@dataclass(frozen=True)
class Observation:
    """What was seen during a stretch of load; NaN where unknown.

    `time` is seconds per launch, or any number that is proportional to it; `clock` is in Hz, `power`
    in watts, `temperature` in degrees Celsius.
    """

    time: float
    clock: float = math.nan
    power: float = math.nan
    temperature: float = math.nan


@dataclass(frozen=True)
class Tolerance:
    """How far observations may lie apart: shares of their mean, and degrees Celsius."""

    time: float = 0.005
    clock: float = 0.005
    power: float = 0.02
    temperature: float = math.inf


class Steadiness:
    """Takes observations in order; steady once the last `count` of them agree within `tolerance`."""

    def __init__(self, tolerance: Tolerance | None = None, count: int = 3):
        self._tolerance, self._last = tolerance or Tolerance(), deque[Observation](maxlen=count)

    def add(self, observation: Observation) -> None:
        """Take the next observation."""
        self._last.append(observation)

    @property
    def is_steady(self) -> bool:
        """Whether there are enough observations, and they agree in everything that all of them know."""
        if len(self._last) < (self._last.maxlen or 0):
            return False
        *shares, degrees = astuple(self._tolerance)
        *relative, temperatures = zip(*map(astuple, self._last), strict=True)
        close = all(_range(values) <= share * fmean(values) for values, share in _known(relative, shares))
        return close and not _range(temperatures) > degrees


def _known(columns: list[tuple[float, ...]], shares: list[float]) -> list[tuple[tuple[float, ...], float]]:
    """The columns in which every value is known, each with its share."""
    return [pair for pair in zip(columns, shares, strict=True) if not any(map(math.isnan, pair[0]))]


def _range(values: tuple[float, ...]) -> float:
    return max(values) - min(values)
