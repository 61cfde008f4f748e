"""The worker in this process: verifies every plan of a batch, measures them together, returns records.

The runner and a worker exchange only frozen data, so that the worker can also be a process of its own.
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
class LocalWorker(Station):
    """Runs every kind of batch on back ends that are open in this process."""

    @property
    def devices(self) -> dict[str, Device]:
        """The open devices, by back end."""
        return {name: backend.device for name, backend in self.backends.items()}

    def experiment(self, batch: AnyBatch) -> list[Record] | list[TransferRecord]:
        """One record per plan, in order. Raises DeviceLost."""
        if isinstance(batch, RowBatch):
            return rows.experiment(self, batch)
        if isinstance(batch, TransferBatch):
            return transfer_batch.experiment(self, batch)
        return gemms.experiment(self, batch)
