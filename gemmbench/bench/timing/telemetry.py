"""Watching the device while a batch is measured: looks taken in a thread, matched with windows afterwards.

Looks come at most every 20 ms, in a thread, while the GPU works through windows that were queued
behind a gate, so that the host time they take falls between windows and not into one. Windows of
many rows interleave and most last about 1 ms, often less than a look takes. So a row gets the
looks from its first to its last window, and 20 ms around, for what changes slowly: temperature and
what held the clock down. Power comes only from looks inside one of its own windows, 50 ms or
later after that window began: what came before is then out of the sensor's average.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gemmbench.backends.base import Executable, Window
from gemmbench.backends.monitor import Monitor, Reading
from gemmbench.bench.record import Telemetry
from gemmbench.bench.timing.stats import median

_PERIOD = 0.02
_SETTLED = 0.05


@dataclass(frozen=True)
class Span:
    """A window, in seconds of one clock."""

    start: float
    end: float


@dataclass(frozen=True)
class Look:
    """A reading and when it was taken."""

    start: float
    end: float
    reading: Reading


class Watch:
    """Looks at a monitor while the block runs; without a monitor it does nothing."""

    def __init__(self, monitor: Monitor | None, clock: Callable[[], float] = time.monotonic):
        self._monitor, self._clock = monitor, clock
        self._windows: list[list[Span]] = []
        self._looks: list[Look] = []
        self._others: list[int | None] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._keep_looking, daemon=True)

    def __enter__(self) -> Watch:
        if self._monitor is not None:
            self._others.append(self._monitor.others())
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop looking."""
        if self._monitor is not None:
            self._done.set()
            self._thread.join()
            self._others.append(self._monitor.others())

    def marked(self, executable: Executable) -> Executable:
        """The executable, its windows noted; executables are numbered from 0 in the order they come here."""
        self._windows.append([])
        return executable if self._monitor is None else Marked(executable, self._windows[-1], self._clock)

    def telemetry(self, number: int, samples: int) -> Telemetry | None:
        """What was seen during the last `samples` windows of executable `number`; None without a monitor or windows."""
        windows = self._windows[number][-samples:] if samples else []
        return telemetry(self._looks, windows, self._others) if windows else None

    def _keep_looking(self) -> None:
        assert self._monitor is not None
        while True:
            start = self._clock()
            reading = self._monitor.read()
            self._looks.append(Look(start, self._clock(), reading))
            if self._done.wait(_PERIOD):
                return


class Marked:
    """An Executable that notes when its windows ran."""

    def __init__(self, executable: Executable, windows: list[Span], clock: Callable[[], float]):
        self._executable, self._windows, self._clock = executable, windows, clock

    def time(self, launches: int) -> Window:
        """As base.Executable."""
        start = self._clock()
        window = self._executable.time(launches)
        self._windows.append(Span(start, self._clock()))
        return window


def telemetry(looks: Sequence[Look], windows: Sequence[Span], others: Sequence[int | None]) -> Telemetry:
    """What a row may claim of the looks; `windows` are its own, in order, at least one."""
    first, last = windows[0].start, windows[-1].end
    near = [look for look in looks if look.start <= last + _PERIOD and look.end >= first - _PERIOD]
    own = [look for look in near if any(_settled(look, window) for window in windows)]
    return Telemetry(
        readings=len(near),
        temperature=_highest(look.reading.temperature for look in near),
        power=_known(median([look.reading.power for look in own if not math.isnan(look.reading.power)])),
        sm_clock_hz=_highest(look.reading.sm_clock for look in near),
        memory_clock_hz=_highest(look.reading.memory_clock for look in near),
        slowed_by=sorted({name for look in near for name in look.reading.slowed}),
        other_processes=max((count for count in others if count is not None), default=None),
    )


def _settled(look: Look, window: Span) -> bool:
    return window.start + _SETTLED <= look.start and look.end <= window.end


def _highest(values: Iterable[float]) -> float | None:
    return max((value for value in values if not math.isnan(value)), default=None)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
