"""Ctrl-C and the time limit of a sweep: both end it after the window that is running, and keep what there is."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click


class Interruption:
    """Asks for an end after Ctrl-C, or after `limit` seconds; a second Ctrl-C ends at once."""

    def __init__(self, limit: float = float("inf")) -> None:
        self._limit, self._end = limit, time.monotonic() + limit
        self._pressed = self._late = False

    def asked(self) -> bool:
        """Nothing new should begin."""
        if not self._late and time.monotonic() > self._end:
            self._late = True
            click.echo(f"the sweep's time limit of {self._limit:g} s is over; --resume goes on with it", err=True)
        return self._pressed or self._late

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Take over SIGINT inside the block."""
        previous = signal.signal(signal.SIGINT, self._take)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)

    def _take(self, *_: Any) -> None:
        if self._pressed:
            raise KeyboardInterrupt
        self._pressed = True
        click.echo("stopping after this window; press Ctrl-C again to stop at once", err=True)
