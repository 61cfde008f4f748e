"""Times windows. A window is a pair of events around launches that run back to back.

Under a steady load, the next window is queued while one runs.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from gemmbench.backends.base import Rotation, Window
from gemmbench.backends.cuda.driver import load_driver, translate_errors
from gemmbench.backends.cuda.gate import QUEUE, Clock, Gate, median_frequency

_PAUSE = 1e-3
"""Seconds between two readings of the sensors."""


@dataclass(frozen=True)
class _Boundary:
    """The end of one window and the start of the next: two events with a stamp between them."""

    end: Any
    stamp: np.ndarray
    start: Any


def run_back_to_back(
    queue: Callable[[], None], launches: int, stream: Any, clock: Clock, watch: Callable[[], None]
) -> Generator[Window, None, None]:
    """Yield windows of `launches` launches each, which `queue` queues. See SteadyExecutable."""
    boundaries = deque([_queue_boundary(stream, clock)])
    try:
        queue()
        boundaries.append(_queue_boundary(stream, clock))
        while True:
            queue()
            boundaries.append(_queue_boundary(stream, clock))
            first, last = boundaries.popleft(), boundaries[0]
            while not last.end.query():
                watch()
                time.sleep(_PAUSE)
            last.start.synchronize()
            yield Window(last.end.time_since(first.start) * 1e-3, launches, median_frequency(first.stamp, last.stamp))
    finally:
        stream.synchronize()


def _queue_boundary(stream: Any, clock: Clock) -> _Boundary:
    cuda = load_driver()
    end, start = cuda.Event(), cuda.Event()
    end.record(stream)
    stamp = clock.mark()
    start.record(stream)
    return _Boundary(end, stamp, start)


_MOST_GRAPHS = 32
"""The most graphs of turns to queue behind a gate."""
_WINDOWS_IN_QUEUE = 2
"""The number of windows in the queue under a steady load."""


class EqualGraphs(Protocol):
    """Equal graphs that are launched in turn."""

    def prepare(self, launches: int) -> None:
        """Prepare for this many launches without waits between them. Raises LaunchError."""

    def launch(self) -> None:
        """Queue the next graph. Raises LaunchError."""


@dataclass(frozen=True)
class Calls:
    """What the timer needs from a bound plan.

    `queue` holds a callable for each stop of a rotation, which queues one launch on the back end's stream. `launch`
    describes a launch for error messages. `kernels` is the largest number of kernels that a launch may queue. `keep`
    holds whatever must outlive the callables. `graphs`, if any, go `turns` times through all stops, starting at the
    first. `choice`, `no_graph` and `overlap` have the same meaning as in BoundExecutable. `function` is the
    python_functions.BoundFunction of a Python function; None for other code.
    """

    queue: tuple[Callable[[], object], ...]
    launch: str
    kernels: int = 1
    keep: object = None
    turns: int = 0
    choice: str = ""
    graphs: EqualGraphs | None = None
    no_graph: str = ""
    overlap: str = ""
    function: Any = None

    @property
    def graph_launches(self) -> int:
        """The number of launches in the graph; 0 without a graph."""
        return self.turns * len(self.queue)


def queue_in_turn(queue: Sequence[Callable[[], object]]) -> Callable[[], object]:
    """Return a callable that calls several others in turn."""
    if len(queue) == 1:
        return queue[0]

    def launch() -> None:
        for call in queue:
            call()

    return launch


class WindowTimer:
    """An Executable that runs and times a bound plan of kernels or a library.

    Launches take their operands from `rotation`, which other executables also advance. A gate holds the stream until
    everything is queued, so the time does not include host time. The first window has no gate, because CUDA loads code
    at its first launch and would wait for the stream that the gate holds.

    With a graph of turns, a window consists of whole graphs. They begin at the first stop of the rotation, so the
    launches up to it are made first, without being timed. Otherwise the graph would begin with operands that another
    executable has just left in the cache, and C would already hold the result.
    """

    def __init__(
        self,
        calls: Calls,
        errors: tuple[type[Exception], ...],
        stream: Any,
        clock: Clock,
        gate: Gate | None,
        rotation: Rotation | None = None,
        loaded: bool = False,
        flush: Callable[[], None] = lambda: None,
    ):
        """`errors` are the errors of queueing and waiting. `loaded` tells whether the code has been launched before.

        `flush` empties the L2 cache before it returns.
        """
        cuda = load_driver()
        self._errors = errors
        self._calls, self.stream, self._clock, self._gate = calls, stream, clock, gate
        self._rotation = rotation or Rotation(len(calls.queue))
        self._events = cuda.Event(), cuda.Event()
        self._loaded, self._flush = loaded, flush

    @property
    def choice(self) -> str:
        """See BoundExecutable."""
        return self._calls.choice

    @property
    def no_graph(self) -> str:
        """See BoundExecutable."""
        return self._calls.no_graph

    @property
    def overlap(self) -> str:
        """See BoundExecutable."""
        return self._calls.overlap

    @property
    def setup_seconds(self) -> float:
        """See BoundExecutable."""
        return 0.0

    def queue(self) -> None:
        """Queue the next launch on `stream` without timing it or waiting."""
        self._queue_launches(1)

    def _queue_launches(self, launches: int) -> None:
        for index in self._rotation.take(launches):
            self._calls.queue[index]()

    def _queue_window(self, launches: int) -> None:
        if self._calls.graphs is None:
            self._queue_launches(launches)
            return
        for _ in range(launches // self._calls.graph_launches):
            self._calls.graphs.launch()

    def _prepare_graphs(self, launches: int) -> None:
        """Prepare for windows of this many launches, before a gate holds the stream."""
        if self._calls.graphs is not None:
            self._calls.graphs.prepare(launches // self._calls.graph_launches)

    def _lead_to_first_stop(self) -> None:
        """Launch up to the last stop if windows begin at the first one."""
        if self._calls.graphs is not None:
            self._queue_launches(-self._rotation.position % self._rotation.stops)

    def time(self, launches: int) -> Window:
        """Run and time `launches` launches, in as many windows as the launch queue requires.

        With a graph of turns, `launches` is rounded up to whole graphs. If the gate opens by itself, the window is
        discarded and repeated. If that happens again, the window is not `gated`. Raises LaunchError, LaunchTimeout or
        OutOfMemory.
        """
        with translate_errors(self._errors, self._calls.launch):
            return _join_windows([self._window(part) for part in self._split(launches)])

    def sustain(self, launches: int, watch: Callable[[], None]) -> Generator[Window, None, None]:
        """See SteadyExecutable. Two windows are in the queue at any time."""
        with translate_errors(self._errors, self._calls.launch):
            fitting = min(launches, self._most_launches // 2)
            if unit := self._calls.graph_launches:
                fitting = max(1, fitting // unit) * unit
            self._prepare_graphs(_WINDOWS_IN_QUEUE * fitting)
            self._lead_to_first_stop()
            yield from run_back_to_back(partial(self._queue_window, fitting), fitting, self.stream, self._clock, watch)

    def time_exactly(self, launches: int) -> Window:
        """See CountingExecutable."""
        calls = replace(self._calls, turns=0, graphs=None)
        timer = WindowTimer(calls, self._errors, self.stream, self._clock, self._gate, self._rotation, self._loaded)
        return timer.time(launches)

    @property
    def _most_launches(self) -> int:
        """The number of launches that fit in the queue."""
        unit = self._calls.graph_launches
        return _MOST_GRAPHS * unit if unit else max(1, QUEUE // self._calls.kernels)

    def _split(self, launches: int) -> Iterator[int]:
        """Split launches into windows that fit in the launch queue."""
        if unit := self._calls.graph_launches:
            return (unit * graphs for graphs in _split_launches(-(-launches // unit), _MOST_GRAPHS))
        return _split_launches(launches, max(1, QUEUE // self._calls.kernels))

    def time_alone(self) -> float:
        """See LoneExecutable. A graph of turns is not used here."""
        gate = self._gate
        if gate is None or not self._loaded or self._calls.kernels > QUEUE:
            return math.nan
        start, end = self._events
        with translate_errors(self._errors, self._calls.launch):
            self._flush()
            gate.close()
            try:
                start.record(self.stream)
                self._queue_launches(1)
                end.record(self.stream)
            finally:
                gate.open()
            self.stream.synchronize()
            return math.nan if gate.expired else float(end.time_since(start) * 1e-3)

    def profile(self) -> None:
        """Run one launch and nothing else inside the range that a profiler records.

        Raises the same errors as `time`.
        """
        cuda = load_driver()
        with translate_errors(self._errors, self._calls.launch):
            cuda.start_profiler()
            self._queue_launches(1)
            self.stream.synchronize()
            cuda.stop_profiler()

    def _window(self, launches: int) -> Window:
        # A launch with more kernels than the queue holds would wait for the gate, unless it is part of a graph.
        fits = self._calls.graphs is not None or self._calls.kernels <= QUEUE
        gate = self._gate if self._loaded and fits else None
        self._loaded = True
        window = self._time_window(launches, gate)
        return window if window.gated or gate is None else self._time_window(launches, gate)

    def _time_window(self, launches: int, gate: Gate | None) -> Window:
        start, end = self._events
        self._prepare_graphs(launches)
        self._lead_to_first_stop()
        if gate is not None:
            gate.close()
        try:
            self._clock.stamp(0)
            start.record(self.stream)
            self._queue_window(launches)
            end.record(self.stream)
            self._clock.stamp(1)
        finally:
            if gate is not None:
                gate.open()
        self.stream.synchronize()
        gated = gate is not None and not gate.expired
        return Window(end.time_since(start) * 1e-3, launches, self._clock.read(), gated=gated)


def _split_launches(launches: int, most: int) -> Iterator[int]:
    """Split `launches` into windows of at most `most`."""
    for first in range(0, launches, most):
        yield min(most, launches - first)


def _join_windows(windows: list[Window]) -> Window:
    """Join windows into one, which is gated if all are. Its clock is the mean over time, or 0 if one is unknown."""
    seconds = sum(window.seconds for window in windows)
    cycles = sum(window.clock_hz * window.seconds for window in windows)
    known = all(window.clock_hz for window in windows)
    launches = sum(window.launches for window in windows)
    clock = cycles / seconds if known and seconds else 0.0
    return Window(seconds, launches, clock, gated=all(window.gated for window in windows))
