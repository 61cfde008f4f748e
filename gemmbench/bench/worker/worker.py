"""The protocol of whatever runs a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

from gemmbench.backends.base import Device
from gemmbench.bench.experiments.batch import Batch

R = TypeVar("R")


class Worker(Protocol):
    """Holds open devices and runs the experiments of batches on them."""

    @property
    def devices(self) -> Mapping[str, Device]:
        """The open devices, by back end."""

    def experiment(self, batch: Batch[R]) -> list[R]:
        """Verify and measure every row of a batch of any kind; one record per row, in order."""
