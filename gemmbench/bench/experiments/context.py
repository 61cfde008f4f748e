"""The context of an experiment: the open back ends and the ways to report to the runner."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from typing import Protocol, cast

from gemmbench.backends.base import Backend, CountingExecutable, LoneExecutable, SteadyExecutable, Window
from gemmbench.errors import DeviceLost
from gemmbench.planning.plans.plan import Target

_FIRST_WARM_SECONDS, WARM_SECONDS = 3.0, 0.3

SWEEP, KNOWN = "sweep: ", "; "  # see Progress
AUDIT_SHARE = 0.02
"""The fraction of the time limit that one turn of an audit may take. Each block has two turns."""
WARMING_SHARE = 0.25
"""The longest warm-up load before a row's steady blocks, as a fraction of the length of those blocks."""
REPLAY_SHARE = 4
"""A replay window has at most the number of launches of a timed window divided by this."""
LEAST_PAIRS = 4
"""The smallest number of window pairs in a replay. One pair is enough if windows are long."""


def limit_warm_up(target: Target, first: bool) -> float:
    """Return the longest warm-up in seconds.

    The first one on a GPU is longer, because clock and power settle slowly.
    """
    return _FIRST_WARM_SECONDS if first and target.is_gpu else WARM_SECONDS


class Progress(Protocol):
    """Receives an activity, the amount done, and the total amount, which is 0 if unknown.

    The activity of the whole sweep begins with SWEEP and includes the remaining seconds, if known, and those of them
    that follow this activity. Results so far may precede an activity. They end with KNOWN.
    """

    def __call__(self, what: str, done: int, of: int, left: float | None = None, later: float = 0.0, /) -> None: ...


class Announce(Protocol):
    """Receives the number of the row whose code runs next, its expected seconds, and whether it compiles first.

    The number is None if no row's code runs.
    """

    def __call__(self, number: int | None, seconds: float = 0.0, compiles: bool = False, /) -> None: ...


def ignore_progress(what: str, done: int, of: int, left: float | None = None, later: float = 0.0, /) -> None:
    """Report no progress."""


def _announce_nothing(number: int | None, seconds: float = 0.0, compiles: bool = False, /) -> None:
    """Announce nothing."""


@dataclass
class ExperimentContext:
    """The open back ends by device, and the connection to the runner.

    If `measured` is False, rows are verified but not timed. Code is announced before it runs, so that the runner knows
    which row to blame if this process dies or hangs.
    """

    backends: Mapping[str, Backend]
    progress: Progress = ignore_progress
    is_interrupted: Callable[[], bool] = lambda: False
    announce: Announce = _announce_nothing
    measured: bool = True
    _cold: bool = True
    _short_load: float = 0.0

    def warm_seconds(self, target: Target) -> float:
        """Return the longest warm-up of this device in seconds. Short loads may have warmed it already."""
        longest = limit_warm_up(target, self._cold)
        self._cold = False
        return max(WARM_SECONDS, longest - self._short_load)

    def add_short_load(self, seconds: float) -> None:
        """Add the seconds that the windows of a short load took."""
        self._short_load += seconds

    def announce_row(self, number: int, compiles: bool = False) -> AbstractContextManager[None]:
        """Announce that the code of row `number` runs in the `with` block, and whether it compiles there."""
        return _announce_code(self.announce, number, compiles=compiles)


@contextmanager
def _announce_code(announce: Announce, number: int, seconds: float = 0.0, compiles: bool = False) -> Iterator[None]:
    """Announce that the code of row `number` runs in the `with` block, and for how many seconds if known.

    If the device is lost, the row remains announced, so the runner blames it.
    """
    announce(number, seconds, compiles)
    try:
        yield
    except DeviceLost:
        raise
    except BaseException:
        announce(None)
        raise
    announce(None)


class AnnouncedExecutable:
    """An Executable that announces its launches. All except the first are announced with their expected duration."""

    def __init__(self, executable: CountingExecutable, number: int, announce: Announce):
        self._executable, self._number, self._announce = executable, number, announce
        self._seconds = 0.0

    def time(self, launches: int) -> Window:
        """See base.Executable."""
        return self._time(self._executable.time, launches)

    def time_exactly(self, launches: int) -> Window:
        """See base.CountingExecutable."""
        return self._time(self._executable.time_exactly, launches)

    def _time(self, time: Callable[[int], Window], launches: int) -> Window:
        with _announce_code(self._announce, self._number, launches * self._seconds):
            window = time(launches)
        self._seconds = window.seconds / window.launches
        return window

    def time_alone(self) -> float:
        """See base.LoneExecutable, if the executable is one."""
        with _announce_code(self._announce, self._number, self._seconds):
            return cast(LoneExecutable, self._executable).time_alone()

    def sustain(self, launches: int, watch: Callable[[], None]) -> Generator[Window, None, None]:
        """See base.SteadyExecutable, if the executable is one."""
        seconds = launches * self._seconds
        with (
            _announce_code(self._announce, self._number, seconds),
            closing(cast(SteadyExecutable, self._executable).sustain(launches, watch)) as windows,
        ):
            for window in windows:
                yield window
                self._announce(self._number, seconds)
