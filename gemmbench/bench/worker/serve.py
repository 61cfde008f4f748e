"""The worker's side of bench.remote: a process that holds the devices, takes batches and sends records."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol

from gemmbench.backends.base import Backend, Device
from gemmbench.bench.experiments.context import silent
from gemmbench.errors import DeviceError, DeviceLost, GemmbenchError, PlanError

Opener = Callable[[], Mapping[str, Backend]]
"""Opens the back ends; it travels to the process, so it must be a function of a module, or a partial of one."""

_OFTEN = 0.05
"""Seconds between two messages that only move a bar."""
_LOOK = 0.5
"""Seconds between two looks at whether the runner is still there."""


@dataclass(frozen=True)
class Ready:
    """The devices are open."""

    devices: Mapping[str, Device]


@dataclass(frozen=True)
class Refused:
    """Nothing can go on, for a reason that the user must hear."""

    fault: GemmbenchError


@dataclass(frozen=True)
class Announced:
    """The code of plan `number` runs next, and should take so many seconds; None: nobody's."""

    number: int | None
    seconds: float


@dataclass(frozen=True)
class Progressed:
    """As station.Progress."""

    what: str
    done: int
    of: int


@dataclass(frozen=True)
class Lost:
    """The plan announced last has taken the device's context with it; this process ends."""

    fault: PlanError


@dataclass(frozen=True)
class Finished:
    """The records of a batch."""

    records: list[Any]


class Flag(Protocol):
    """The runner asks for an end."""

    def is_set(self) -> bool:
        """It does."""


def serve(pipe: Connection, opener: Opener, measured: bool, told: bool, stop: Flag) -> None:
    """Open the back ends and answer batches until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the runner, which passes it on
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    try:
        _answer(pipe, opener, measured, told, stop)
    except GemmbenchError as fault:
        pipe.send(Refused(fault))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the runner is done, or gone
    except Exception:
        pipe.send(Refused(DeviceError(f"the worker process failed:\n{traceback.format_exc()}")))


def _answer(pipe: Connection, opener: Opener, measured: bool, told: bool, stop: Flag) -> None:
    from gemmbench.bench.worker.local import Worker

    backends = opener()
    worker = Worker(
        backends,
        progress=_sparing(pipe) if told else silent,
        interrupted=stop.is_set,
        announce=lambda number, seconds: pipe.send(Announced(number, seconds)),
        measured=measured,
    )
    pipe.send(Ready(worker.devices))
    try:
        while True:
            pipe.send(Finished(worker.experiment(pipe.recv())))
    except DeviceLost as fault:
        pipe.send(Lost(fault))
        os._exit(1)  # taking a poisoned context down in order may hang
    finally:
        for backend in backends.values():
            backend.close()


def _leave_with(runner: int) -> None:
    """End when the runner was killed, even while a kernel runs that never ends."""
    while os.getppid() == runner:
        time.sleep(_LOOK)
    os._exit(1)


def _sparing(pipe: Connection) -> Callable[[str, int, int], None]:
    last = 0.0

    def report(what: str, done: int, of: int) -> None:
        nonlocal last
        if time.monotonic() - last > _OFTEN:
            last = time.monotonic()
            pipe.send(Progressed(what, done, of))

    return report
