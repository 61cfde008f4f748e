"""The worker: `Worker.experiment(batch)` verifies every plan of a batch, measures all, returns records.

Operands, verification and measuring live on this side; only frozen data crosses to
the runner, so that the two can be two processes.
"""

from __future__ import annotations

from dataclasses import dataclass

from gemmbench.backends.base import Device
from gemmbench.bench.experiments import gemms, rows
from gemmbench.bench.experiments.batch import Batch
from gemmbench.bench.experiments.context import Station
from gemmbench.bench.experiments.rows import RowBatch
from gemmbench.bench.experiments.transfers import batch as transfer_batch
from gemmbench.bench.experiments.transfers.batch import TransferBatch
from gemmbench.bench.record import Record, TransferRecord

AnyBatch = Batch | RowBatch | TransferBatch


@dataclass
class Worker(Station):
    """A station that knows every kind of experiment."""

    @property
    def devices(self) -> dict[str, Device]:
        """The open devices, by back end."""
        return {name: backend.device for name, backend in self.backends.items()}

    def experiment(self, batch: AnyBatch) -> list[Record] | list[TransferRecord]:
        """One record a plan, in order. Raises DeviceLost."""
        if isinstance(batch, RowBatch):
            return rows.experiment(self, batch)
        if isinstance(batch, TransferBatch):
            return transfer_batch.experiment(self, batch)
        return gemms.experiment(self, batch)
