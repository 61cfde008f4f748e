"""Blocks of rounds: the warm-up, the windows of an executable, and the steps between blocks."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import astuple, dataclass, field
from statistics import fmean
from typing import Protocol

from gemmbench.backends.base import Monitor, Window
from gemmbench.bench.timing.stats import Round
from gemmbench.errors import PlanError

_MEANINGFUL, _EXCHANGE, _SHORTEST = 1e-3, 3e-4, 1e-9
"""Times in seconds: the shortest wait that can check a reported time, the part of it that the command and the reply
take, and the smallest divisor.
"""
_SEVERAL = 6
"""With at least this many windows, a busy host does not delay all of them.

With fewer, only long windows are conclusive.
"""


@dataclass(frozen=True)
class Observation:
    """Readings from a stretch of load. NaN means unknown.

    `time` is in seconds per launch or any proportional unit, `clock` in Hz, `power` in watts and `temperature` in
    degrees Celsius.
    """

    time: float
    clock: float = math.nan
    power: float = math.nan
    temperature: float = math.nan


@dataclass(frozen=True)
class Tolerance:
    """How far apart observations may be: as fractions of their mean, and in degrees Celsius."""

    time: float = 0.005
    clock: float = 0.005
    power: float = 0.02
    temperature: float = math.inf


class Steadiness:
    """Takes observations in order. The state is steady once the last `count` of them agree within `tolerance`."""

    def __init__(self, tolerance: Tolerance | None = None, count: int = 3):
        self._tolerance, self._last = tolerance or Tolerance(), deque[Observation](maxlen=count)

    def add(self, observation: Observation) -> None:
        """Add the next observation."""
        self._last.append(observation)

    @property
    def is_steady(self) -> bool:
        """Return whether there are enough observations, and they agree in all quantities that all of them contain."""
        if len(self._last) < (self._last.maxlen or 0):
            return False
        *shares, degrees = astuple(self._tolerance)
        *relative, temperatures = zip(*map(astuple, self._last), strict=True)
        close = all(_range(values) <= share * fmean(values) for values, share in _known(relative, shares))
        return close and not _range(temperatures) > degrees


def _known(columns: list[tuple[float, ...]], shares: list[float]) -> list[tuple[tuple[float, ...], float]]:
    """Return the columns in which all values are known, each with its tolerance."""
    return [pair for pair in zip(columns, shares, strict=True) if not any(map(math.isnan, pair[0]))]


def _range(values: tuple[float, ...]) -> float:
    return max(values) - min(values)


_STRETCH = 0.05
_STRETCHES = 60
"""A stretch lasts 50 ms. If the limit is shorter than 3 s, it lasts the limit divided by this number."""
_LONG_WINDOW = 0.1


class WarmUp:
    """Runs windows of executables.

    `time_window` times one window, given the executable's index, and returns None if it failed.
    """

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
        """Warm up until everything is steady, or for `limit` seconds of windows or of host time.

        An executable with long windows runs only once. It is then warm, and more runs would take too much of the time.
        """
        warming, spent, steadiness, deadline = list(indices), 0.0, Steadiness(), self._now() + limit
        while warming and spent < limit and not self._is_over(deadline) and not steadiness.is_steady:
            warming, seconds, observation = self._run_stretch(warming, min(_STRETCH, limit / _STRETCHES), deadline)
            spent += seconds
            steadiness.add(observation)

    def _is_over(self, deadline: float) -> bool:
        return self._is_interrupted() or self._now() >= deadline

    def _run_stretch(self, warming: list[int], least: float, deadline: float) -> tuple[list[int], float, Observation]:
        """Run passes for `least` seconds.

        Returns the executables that are still warming up, the seconds, and the readings.
        """
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
        """Return the time of a launch relative to the first window of the same executable."""
        seconds = window.seconds / window.launches
        return seconds / self._first.setdefault(index, max(seconds, 1e-12))


@dataclass
class Measurement:
    """The windows of one executable by round. The last ones have `launches` launches.

    `stopped` is the reason why there are no more: "until" (its interval is narrow enough), "beaten" (it is clearly
    slower than the best of a contest), "rounds", "max-time", "interrupted" or "failed". `fault` is the error that a
    window raised, if any.
    """

    launches: int = 1
    windows: dict[Round, Window] = field(default_factory=dict)
    stopped: str = "rounds"
    fault: PlanError | None = None

    def has_block(self, block: int) -> bool:
        """Return whether there is a window in this block."""
        return bool(self.list_block(block))

    def list_block(self, block: int) -> list[Window]:
        """Return the windows in this block."""
        return [window for round_, window in self.windows.items() if round_.block == block]

    def drop_block(self, block: int) -> None:
        """Forget the windows of this block."""
        self.windows = {round_: window for round_, window in self.windows.items() if round_.block != block}

    @property
    def samples(self) -> dict[Round, float]:
        """Seconds per launch."""
        return {round_: window.seconds / window.launches for round_, window in self.windows.items()}

    @property
    def clocks(self) -> list[float]:
        """The SM clock of each window in which it is known."""
        return [window.clock_hz for window in self.windows.values() if window.clock_hz]

    @property
    def competitors(self) -> list[float]:
        """The number of competitors for each window in which they were counted."""
        counts = (window.competitors for window in self.windows.values())
        return [count for count in counts if count is not None]

    @property
    def elapsed_ratio(self) -> float | None:
        """A lower estimate of gemmbench's waiting time divided by the time that the kernel's process reports.

        Only windows with the most launches count, because windows that seem too short get more launches in the next
        block. A busy host delays the replies of many windows, but not of all. The estimate is therefore the smallest
        ratio of up to eleven windows, or about the lower quartile of more. It is None if there are no windows, or if
        the wait is too short to be meaningful.
        """
        most = max((window.launches for window in self.windows.values()), default=0)
        windows = [window for window in self.windows.values() if window.launches == most]
        few, least = max(0, len(windows) // 4 - 2), _MEANINGFUL if len(windows) >= _SEVERAL else _LONG_WINDOW
        if not windows or sorted(window.elapsed for window in windows)[few] < least:
            return None
        return sorted((window.elapsed - _EXCHANGE) / max(window.seconds, _SHORTEST) for window in windows)[few]

    @property
    def gated(self) -> bool:
        """Whether all windows are free of host time."""
        return all(window.gated for window in self.windows.values())


class BlockSteps(Protocol):
    """The steps between blocks. Executables are identified by index."""

    def begin(self, block: int, launches: Mapping[int, int]) -> Collection[int]:
        """Prepare executables for a block, given the launches per window. Returns those that are ready."""

    def record_if_short(self) -> Collection[int]:
        """Record the launches of all executables as graphs if some are short.

        Returns the executables that were bound again.
        """

    def inspect(self, index: int, launches: int) -> None:
        """Inspect the results of an executable's last window in a block, immediately after it."""

    def end(self, block: int, active: Collection[int], last: Collection[int]) -> Collection[int]:
        """Check executables after a block, which is the last one for those in `last`. Returns those that passed."""


class NoSteps:
    """`BlockSteps` that do nothing, for executables that do not change."""

    def begin(self, block: int, launches: Mapping[int, int]) -> Collection[int]:
        """See BlockSteps."""
        return launches

    def record_if_short(self) -> Collection[int]:
        """See BlockSteps."""
        return ()

    def inspect(self, index: int, launches: int) -> None:
        """See BlockSteps."""

    def end(self, block: int, active: Collection[int], last: Collection[int]) -> Collection[int]:
        """See BlockSteps."""
        return active
