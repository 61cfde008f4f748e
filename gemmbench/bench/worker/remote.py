"""The worker as a process of its own, replaced when a kernel kills it, hangs in it or poisons its context.

The runner's side. The process is spawned, opens the back ends and holds their contexts; batches go to it
and records come back, over one pipe. It announces whose code it runs next, so that a death or
a hang is blamed on a plan; the batch is then run again without that plan, from the start, since
numbers of one batch are compared with each other.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gemmbench.backends.base import Device
from gemmbench.bench.experiments.blame import Blamable
from gemmbench.bench.experiments.context import Progress, silent
from gemmbench.bench.worker.serve import Announced, Finished, Lost, Opener, Progressed, Ready, Refused, serve
from gemmbench.errors import DeviceError, DeviceLost, LaunchError, LaunchTimeout, PlanError

_OPENING, _BETWEEN = 120.0, 900.0
"""Seconds for opening a device, and for what is nobody's code: making operands and references of huge problems."""
_SLACK = 10.0
"""A window may take that many times as long as the launches before it let expect."""
_GRACE = 2.0
"""Seconds in which a device with a time limit of its own may say so itself."""
_GLANCE = 0.2
_SUDDEN_DEATHS = 2


@dataclass(frozen=True)
class _Died:
    """The process ended while plan `number` ran (None: nobody's code)."""

    number: int | None
    fault: PlanError


class Remote:
    """A laboratory in a process of its own; close it at the end.

    `opener` opens the back ends there; `launch_limit` is seconds a launch may take. Raises DeviceError
    where the device cannot be opened, or the process dies again and again with no kernel running.
    """

    def __init__(
        self,
        opener: Opener,
        launch_limit: float,
        measured: bool = True,
        progress: Progress = silent,
        interrupted: Callable[[], bool] = lambda: False,
    ):
        self._opener, self._limit, self._measured = opener, launch_limit, measured
        self._progress, self._interrupted = progress, interrupted
        self._context = multiprocessing.get_context("spawn")
        self._devices: Mapping[str, Device] | None = None
        self._start()

    @property
    def devices(self) -> Mapping[str, Device]:
        """The open devices, by back end; waits until they are open."""
        if self._devices is None:
            self._devices = self._await_ready()
        return self._devices

    def experiment(self, batch: Any) -> list[Any]:
        """One record a plan of a batch, as worker.Worker.experiment; a plan that kills the process has failed."""
        deaths = 0
        while True:
            if self._process is None:
                self._start()
            found = self._attempt(batch)
            if not isinstance(found, _Died):
                return found
            if found.number is None:
                deaths += 1
            else:
                batch = _without(batch, found.number, found.fault)
            if deaths == _SUDDEN_DEATHS:
                raise DeviceError(f"the worker process died twice with no kernel running: {found.fault}")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._pipe.close()  # it leaves when its pipe ends
            self._process.join(_OPENING if self._devices is None else 10.0)
            self._kill()

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the process; at once if something went wrong here."""
        if kind is not None and self._process is not None:
            self._kill()
        self.close()

    def _start(self) -> None:
        self._pipe, theirs = self._context.Pipe()
        self._stop = self._context.Event()
        told = self._progress is not silent
        arguments = (theirs, self._opener, self._measured, told, self._stop)
        self._process: Any = self._context.Process(target=serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        self._ready = False

    def _await_ready(self) -> Mapping[str, Device]:
        message = self._receive(_OPENING)
        if isinstance(message, Refused):
            self._kill()
            raise message.fault
        if not isinstance(message, Ready):
            fault = self._cause() if message is None else LaunchError("it does not answer")
            self._kill()
            raise DeviceError(f"the worker process ended before its device was open: {fault}")
        self._ready = True
        return message.devices

    def _attempt(self, batch: Any) -> list[Any] | _Died:
        if not self._ready:
            self._devices = self._await_ready()
        running: int | None = None
        allowed = _BETWEEN
        try:
            self._pipe.send(batch)
        except (BrokenPipeError, ConnectionResetError):
            return self._dead(None, self._cause())
        while True:
            message = self._receive(allowed)
            match message:
                case Finished(records):
                    return records
                case Announced(running, seconds):
                    allowed = _BETWEEN if running is None else self._limit + _SLACK * seconds + _GRACE
                case Progressed(what, done, of):
                    self._progress(what, done, of)
                case Lost(fault):
                    return self._dead(running, fault)
                case Refused(fault):
                    self._kill()
                    raise fault
                case None:
                    return self._dead(running, self._cause())
                case _:
                    return self._dead(
                        running, LaunchTimeout(f"did not end within {self._limit:g} s, the time limit of a launch")
                    )

    def _receive(self, seconds: float) -> Any:
        """The next message; None if the process has ended, False if nothing came in time."""
        end = time.monotonic() + seconds
        while True:
            if self._interrupted():
                self._stop.set()
            try:
                if self._pipe.poll(_GLANCE):
                    return self._pipe.recv()
            except (EOFError, ConnectionResetError, BrokenPipeError):
                return None
            if time.monotonic() > end:
                return False

    def _dead(self, number: int | None, fault: PlanError) -> _Died:
        self._kill()
        return _Died(number, fault)

    def _cause(self) -> PlanError:
        self._process.join(5.0)
        code = self._process.exitcode
        if code is not None and code < 0:
            return LaunchError(f"its process was ended by {signal.Signals(-code).name}")
        return LaunchError(f"its process ended with exit code {code}")

    def _kill(self) -> None:
        self._process.kill()  # no gentler way: a process that waits for the device does not listen
        self._process.join()
        self._pipe.close()
        self._process = None


def _without(batch: Blamable, number: int, fault: PlanError) -> Blamable:
    if isinstance(fault, DeviceLost | LaunchTimeout):
        return batch.blame(number, fault)
    return batch.blame(number, LaunchError(f"the kernel brought the worker process down: {fault}"))
