"""Blocks of rounds: warming up until the device is steady, the windows of one executable, steps between blocks."""

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
"""Seconds: the shortest wait that says something of the time reported; what command and reply may take of it."""
_SEVERAL = 6
"""Enough windows that a busy host does not delay all of them; with fewer, only long ones are conclusive."""


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


@dataclass
class Measurement:
    """The windows of one executable by their rounds; the last ones have `launches` launches.

    `stopped` is why there are no more: "until" (its interval is narrow enough), "beaten" (it is clearly
    slower than the best of a contest), "rounds", "max-time", "interrupted", or "failed", with `fault` if a
    window raised it.
    """

    launches: int = 1
    windows: dict[Round, Window] = field(default_factory=dict)
    stopped: str = "rounds"
    fault: PlanError | None = None

    def has_block(self, block: int) -> bool:
        """Whether it has a window in this block."""
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
        """How many times as long gemmbench waited as the kernel's process says, at least, in most of the windows.

        Of those with the most launches: windows that seem short get more in the next block. A busy host delays the
        replies of many windows, but not of all: with up to eleven windows this is the least, with more nearly the
        lower quartile. None if what it waited is too short to mean something, and without windows.
        """
        most = max((window.launches for window in self.windows.values()), default=0)
        windows = [window for window in self.windows.values() if window.launches == most]
        few, least = max(0, len(windows) // 4 - 2), _MEANINGFUL if len(windows) >= _SEVERAL else _LONG_WINDOW
        if not windows or sorted(window.elapsed for window in windows)[few] < least:
            return None
        return sorted((window.elapsed - _EXCHANGE) / max(window.seconds, _SHORTEST) for window in windows)[few]

    @property
    def gated(self) -> bool:
        """No window may contain host time."""
        return all(window.gated for window in self.windows.values())


class BlockSteps(Protocol):
    """What happens between blocks; executables are named by their indices."""

    def begin(self, block: int, launches: Mapping[int, int]) -> Collection[int]:
        """Make these executables ready for a block, given the launches of their windows; returns those that are."""

    def record_if_short(self) -> Collection[int]:
        """Record the launches of all executables, which have been timed, as graphs if some are short.

        Returns those that are bound anew.
        """

    def inspect(self, index: int, launches: int) -> None:
        """Look at what the last window of an executable in a block has computed, right after it."""

    def end(self, block: int, active: Collection[int], last: Collection[int]) -> Collection[int]:
        """Check these executables after a block, which has the last round of some; returns those that passed."""


class NoSteps:
    """`BlockSteps` for executables that stay as they are: nothing happens."""

    def begin(self, block: int, launches: Mapping[int, int]) -> Collection[int]:
        """As BlockSteps."""
        return launches

    def record_if_short(self) -> Collection[int]:
        """As BlockSteps."""
        return ()

    def inspect(self, index: int, launches: int) -> None:
        """As BlockSteps."""

    def end(self, block: int, active: Collection[int], last: Collection[int]) -> Collection[int]:
        """As BlockSteps."""
        return active
