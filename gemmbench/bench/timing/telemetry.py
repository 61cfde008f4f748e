"""Device telemetry and energy during a batch. Readings are taken in a thread and matched with windows later."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile

from gemmbench.backends.base import Executable, Monitor, Reading, Window
from gemmbench.bench.record import Telemetry
from gemmbench.bench.timing.stats import median

_LEAST_SECONDS = 0.05


@dataclass(frozen=True)
class Tick:
    """The time at which a new value of the counter was first seen, and its joules."""

    seconds: float
    joules: float


@dataclass(frozen=True)
class Energy:
    """The joules drawn between two ticks, and the seconds between them."""

    joules: float
    seconds: float


class EnergyCounter:
    """Records the ticks of a monitor's energy counter. Call `poll` far more often than the counter ticks."""

    def __init__(self, monitor: Monitor):
        self._monitor, self._last = monitor, monitor.energy()
        self._ticks: list[Tick] = []

    def poll(self) -> None:
        """Read the counter and record a tick if it has grown."""
        joules = self._monitor.energy()
        if joules > self._last:
            self._ticks.append(Tick(self._monitor.now(), joules))
        self._last = joules

    def count(self, start: float, end: float) -> Energy | None:
        """Return the energy between the first and last tick in an interval; None if they are less than 50 ms apart."""
        later = dropwhile(lambda tick: tick.seconds < start, self._ticks)
        inside = list(takewhile(lambda tick: tick.seconds <= end, later))
        if not inside or inside[-1].seconds - inside[0].seconds < _LEAST_SECONDS:
            return None
        return Energy(inside[-1].joules - inside[0].joules, inside[-1].seconds - inside[0].seconds)


_PERIOD = 0.02
_SETTLE_SECONDS = 0.05


@dataclass(frozen=True)
class Span:
    """The time span in which a window ran, in seconds of one clock."""

    start: float
    end: float


@dataclass(frozen=True)
class TimedReading:
    """A reading and the time when it was taken."""

    start: float
    end: float
    reading: Reading


class TelemetrySampler:
    """Reads a monitor during the `with` block. Does nothing without a monitor."""

    def __init__(self, monitor: Monitor | None, clock: Callable[[], float] = time.monotonic):
        self._monitor, self._clock = monitor, clock
        self._windows: list[list[Span]] = []
        self._readings: list[TimedReading] = []
        self._others: list[int | None] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> TelemetrySampler:
        if self._monitor is not None:
            self._others.append(self._monitor.count_other_processes())
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop reading."""
        if self._monitor is not None:
            self._done.set()
            self._thread.join()
            self._others.append(self._monitor.count_other_processes())

    def track(self, executable: Executable) -> Executable:
        """Return an executable whose windows are recorded. Executables are numbered from 0 in the order of calls."""
        self._windows.append([])
        return executable if self._monitor is None else TrackedExecutable(executable, self._windows[-1], self._clock)

    def summarize(self, number: int, samples: int) -> Telemetry | None:
        """Return telemetry for an executable's last `samples` windows; None without a monitor or windows."""
        windows = self._windows[number][-samples:] if samples else []
        return summarize_readings(self._readings, windows, self._others) if windows else None

    def _sample(self) -> None:
        assert self._monitor is not None
        while True:
            start = self._clock()
            reading = self._monitor.read()
            self._readings.append(TimedReading(start, self._clock(), reading))
            if self._done.wait(_PERIOD):
                return


class TrackedExecutable:
    """An Executable that records when its windows ran."""

    def __init__(self, executable: Executable, windows: list[Span], clock: Callable[[], float]):
        self._executable, self._windows, self._clock = executable, windows, clock

    def time(self, launches: int) -> Window:
        """See base.Executable."""
        start = self._clock()
        window = self._executable.time(launches)
        self._windows.append(Span(start, self._clock()))
        return window


def summarize_readings(
    readings: Sequence[TimedReading], windows: Sequence[Span], others: Sequence[int | None]
) -> Telemetry:
    """Return a row's telemetry from all readings. `windows` holds the row's windows in order, at least one."""
    first, last = windows[0].start, windows[-1].end
    near = [each for each in readings if each.start <= last + _PERIOD and each.end >= first - _PERIOD]
    own = [each for each in near if any(_is_inside(each, window) for window in windows)]
    settled = [each for each in own if any(_is_settled(each, window) for window in windows)]
    return Telemetry(
        readings=len(near),
        temperature=_highest(each.reading.temperature for each in near),
        power=_none_if_nan(median([each.reading.power for each in settled if not math.isnan(each.reading.power)])),
        sm_clock_hz=_highest(each.reading.sm_clock for each in near),
        memory_clock_hz=_highest(each.reading.memory_clock for each in near),
        slowed_by=sorted({name for each in own for name in each.reading.slowed}),
        other_processes=max((count for count in others if count is not None), default=None),
    )


def _is_inside(timed: TimedReading, window: Span) -> bool:
    """Return whether a reading began and ended while a window ran."""
    return window.start <= timed.start and timed.end <= window.end


def _is_settled(timed: TimedReading, window: Span) -> bool:
    """Return whether a reading was taken while a window ran that had already run for long enough."""
    return window.start + _SETTLE_SECONDS <= timed.start and timed.end <= window.end


def _highest(values: Iterable[float]) -> float | None:
    return max((value for value in values if not math.isnan(value)), default=None)


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else value
