"""Warming up: runs all executables of a batch until clock, power and time are steady.

A single pass over short windows says little: the power sensor averages over about 0.1 s, and a
pass over many kernels would be judged by its longest. So passes are gathered into stretches, each
kernel's time counts relative to its own first one, and the last three stretches must agree.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from statistics import fmean

from gemmbench.backends.base import Monitor, Window
from gemmbench.bench.timing.steadiness import Observation, Steadiness

_STRETCH = 0.05
_STRETCHES = 60
"""A stretch lasts 50 ms, or this part of a limit that is shorter than 3 s."""
_LONG_WINDOW = 0.1


class WarmUp:
    """Runs windows of executables, which `time_window` times by index; None means that one failed."""

    def __init__(
        self,
        time_window: Callable[[int], Window | None],
        is_interrupted: Callable[[], bool],
        monitor: Monitor | None = None,
        now: Callable[[], float] = time.monotonic,
    ):
        self._time_window, self._is_interrupted, self._monitor = time_window, is_interrupted, monitor
        self._now = now
        self._first: dict[int, float] = {}

    def run(self, indices: Collection[int], limit: float) -> None:
        """Warm up until everything is steady, or for `limit` seconds, which the host may need for short windows.

        Whatever has long windows runs once: it is warm after that, and would use up the time.
        """
        warming, spent, steadiness, deadline = list(indices), 0.0, Steadiness(), self._now() + limit
        while warming and spent < limit and not self._is_over(deadline) and not steadiness.is_steady:
            warming, seconds, observation = self._run_stretch(warming, min(_STRETCH, limit / _STRETCHES), deadline)
            spent += seconds
            steadiness.add(observation)

    def _is_over(self, deadline: float) -> bool:
        return self._is_interrupted() or self._now() >= deadline

    def _run_stretch(self, warming: list[int], least: float, deadline: float) -> tuple[list[int], float, Observation]:
        """Pass after pass for `least` seconds; returns what still has to warm up, the seconds, and what was seen."""
        seconds, windows = 0.0, list[tuple[int, Window]]()
        while warming and seconds < least and not self._is_over(deadline):
            passed = [(index, window) for index in warming if (window := self._time_window(index))]
            warming = [index for index, window in passed if window.seconds < _LONG_WINDOW]
            seconds += sum(window.seconds for _, window in passed)
            windows += passed
        return warming, seconds, self._observe([(index, window) for index, window in windows if index in warming])

    def _observe(self, windows: list[tuple[int, Window]]) -> Observation:
        clocks = [window.clock_hz for _, window in windows if window.clock_hz]
        return Observation(
            time=fmean([self._relative_time(index, window) for index, window in windows] or [math.nan]),
            clock=fmean(clocks or [math.nan]),
            power=self._monitor.read().power if self._monitor else math.nan,
        )

    def _relative_time(self, index: int, window: Window) -> float:
        """The time of a launch relative to that in the first window of the same executable."""
        seconds = window.seconds / window.launches
        return seconds / self._first.setdefault(index, max(seconds, 1e-12))
