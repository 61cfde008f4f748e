"""An executable that is bound anew for every block."""

from __future__ import annotations

from gemmbench.backends.base import Executable, Window
from gemmbench.bench.timing.rounds import LONG_WINDOW


class Rebound:
    """Times whatever its trial is bound to at present."""

    def __init__(self) -> None:
        self.bound: Executable | None = None
        self.last: Window | None = None

    def time(self, launches: int) -> Window:
        """As base.Executable."""
        assert self.bound is not None, "it is bound"
        self.last = self.bound.time(launches)
        return self.last

    def warm_up(self, launches: int) -> None:
        """Run a window that is not kept, unless windows are so long that their beginning does not matter."""
        assert self.bound is not None, "it is bound"
        if self.last is not None and self.last.seconds < LONG_WINDOW:
            self.bound.time(launches)
