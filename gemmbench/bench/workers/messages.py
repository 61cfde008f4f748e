"""The protocol of a worker, which runs batches, and the messages to a worker process, pickled over one pipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from gemmbench.backends.base import Device
from gemmbench.backends.devices import Machine
from gemmbench.bench.experiments.batch import Batch
from gemmbench.errors import GemmbenchError, PlanError
from gemmbench.planning.sweeps.run_request import TimeLimits

R = TypeVar("R")


class Worker(Protocol):
    """Holds open devices and runs the experiments of batches on them."""

    @property
    def devices(self) -> Mapping[str, Device]:
        """The open devices, by back end."""

    def experiment(self, batch: Batch[R]) -> list[R]:
        """Verify and measure every row of a batch of any kind; one record per row, in order."""


@dataclass(frozen=True)
class Open:
    """The first message to the worker: the back ends to open, and how to work.

    With `measured` False plans are verified and not timed.
    """

    machine: Machine
    backends: tuple[str, ...]
    gate: bool
    limits: TimeLimits
    measured: bool = True


@dataclass(frozen=True)
class Stop:
    """To the worker: start nothing new, and finish the batch with the samples taken so far."""


@dataclass(frozen=True)
class Ready:
    """To the runner: the devices are open."""

    devices: Mapping[str, Device]


@dataclass(frozen=True)
class Announced:
    """To the runner: the code of row `number` runs next and should take `seconds`.

    If it `compiles` first, it may take as long as a compilation. With `number` None, no row's code runs.
    """

    number: int | None
    seconds: float = 0.0
    compiles: bool = False


@dataclass(frozen=True)
class Progressed:
    """To the runner: arguments for its Progress callback."""

    what: str
    done: int
    of: int


@dataclass(frozen=True)
class Finished:
    """To the runner: the records of the batch, one per plan."""

    records: list[Any]


@dataclass(frozen=True)
class Lost:
    """To the runner: the plan announced last destroyed the device's context; the worker ends."""

    fault: PlanError


@dataclass(frozen=True)
class Refused:
    """To the runner: the worker cannot continue and ends; the user must see this error."""

    fault: GemmbenchError


ToWorker = Open | Batch[Any] | Stop
ToRunner = Ready | Announced | Progressed | Finished | Lost | Refused
