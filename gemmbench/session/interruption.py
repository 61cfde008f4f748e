"""Ctrl-C and the time limit of a sweep: both end it after the current window."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Requests an end after Ctrl-C or after `limit` seconds; a second Ctrl-C ends at once.

    `resumable` says whether --resume can continue what is ended.
    """

    def __init__(self, limit: float, message: Callable[[str], None], resumable: bool = False) -> None:
        self._limit, self._end = limit, time.monotonic() + limit
        self._message, self._resumable = message, resumable
        self._pressed = self._late = False

    def is_requested(self) -> bool:
        """Nothing new should begin."""
        if not self._late and time.monotonic() > self._end:
            self._late = True
            hint = "; --resume continues it" if self._resumable else ""
            self._message(f"the sweep reached its time limit of {self._limit:g} s{hint}")
        return self._pressed or self._late

    @contextmanager
    def handle_ctrl_c(self) -> Iterator[None]:
        """Handle SIGINT inside the block; in the main thread only, since no other can."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = signal.signal(signal.SIGINT, self._handle_signal)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)

    def _handle_signal(self, number: int, frame: FrameType | None) -> None:
        if self._pressed:
            raise KeyboardInterrupt
        self._pressed = True
        self._message("stopping after this window; press Ctrl-C again to stop at once")
