"""Workers in this process, or in a separate process that is replaced if a kernel kills it or hangs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar, cast

import msgspec

from gemmbench.backends.base import Device, PrintingBackend
from gemmbench.bench.experiments.batch import Batch, ChainBatch
from gemmbench.bench.experiments.context import ExperimentContext, Progress, ignore_progress
from gemmbench.bench.experiments.experiment import measure_chains
from gemmbench.bench.experiments.invariance import InvarianceBatch, compare_row_bits
from gemmbench.bench.experiments.transfer_experiment import measure_transfers
from gemmbench.bench.experiments.transfer_tasks import TransferBatch
from gemmbench.bench.record import Result
from gemmbench.bench.tuning.survey import SurveyBatch, time_plans
from gemmbench.bench.workers.messages import Announced, Finished, Lost, Open, Progressed, Ready, Refused
from gemmbench.bench.workers.worker_process import Ended, Silent, WorkerProcess
from gemmbench.errors import DeviceError, DeviceLost, KernelCrash, LaunchTimeout, PlanError

R = TypeVar("R")


@dataclass
class LocalWorker(ExperimentContext):
    """Runs all kinds of batches on back ends that are open in this process."""

    @property
    def devices(self) -> dict[str, Device]:
        """The open devices, by back end."""
        return {name: backend.device for name, backend in self.backends.items()}

    def experiment(self, batch: Batch[R]) -> list[R]:
        """Run a batch and return one record for each row, in order. Raises DeviceLost."""
        records = cast("list[R]", self._measure(batch))
        for backend in self.backends.values():
            if isinstance(backend, PrintingBackend):
                records = _add_printed(records, backend.take_printed())
        return records

    def _measure(self, batch: object) -> Sequence[object]:
        match batch:
            case ChainBatch():
                return measure_chains(self, batch)
            case TransferBatch():
                return measure_transfers(self, batch)
            case InvarianceBatch():
                return compare_row_bits(self, batch)
            case SurveyBatch():
                return time_plans(self, batch)
        raise TypeError(f"no experiment for a {type(batch).__name__}")


def _add_printed(records: list[R], printed: Mapping[str, str]) -> list[R]:
    """Add the output of variants to their records."""
    if not any(printed.values()):
        return records
    return [
        msgspec.structs.replace(each, printed=printed[each.variant])
        if isinstance(each, Result) and printed.get(each.variant)
        else each
        for each in records
    ]


_OPENING_SECONDS = 120.0
_LAUNCH_SECONDS = 60.0
"""The default time limit of a launch."""
_IDLE_SECONDS = 900.0
"""The time limit while no row's code runs. Huge operands and references take a long time to compute."""
_CLOSING_SECONDS = 10.0
_SLACK = 10.0
"""The factor by which a window may exceed its expected duration."""
_GRACE = 2.0
"""Extra seconds, so that a device that enforces a time limit itself can report it first."""
_MOST_SUDDEN_DEATHS = 2


_Function = tuple[str, str]
"""The path and the text of a Python function."""


@dataclass(frozen=True)
class _Died:
    """Says that the process ended while plan `number` ran (None: no plan's code)."""

    number: int | None
    fault: PlanError


class RemoteWorker:
    """Runs batches in a separate process. Close it at the end.

    A Python function may change any state of its process. A process that has run one therefore gets only batches that
    also run it, and other batches get a new process. `request` lists the back ends that the process opens. Its time
    limits are enforced by this class. Raises DeviceError if the device cannot be opened, or if the process dies twice
    while no kernel is running.
    """

    def __init__(
        self,
        request: Open,
        progress: Progress = ignore_progress,
        is_interrupted: Callable[[], bool] = lambda: False,
    ):
        self._request, self._progress, self._interrupted = request, progress, is_interrupted
        self._devices: Mapping[str, Device] | None = None
        self._process: WorkerProcess | None = WorkerProcess(request)
        self._functions: frozenset[_Function] = frozenset()

    @property
    def devices(self) -> Mapping[str, Device]:
        """The devices by back end. Waits until they are open."""
        if self._devices is None:
            assert self._process is not None
            self._devices = self._await_ready(self._process)
        return self._devices

    def experiment(self, batch: Batch[R]) -> list[R]:
        """Run a batch and return one record for each row, in order. A plan that kills the process has failed."""
        self._leave_functions(frozenset((each.path, each.text) for each in batch.variants if each.is_python))
        sudden_deaths, printed = 0, dict[str, str]()
        while True:
            process = self._open_process()
            outcome = self._attempt(process, batch)
            for number, lines in process.output.take().items():
                if name := batch.name_row(number):
                    printed[name] = lines.summarize()
            if not isinstance(outcome, _Died):
                return _add_printed(outcome, printed)
            if outcome.number is None:
                sudden_deaths += 1
            else:
                batch = _blame(batch, outcome.number, outcome.fault)
            if sudden_deaths == _MOST_SUDDEN_DEATHS:
                raise DeviceError(f"the worker process died twice while no kernel was running: {outcome.fault}")

    def _leave_functions(self, wanted: frozenset[_Function]) -> None:
        """End the process if it has run a function that is not in the next batch."""
        if not self._functions <= wanted:
            self.close()
        self._functions = wanted

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close(_OPENING_SECONDS if self._devices is None else _CLOSING_SECONDS)
            self._process = None

    def __enter__(self) -> RemoteWorker:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        """End the process, immediately if there was an error in the runner."""
        if kind is not None:
            self._kill()
        self.close()

    def _open_process(self) -> WorkerProcess:
        """Return a process whose devices are open."""
        if self._process is None:
            self._process = WorkerProcess(self._request)
            self._devices = self._await_ready(self._process)
        elif self._devices is None:
            self._devices = self._await_ready(self._process)
        return self._process

    def _await_ready(self, process: WorkerProcess) -> Mapping[str, Device]:
        self._progress("open the device", 0, 0)
        match process.receive(_OPENING_SECONDS, self._interrupted):
            case Ready(devices):
                return devices
            case Refused(fault):
                self._kill()
                raise fault
            case Ended():
                problem = f"the worker process ended before its device was open: {process.explain_end()}"
                if last := process.output.take()[-1].last_line():
                    problem += f"; the last line it printed: {last}"
            case Silent():
                problem = f"the worker process did not open its device within {_OPENING_SECONDS:g} s"
            case message:
                problem = f"the worker process sent {message} before its device was open"
        self._kill()
        raise DeviceError(problem)

    def _attempt(self, process: WorkerProcess, batch: Batch[R]) -> list[R] | _Died:
        running = Announced(None)
        allowed = _IDLE_SECONDS
        process.send(batch)  # if the process has ended, receive() reports it
        while True:
            match process.receive(allowed, self._interrupted):
                case Finished(records):
                    return records
                case Announced() as running:
                    allowed = _IDLE_SECONDS if running.number is None else self._time_limit(running)
                case Progressed(what, done, of):
                    self._progress(what, done, of)
                case Lost(fault):
                    return self._dead(running.number, fault)
                case Refused(fault):
                    self._kill()
                    raise fault
                case Ended():
                    return self._dead(running.number, process.explain_end())
                case Silent():
                    return self._dead(running.number, self._timeout(running))
                case message:
                    self._kill()
                    raise DeviceError(f"the worker process sent {message} while a batch ran")

    def _time_limit(self, running: Announced) -> float:
        limits = self._request.limits
        return (limits.compile if running.compiles else self._launch_limit) + _SLACK * running.seconds + _GRACE

    @property
    def _launch_limit(self) -> float:
        return self._request.limits.launch or _LAUNCH_SECONDS

    def _timeout(self, running: Announced) -> LaunchTimeout:
        limits = self._request.limits
        if running.number is None:
            return LaunchTimeout(f"did not answer within {_IDLE_SECONDS:g} s")
        if running.compiles:
            return LaunchTimeout(
                f"its first calls did not finish within {limits.compile:g} s, the limit for a compilation"
            )
        return LaunchTimeout(f"did not finish within {self._launch_limit:g} s, the time limit for a launch")

    def _dead(self, number: int | None, fault: PlanError) -> _Died:
        self._kill()
        return _Died(number, fault)

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None


def _blame(batch: Batch[R], number: int, fault: PlanError) -> Batch[R]:
    if isinstance(fault, DeviceLost | LaunchTimeout):
        return batch.blame(number, fault)
    return batch.blame(number, KernelCrash(f"the kernel crashed the worker process: {fault}"))
