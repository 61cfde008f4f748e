"""How a session reports to its user: messages and progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from gemmbench.bench.experiments.context import SWEEP, Progress, ignore_progress
from gemmbench.report.text import format_duration


class Reporter:
    """Receives what a session reports. This one discards it; subclasses show it."""

    def message(self, text: str) -> None:
        """Show one message, such as why a run ends early."""

    def progress_bar(self) -> AbstractContextManager[Progress]:
        """Show progress inside the block; yields the callback that takes it."""
        return nullcontext(ignore_progress)


SILENT = Reporter()


@dataclass
class Activity:
    """What is being done: how much of how much (0 if unknown)."""

    what: str = ""
    done: int = 0
    of: int = 0

    def __str__(self) -> str:
        return f"{self.what} {self.done}/{self.of}" if self.of else self.what


@dataclass
class SessionProgress:
    """The batch of a sweep and the step within it that were reported last, and the expected end."""

    clock: Callable[[], float] = time.monotonic
    batch: Activity = field(default_factory=Activity)
    step: Activity = field(default_factory=Activity)
    end: float | None = None

    def __post_init__(self) -> None:
        self._started = self.clock()

    def report(self, what: str, done: int, of: int, left: float | None = None, /) -> None:
        """Take a report; a `Progress`."""
        if what.startswith(SWEEP):
            self.batch, self.step = Activity(what.removeprefix(SWEEP), done, of), Activity()
            self.end = None if left is None else self.clock() + left
        else:
            self.step = Activity(what, done, of)

    @property
    def left(self) -> float | None:
        """Seconds until the expected end; None if it is not known or has passed."""
        left = 0.0 if self.end is None else self.end - self.clock()
        return left if left > 0 else None

    def describe_left(self) -> str:
        """`, about 5 s left`; empty if it is not known."""
        left = self.left
        return "" if left is None else f", about {format_duration(left)} left"

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self.clock() - self._started

    def __str__(self) -> str:
        return ", ".join(str(part) for part in (self.batch, self.step) if part.what) or "starting"
