"""Where experiments happen: open back ends, and the line to whoever asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gemmbench.backends.base import Backend, Executable, Window

FIRST_WARM_SECONDS, WARM_SECONDS = 3.0, 0.3

Progress = Callable[[str, int, int], None]
"""(what is being done, done, of how many); the progress of the whole sweep begins with SWEEP."""
SWEEP = "sweep: "

Announce = Callable[[int | None, float], None]
"""(number of the plan in its batch whose code runs next, seconds that should take); None, 0: nobody's code does."""


def silent(what: str, done: int, of: int) -> None:
    """Report nothing."""


def unwatched(number: int | None, seconds: float) -> None:
    """Announce nothing."""


@dataclass
class Station:
    """Open back ends, by device, and how an experiment speaks to its runner.

    With `measured` False plans are verified and not timed. Before a kernel runs it is announced,
    so that the runner knows whom to blame if this process dies or hangs.
    """

    backends: Mapping[str, Backend]
    progress: Progress = silent
    interrupted: Callable[[], bool] = lambda: False
    announce: Announce = unwatched
    measured: bool = True
    _cold: bool = True

    def warm_seconds(self) -> float:
        """How long to warm up at most: longer the first time, while the clock settles."""
        seconds = FIRST_WARM_SECONDS if self._cold else WARM_SECONDS
        self._cold = False
        return seconds

    def watched(self, executable: Executable, number: int) -> Watched:
        """The executable of plan `number`, its launches announced."""
        return Watched(executable, number, self.announce)


class Watched:
    """An Executable that announces its launches; the time they should take is known after the first."""

    def __init__(self, executable: Executable, number: int, announce: Announce):
        self._executable, self._number, self._announce = executable, number, announce
        self._seconds = 0.0

    def time(self, launches: int) -> Window:
        """As base.Executable."""
        self._announce(self._number, launches * self._seconds)
        window = self._executable.time(launches)
        self._announce(None, 0.0)
        self._seconds = window.seconds / window.launches
        return window
