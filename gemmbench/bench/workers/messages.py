"""The protocol of a worker, and the messages to and from a worker process, which are pickled over one pipe."""

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
        """Verify and measure every row of a batch of any kind. Returns one record for each row, in order."""


@dataclass(frozen=True)
class Open:
    """The first message to the worker: the back ends to open and how to work.

    If `measured` is False, plans are verified but not timed.
    """

    machine: Machine
    backends: tuple[str, ...]
    gate: bool
    limits: TimeLimits
    measured: bool = True


@dataclass(frozen=True)
class Stop:
    """Tells the worker to start nothing new and to finish the batch with the samples taken so far."""


@dataclass(frozen=True)
class Ready:
    """Tells the runner that the devices are open."""

    devices: Mapping[str, Device]


@dataclass(frozen=True)
class Announced:
    """Tells the runner that the code of row `number` runs next and should take `seconds`.

    If it `compiles` first, it may take as long as a compilation. If `number` is None, no row's code runs.
    """

    number: int | None
    seconds: float = 0.0
    compiles: bool = False


@dataclass(frozen=True)
class Progressed:
    """Sends the runner the arguments for its Progress callback."""

    what: str
    done: int
    of: int


@dataclass(frozen=True)
class Finished:
    """Sends the runner the records of the batch, one for each plan."""

    records: list[Any]


@dataclass(frozen=True)
class Lost:
    """Tells the runner that the last announced plan destroyed the device's context. The worker then ends."""

    fault: PlanError


@dataclass(frozen=True)
class Refused:
    """Tells the runner that the worker cannot continue and ends. The user must see this error."""

    fault: GemmbenchError


ToWorker = Open | Batch[Any] | Stop
ToRunner = Ready | Announced | Progressed | Finished | Lost | Refused
