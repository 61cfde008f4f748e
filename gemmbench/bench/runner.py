"""The runner: hands batches to a worker in order, skips what is done, emits every record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from gemmbench.bench.experiments.batch import Batch
from gemmbench.bench.experiments.context import SWEEP, Progress, ignore_progress
from gemmbench.bench.worker.worker import Worker

R = TypeVar("R")


@dataclass
class Runner(Generic[R]):
    """Runs batches of any kind: GEMMs, networks, transfers.

    `emit` takes each record as it is made. `done` maps the keys of what an earlier run has measured
    to its records.
    """

    worker: Worker
    emit: Callable[[R], None]
    progress: Progress = ignore_progress
    is_interrupted: Callable[[], bool] = lambda: False
    done: Mapping[str, Sequence[R]] = field(default_factory=dict)

    def run(self, batches: Sequence[Batch[R]]) -> list[R]:
        """Measure what is not done, until interrupted; returns the records, earlier ones too."""
        records: list[R] = []
        for number, batch in enumerate(batches):
            if self.is_interrupted():
                break
            self.progress(f"{SWEEP}{batch.title}", number, len(batches))
            records += self._run_batch(batch)
        return records

    def _run_batch(self, batch: Batch[R]) -> list[R]:
        done = [key for key in batch.keys if key in self.done] if self.done else []
        records = [record for key in done for record in self.done[key]]
        left = batch.without(done)
        for record in self.worker.experiment(left) if left else []:
            self.emit(record)
            records.append(record)
        return records
