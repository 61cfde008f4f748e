"""Windows without a pause between them: while one runs, the next is already queued.

    stream:  ... launches | event mark event | launches | event mark event | launches ...
                            end of a window ^           ^ start of the next

The mark is a stamp of the clock and its copy to the host, about 15 us that no window contains.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gemmbench.backends.base import Window
from gemmbench.backends.cuda.launching.clock import Clock, median_frequency
from gemmbench.backends.cuda.system.driver import load_driver

_PAUSE = 1e-3
"""Seconds between two looks at the sensors."""


@dataclass(frozen=True)
class _Boundary:
    """Where one window ends and the next starts: two events, and the stamp between them."""

    end: Any
    stamp: np.ndarray
    start: Any


def run_back_to_back(
    queue: Callable[[], None], launches: int, stream: Any, clock: Clock, watch: Callable[[], None]
) -> Generator[Window, None, None]:
    """Windows of `launches` launches each, which `queue` queues; as base.SteadyExecutable."""
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
