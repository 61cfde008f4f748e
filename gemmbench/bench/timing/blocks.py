"""Blocks of rounds: warm-up until the device is steady, the windows of an executable, and steps between blocks."""

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
"""Seconds: the shortest wait that can check a reported time, the share of command and reply, and the least divisor."""
_SEVERAL = 6
"""Enough windows that a busy host does not delay them all; with fewer, only long windows are conclusive."""


@dataclass(frozen=True)
class Observation:
    """Readings from a stretch of load; NaN if unknown.

    `time` is seconds per launch, or any number proportional to it; `clock` is in Hz, `power` in
    watts, `temperature` in degrees Celsius.
    """

    time: float
    clock: float = math.nan
    power: float = math.nan
    temperature: float = math.nan


@dataclass(frozen=True)
class Tolerance:
    """How far apart observations may be: shares of their mean, and degrees Celsius."""

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
        """Return whether there are enough observations and they agree in every quantity that all of them contain."""
        if len(self._last) < (self._last.maxlen or 0):
            return False
        *shares, degrees = astuple(self._tolerance)
        *relative, temperatures = zip(*map(astuple, self._last), strict=True)
        close = all(_range(values) <= share * fmean(values) for values, share in _known(relative, shares))
        return close and not _range(temperatures) > degrees


def _known(columns: list[tuple[float, ...]], shares: list[float]) -> list[tuple[tuple[float, ...], float]]:
    """Return the columns in which every value is known, each with its share."""
    return [pair for pair in zip(columns, shares, strict=True) if not any(map(math.isnan, pair[0]))]


def _range(values: tuple[float, ...]) -> float:
    return max(values) - min(values)


_STRETCH = 0.05
_STRETCHES = 60
"""A stretch lasts 50 ms, or this part of a limit that is shorter than 3 s."""
_LONG_WINDOW = 0.1


class WarmUp:
    """Runs windows of executables; `time_window` times one by its index and returns None if it failed."""

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

        An executable with long windows runs once: it is then warm, and more runs would use up the time.
        """
        warming, spent, steadiness, deadline = list(indices), 0.0, Steadiness(), self._now() + limit
        while warming and spent < limit and not self._is_over(deadline) and not steadiness.is_steady:
            warming, seconds, observation = self._run_stretch(warming, min(_STRETCH, limit / _STRETCHES), deadline)
            spent += seconds
            steadiness.add(observation)

    def _is_over(self, deadline: float) -> bool:
        return self._is_interrupted() or self._now() >= deadline

    def _run_stretch(self, warming: list[int], least: float, deadline: float) -> tuple[list[int], float, Observation]:
        """Run pass after pass for `least` seconds; returns what still has to warm up, the seconds, and the readings."""
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
    """The windows of one executable by round; the last ones have `launches` launches.

    `stopped` says why there are no more: "until" (its interval is narrow enough), "beaten" (it is clearly
    slower than the best of a contest), "rounds", "max-time", "interrupted", or "failed", with the `fault` that a
    window raised, if any.
    """

    launches: int = 1
    windows: dict[Round, Window] = field(default_factory=dict)
    stopped: str = "rounds"
    fault: PlanError | None = None

    def has_block(self, block: int) -> bool:
        """Return whether it has a window in this block."""
        return bool(self.list_block(block))

    def list_block(self, block: int) -> list[Window]:
        """Its windows in this block."""
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
        """The competitors of each window in which they were counted."""
        counts = (window.competitors for window in self.windows.values())
        return [count for count in counts if count is not None]

    @property
    def elapsed_ratio(self) -> float | None:
        """Lower estimate of gemmbench's waiting time divided by the time that the kernel's process reports.

        Only windows with the most launches count, since windows that seem short get more in the next block. A busy
        host delays the replies of many windows but not of all, so this is the least ratio of up to eleven windows, and
        about the lower quartile of more. None without windows, or if the wait is too short to mean anything.
        """
        most = max((window.launches for window in self.windows.values()), default=0)
        windows = [window for window in self.windows.values() if window.launches == most]
        few, least = max(0, len(windows) // 4 - 2), _MEANINGFUL if len(windows) >= _SEVERAL else _LONG_WINDOW
        if not windows or sorted(window.elapsed for window in windows)[few] < least:
            return None
        return sorted((window.elapsed - _EXCHANGE) / max(window.seconds, _SHORTEST) for window in windows)[few]

    @property
    def gated(self) -> bool:
        """Whether no window can contain host time."""
        return all(window.gated for window in self.windows.values())


class BlockSteps(Protocol):
    """What happens between blocks; executables are identified by index."""

    def begin(self, block: int, launches: Mapping[int, int]) -> Collection[int]:
        """Prepare these executables for a block, given the launches of their windows; returns those that are ready."""

    def record_if_short(self) -> Collection[int]:
        """Record the launches of all executables as graphs if some of the times are short; returns those rebound."""

    def inspect(self, index: int, launches: int) -> None:
        """Inspect the results of an executable's last window in a block, right after it."""

    def end(self, block: int, active: Collection[int], last: Collection[int]) -> Collection[int]:
        """Check these executables after a block, the last one for those in `last`; returns those that passed."""


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
