"""A Runner that keeps every worker of a fleet at work; records are emitted as batches finish."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from gemmbench.bench.experiments.batch import Batch
from gemmbench.bench.experiments.context import SWEEP
from gemmbench.bench.fleet.worker import FleetWorker
from gemmbench.bench.runner import Pace, Runner

R = TypeVar("R")


@dataclass
class FleetRunner(Runner[R]):
    """A Runner whose `worker` is a FleetWorker."""

    def run(self, batches: Sequence[Batch[R]], pace: Pace | None = None) -> list[R]:
        """As Runner, several batches at a time; with a `pace` the longest first, so that all end together."""
        fleet, started = cast(FleetWorker, self.worker), dict[int, float]()
        waiting = sorted(range(len(batches)), key=lambda number: -pace.costs[number] if pace else 0)
        records: list[R] = []
        stopped = False
        while waiting or started:
            if not stopped and self.is_interrupted():
                stopped = True
                waiting.clear()
                fleet.stop()
            while waiting and len(started) < fleet.capacity:
                self._report(batches, waiting, started, pace)
                records += self._start(fleet, waiting.pop(0), batches, started)
            for number, found in fleet.wait() if started else []:
                records += self._take(found)
                seconds = time.monotonic() - started.pop(number)
                if pace:
                    pace.add(number, seconds)
        return records

    def _start(
        self, fleet: FleetWorker, number: int, batches: Sequence[Batch[R]], started: dict[int, float]
    ) -> list[R]:
        """Start a batch, unless it is done; returns the records that need no measurement."""
        left, records = self._prepare(batches[number])
        if left is not None:
            fleet.start(number, left)
            started[number] = time.monotonic()
        return records

    def _report(
        self, batches: Sequence[Batch[R]], waiting: Sequence[int], started: Mapping[int, float], pace: Pace | None
    ) -> None:
        """Report the next batch, how many are finished, and how long the rest takes on all workers."""
        left = pace.estimate_share(waiting) if pace else None
        workers = cast(FleetWorker, self.worker).capacity
        known = () if left is None else (left / workers,)
        self.progress(
            f"{SWEEP}{batches[waiting[0]].title}", len(batches) - len(waiting) - len(started), len(batches), *known
        )
