"""How a session reports to its user, and how Ctrl-C or the time limit ends it after the current window."""

from __future__ import annotations

import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from types import FrameType

from gemmbench.backends import registry
from gemmbench.backends.devices import Machine
from gemmbench.bench.experiments.context import KNOWN, SWEEP, Progress, ignore_progress
from gemmbench.errors import UsageError
from gemmbench.planning.manifests.variant import MANY
from gemmbench.planning.plans.plan import Chain, Plan, Skip
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import TimeLimits
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.text import format_duration
from gemmbench.session.signals import let_finalizers_end


class Reporter:
    """Receives what a session reports. This class discards everything; its subclasses show it."""

    def message(self, text: str) -> None:
        """Show one message, such as why a run ends early."""

    def open_run(self, run: Run) -> None:
        """Take the run that is about to be measured, for explain_interruption if Ctrl-C stops it at once."""

    def progress_bar(self) -> AbstractContextManager[Progress]:
        """Show progress inside the block. Yields the callback for progress reports."""
        return nullcontext(ignore_progress)


SILENT = Reporter()


@dataclass
class Activity:
    """The current activity: what it is, how much is done, and how much there is in all (0 if unknown)."""

    what: str = ""
    done: int = 0
    of: int = 0

    def __str__(self) -> str:
        return f"{self.what} {self.done}/{self.of}" if self.of else self.what


@dataclass
class SessionProgress:
    """The batch of a sweep, the step within it and what is `known` so far, as reported last.

    `end` is when the sweep is expected to end, and `later` are the seconds of it that follow the batch.
    """

    clock: Callable[[], float] = time.monotonic
    batch: Activity = field(default_factory=Activity)
    step: Activity = field(default_factory=Activity)
    known: str = ""
    end: float | None = None
    later: float = 0.0

    def __post_init__(self) -> None:
        self._started = self.clock()

    def report(self, what: str, done: int, of: int, left: float | None = None, later: float = 0.0, /) -> None:
        """Take a report; a `Progress`."""
        if what.startswith(SWEEP):
            self.batch, self.step = Activity(what.removeprefix(SWEEP), done, of), Activity()
            self.end, self.known = None if left is None else self.clock() + left, ""
            self.later = later
        else:
            known, _, activity = what.rpartition(KNOWN)
            self.step, self.known = Activity(activity, done, of), known or self.known

    @property
    def left(self) -> float | None:
        """Seconds until the expected end; None if it is not known or has passed.

        A batch that takes longer than expected does not use up the time of those that follow it.
        """
        left = 0.0 if self.end is None else max(self.end - self.clock(), self.later)
        return left if left > 0 else None

    def describe_left(self) -> str:
        """Return text such as `, about 5 s left`; "" if that is unknown."""
        left = self.left
        return "" if left is None else f", about {format_duration(left)} left"

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self.clock() - self._started

    def __str__(self) -> str:
        parts = [str(part) for part in (self.batch, self.step) if part.what] or ["starting"]
        return ", ".join([*parts, *([f"so far {self.known}"] if self.known else [])])


class Interruption:
    """Requests an end after Ctrl-C, or `limit` seconds after the start. A second Ctrl-C ends immediately.

    `resumable` says whether --resume can continue the run.
    """

    def __init__(
        self, limit: float, message: Callable[[str], None], resumable: bool = False, started: float | None = None
    ) -> None:
        self._limit, self._end = limit, (time.monotonic() if started is None else started) + limit
        self._message, self._resumable = message, resumable
        self._pressed = self._late = False

    def is_requested(self) -> bool:
        """Return whether to start nothing new."""
        if not self._late and time.monotonic() > self._end:
            self._late = True
            hint = "; --resume continues it" if self._resumable else ""
            self._message(f"the sweep reached its time limit of {self._limit:g} s{hint}")
        return self._pressed or self._late

    @contextmanager
    def handle_ctrl_c(self) -> Iterator[None]:
        """Handle SIGINT inside the block, but only in the main thread, since no other thread can."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = signal.signal(signal.SIGINT, let_finalizers_end(self._handle_signal))
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)

    def _handle_signal(self, number: int, frame: FrameType | None) -> None:
        if self._pressed:
            raise KeyboardInterrupt
        self._pressed = True
        self._message("stopping after the current step; press Ctrl-C again to stop at once")


_LONG = 60.0
"""A run that takes longer than this many seconds is announced first."""
_VERY_LONG = 3600.0
"""A run on the CPU device that takes longer than this many seconds needs --yes."""


def announce_long_run(machine: Machine, reporter: Reporter, seconds: float) -> None:
    """Say how long a run on a GPU will take if it is longer than a minute."""
    if seconds > _LONG and machine.primary.target.is_gpu:
        reporter.message(f"this takes about {format_duration(seconds)} on {machine.primary.name}; see also --dry-run")


def announce_split_batches(planned: Iterable[Plan | Skip], reporter: Reporter) -> None:
    """Say which Python functions without a manifest are called for each product of a batch."""
    plans = (item for item in planned if isinstance(item, Plan) and item.problem.count > 1)
    called = {plan.variant for plan in plans if plan.variant.kind == "python" and plan.variant.drafted}
    for variant in sorted(called, key=lambda each: each.name):
        if MANY not in variant.kinds:
            keep = f"gemmbench new NAME --from {shlex.quote(variant.name)}"
            reporter.message(
                f"{variant.name} is called for each product of a batch; if it takes operands with three dimensions, "
                f"add `kinds: [one, many]` to its manifest: {keep}"
            )


def announce_run_on_cpu(
    machine: Machine, chains: Sequence[Chain], policy: Policy, baseline: str, limits: TimeLimits, reporter: Reporter
) -> None:
    """Say how long a run on the CPU device will take, including compiling, if it is longer than a minute.

    Raises UsageError if it is longer than an hour, unless the limits allow that.
    """
    if not machine.on_cpu:
        return
    # It takes long to import, and not all commands measure.
    from gemmbench.bench.estimate import estimate_run, make_typical_host

    compilers = registry.make_compilers(machine, machine.devices)
    estimate = estimate_run(chains, machine, policy, baseline, compilers, host=make_typical_host())
    announce_time_on_cpu(estimate.seconds, limits, reporter)


def announce_time_on_cpu(seconds: float, limits: TimeLimits, reporter: Reporter) -> None:
    """Say how long work on the CPU device will take. Raises UsageError under the same rule as announce_run_on_cpu."""
    seconds = min(seconds, limits.sweep)
    takes = f"takes about {format_duration(seconds)} on the CPU device"
    if seconds > _VERY_LONG and not limits.long:
        raise UsageError(f"this {takes}; choose smaller --sizes, or start it with --yes")
    if seconds > _LONG:
        reporter.message(f"this {takes}; smaller --sizes take less time")
