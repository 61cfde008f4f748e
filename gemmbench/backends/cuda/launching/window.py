"""Timing: a window is a pair of events around launches that run back to back."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gemmbench.backends.base import Rotation, Window
from gemmbench.backends.cuda.failure import translate_errors
from gemmbench.backends.cuda.launching.clock import Clock
from gemmbench.backends.cuda.launching.gate import QUEUE, Gate
from gemmbench.backends.cuda.system.driver import load_driver

_REPEATED = "a gate opened by itself before its window was queued; measured again without a gate"


@dataclass(frozen=True)
class Calls:
    """What the timer needs of a bound plan.

    `queue` holds a callable for each operand set; it queues one launch on the back end's
    stream. `launch` describes a launch for error messages, `kernels` is the most kernels it
    may queue, and `keep` whatever must outlive the callables.
    """

    queue: tuple[Callable[[], object], ...]
    launch: str
    kernels: int = 1
    keep: object = None


def queue_in_turn(queue: Sequence[Callable[[], object]]) -> Callable[[], object]:
    """One callable that calls several in turn."""
    if len(queue) == 1:
        return queue[0]

    def launch() -> None:
        for call in queue:
            call()

    return launch


class WindowTimer:
    """A `base.Executable`: runs and times a bound plan, of kernels or a library.

    Launches take their operand sets from `rotation`, which other executables advance too. A gate
    holds the stream until everything is queued, so the time excludes the host. The first window has
    no gate: CUDA loads code at its first launch and would wait for the stream that the gate holds.
    """

    def __init__(
        self,
        calls: Calls,
        errors: tuple[type[Exception], ...],
        stream: Any,
        clock: Clock,
        gate: Gate | None,
        rotation: Rotation | None = None,
    ):
        """`errors` are what queueing and waiting raise."""
        cuda = load_driver()
        self._errors = errors
        self._calls, self.stream, self._clock, self._gate = calls, stream, clock, gate
        self._rotation = rotation or Rotation(len(calls.queue))
        self._events = cuda.Event(), cuda.Event()
        self._loaded = False

    def queue(self) -> None:
        """Queue the next launch on `stream`, without timing it or waiting."""
        self._queue(1)

    def _queue(self, launches: int) -> None:
        for index in self._rotation.take(launches):
            self._calls.queue[index]()

    def time(self, launches: int) -> Window:
        """Run `launches` launches and time them, in as many windows as the launch queue requires.

        If the gate opened by itself, the launches are timed again without a gate, with a
        RuntimeWarning. Raises LaunchError, LaunchTimeout or OutOfMemory.
        """
        with translate_errors(self._errors, self._calls.launch):
            return _join_windows(
                [self._window(part) for part in _split_launches(launches, QUEUE // self._calls.kernels)]
            )

    def profile(self) -> None:
        """Run one launch, and nothing else, inside the range that a profiler records.

        Raises as time does.
        """
        cuda = load_driver()
        with translate_errors(self._errors, self._calls.launch):
            cuda.start_profiler()
            self._queue(1)
            self.stream.synchronize()
            cuda.stop_profiler()

    def _window(self, launches: int) -> Window:
        gate = self._gate if self._loaded else None
        self._loaded = True
        window = self._time_window(launches, gate)
        if gate is None or not gate.expired:
            return window
        warnings.warn(_REPEATED, RuntimeWarning, 2)
        return self._time_window(launches, None)

    def _time_window(self, launches: int, gate: Gate | None) -> Window:
        start, end = self._events
        if gate is not None:
            gate.close()
        try:
            self._clock.stamp(0)
            start.record(self.stream)
            self._queue(launches)
            end.record(self.stream)
            self._clock.stamp(1)
        finally:
            if gate is not None:
                gate.open()
        self.stream.synchronize()
        return Window(end.time_since(start) * 1e-3, launches, self._clock.read())


def _split_launches(launches: int, most: int) -> Iterator[int]:
    """Split `launches` into windows of at most `most`."""
    for first in range(0, launches, most):
        yield min(most, launches - first)


def _join_windows(windows: list[Window]) -> Window:
    """Several windows as one; its clock is the mean over time, or 0 if one is unknown."""
    seconds = sum(window.seconds for window in windows)
    cycles = sum(window.clock_hz * window.seconds for window in windows)
    known = all(window.clock_hz for window in windows)
    launches = sum(window.launches for window in windows)
    return Window(seconds, launches, cycles / seconds if known and seconds else 0.0)
