"""Runs batches: gives them to a worker in order, skips those already done, and emits every record."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from gemmbench.bench.experiments.batch import Batch
from gemmbench.bench.experiments.context import SWEEP, Progress, ignore_progress
from gemmbench.bench.workers.messages import Worker

R = TypeVar("R")

_NO_TIME = 1e-3
_TRUST = 0.15
_MOST_SLOWER = 2
"""The largest factor by which slow batches lengthen the estimate of what follows them, which is other work."""


@dataclass
class Pace:
    """Predicts how long batches take, from their `costs` in seconds, estimated beforehand, and from those measured.

    `later` is the cost of what follows the batches. The batches measured so far scale the estimates of the rest, but at
    most double `later`; next to them, a part of all costs counts as if it had taken as long as estimated, so that small
    batches, which begin most sweeps, do not change what is expected of large ones. A batch measured by an earlier run
    takes no time.
    """

    costs: Sequence[float]
    later: float = 0.0
    _spent: float = 0.0
    _estimated: float = 0.0
    _trusted: float = 0.0

    def __post_init__(self) -> None:
        self._trusted = self._trusted or _TRUST * (sum(self.costs) + self.later)

    def follow(self, costs: Sequence[float], later: float = 0.0) -> Pace:
        """Return the pace of the batches after these, given what these took."""
        return Pace(costs, later, self._spent, self._estimated, self._trusted)

    def add(self, number: int, seconds: float) -> None:
        """Record the time that a batch took."""
        if seconds > _NO_TIME:
            self._spent += seconds
            self._estimated += self.costs[number]

    def estimate_left(self, number: int) -> float:
        """Return the seconds for this batch and all that follow."""
        return self.estimate_share(range(number, len(self.costs)))

    def estimate_share(self, numbers: Iterable[int]) -> float:
        """Return the seconds for these batches and what follows all batches."""
        known = self._estimated + self._trusted
        slower = (self._spent + self._trusted) / known if known else 1.0
        return slower * sum(self.costs[number] for number in numbers) + min(slower, _MOST_SLOWER) * self.later


@dataclass
class PacedSteps:
    """Reports steps that end in any order as an activity of the whole sweep, with the time that it still takes."""

    progress: Progress
    what: str
    pace: Pace
    _last: float = field(default_factory=time.monotonic)
    _ended: set[int] = field(default_factory=set)

    def end(self, number: int) -> None:
        """Report that a step ended."""
        now, costs = time.monotonic(), self.pace.costs
        self.pace.add(number, now - self._last)
        self._last = now
        self._ended.add(number)
        left = self.pace.estimate_share(each for each in range(len(costs)) if each not in self._ended)
        self.progress(f"{SWEEP}{self.what}", len(self._ended), len(costs), left, self.pace.estimate_share(()))


def pace_steps(progress: Progress, cost: float, later: float) -> Progress:
    """Return a progress callback for steps that cost about as many seconds each; `later` follows them."""
    steps: list[PacedSteps] = []

    def report(what: str, done: int, of: int, left: float | None = None, after: float = 0.0, /) -> None:
        if not steps:
            steps.append(PacedSteps(progress, what, Pace([cost] * of, later)))
        steps[0].end(done - 1)

    return report


def _keep_all(batch: Batch[R], records: Sequence[R]) -> tuple[Batch[R] | None, list[R]]:
    """Keep every row of a batch."""
    return batch, []


@dataclass
class Runner(Generic[R]):
    """Runs batches of any kind: GEMMs, networks or transfers.

    `emit` is called with new records, one batch at a time. `done` maps the keys of rows that an earlier run measured to
    their records. `leave_out` takes a batch and all records so far. It returns the part of the batch that is still to
    be measured, and records for the rest.
    """

    worker: Worker
    emit: Callable[[Sequence[R]], None]
    progress: Progress = ignore_progress
    is_interrupted: Callable[[], bool] = lambda: False
    done: Mapping[str, Sequence[R]] = field(default_factory=dict)
    leave_out: Callable[[Any, Sequence[R]], tuple[Batch[R] | None, list[R]]] = _keep_all
    _records: list[R] = field(default_factory=list)

    def run(self, batches: Sequence[Batch[R]], pace: Pace | None = None) -> list[R]:
        """Measure everything that is not yet done, until interrupted.

        Returns all records, including those of an earlier run. With a `pace`, the progress shows the remaining time.
        """
        records: list[R] = []
        for number, batch in enumerate(batches):
            if self.is_interrupted():
                break
            left = (pace.estimate_left(number), pace.estimate_left(number + 1)) if pace else ()
            self.progress(f"{SWEEP}{batch.title}", number, len(batches), *left)
            started = time.monotonic()
            records += self._run_batch(batch)
            if pace:
                pace.add(number, time.monotonic() - started)
        return records

    def _run_batch(self, batch: Batch[R]) -> list[R]:
        left, records = self._prepare(batch)
        return records + self._take(self.worker.experiment(left) if left else [])

    def _prepare(self, batch: Batch[R]) -> tuple[Batch[R] | None, list[R]]:
        """Return the part of a batch that is still to be measured, and the records for the rest."""
        left, records = self.leave_out(batch, self._records)
        self.emit(records)
        if left is not None:
            done = [key for key in left.keys if key in self.done] if self.done else []
            records += [record for key in done for record in self.done[key]]
            left = left.without(done)
        self._records += records
        return left, records

    def _take(self, measured: Sequence[R]) -> list[R]:
        """Emit and keep the records of a batch."""
        self.emit(measured)
        self._records += measured
        return list(measured)
