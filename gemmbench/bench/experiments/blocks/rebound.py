"""An executable that is bound anew for every block."""

from __future__ import annotations

from gemmbench.backends.base import Executable, Window

_LONG_WINDOW = 0.02


class Rebound:
    """Times whatever its trial is bound to at present."""

    def __init__(self) -> None:
        self.bound: Executable | None = None
        self._seconds = 0.0

    def time(self, launches: int) -> Window:
        """As base.Executable."""
        assert self.bound is not None, "it is bound"
        window = self.bound.time(launches)
        self._seconds = window.seconds
        return window

    def warm_up(self, launches: int) -> None:
        """Run a window that is not kept, unless windows are so long that their beginning does not matter."""
        assert self.bound is not None, "it is bound"
        if 0 < self._seconds < _LONG_WINDOW:
            self.bound.time(launches)
