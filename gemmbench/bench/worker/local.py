"""The worker in this process: runs every kind of batch on back ends that are open here.

The runner and a worker exchange only frozen data, so that a worker can also be a process of its
own (remote.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from gemmbench.backends.base import Device
from gemmbench.bench.experiments.batch import Batch, ChainBatch
from gemmbench.bench.experiments.context import ExperimentContext
from gemmbench.bench.experiments.experiment import measure_chains
from gemmbench.bench.experiments.transfers.batch import TransferBatch
from gemmbench.bench.experiments.transfers.experiment import measure_transfers

R = TypeVar("R")


@dataclass
class LocalWorker(ExperimentContext):
    """Runs every kind of batch on back ends that are open in this process."""

    @property
    def devices(self) -> dict[str, Device]:
        """The open devices, by back end."""
        return {name: backend.device for name, backend in self.backends.items()}

    def experiment(self, batch: Batch[R]) -> list[R]:
        """One record per row, in order. Raises DeviceLost."""
        return cast("list[R]", self._measure(batch))

    def _measure(self, batch: object) -> Sequence[object]:
        match batch:
            case ChainBatch():
                return measure_chains(self, batch)
            case TransferBatch():
                return measure_transfers(self, batch)
        raise TypeError(f"no experiment for a {type(batch).__name__}")
