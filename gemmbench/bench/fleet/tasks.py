"""What a Dask worker runs: it describes itself, compiles a plan, or runs a batch on its device.

The device is open in a process of its own, which stays for the next batch of the same run. That process ends with
the Dask worker. Everything here comes from the client: the plans, the files and the policy.
"""

from __future__ import annotations

import os
import platform
import shutil
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any

from gemmbench.backends import registry
from gemmbench.backends.code_cache import cache_folder, make_cache_folder
from gemmbench.backends.devices import Machine, Peaks
from gemmbench.backends.host import average_competitors
from gemmbench.backends.registry import measure_peaks
from gemmbench.bench.build import Built, compile_plans
from gemmbench.bench.experiments.batch import Batch, ChainBatch
from gemmbench.bench.experiments.context import ignore_progress
from gemmbench.bench.fleet.carried import Carried, check_packages, place_files, relocate
from gemmbench.bench.fleet.machine import Kind, WorkerFacts, find_kind
from gemmbench.bench.worker.messages import Open
from gemmbench.bench.worker.remote import RemoteWorker
from gemmbench.errors import DeviceError, GemmbenchError, PlanError
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.overrides import TimeLimits

_LEAST_SPACE = 64 << 20
"""Bytes that the cache's file system must have left before a batch."""


@dataclass(frozen=True)
class Setup:
    """How the workers of a run measure: the device as `--device` names it, its kind, and what `Open` has.

    `run` tells the run from others on the same cluster.
    """

    run: str
    device: str
    kind: Kind
    backends: tuple[str, ...]
    gate: bool
    limits: TimeLimits
    measured: bool = True


@dataclass(frozen=True)
class BatchTask:
    """A batch for any worker whose card is of the right kind."""

    setup: Setup
    batch: Batch[Any]
    carried: Carried


@dataclass(frozen=True)
class Outcome:
    """What came of a batch on a worker: its records, or the `fault` of the worker, which should get no more."""

    worker: str
    card: str
    records: Sequence[Any] = ()
    fault: GemmbenchError | None = None


def forget_nanny_settings() -> None:
    """Drop the environment variables that Dask's nanny sets for its own worker: one thread, and a small heap.

    A device process would inherit them, and its references would take many times as long.
    """
    settings = import_module("dask").config.get("distributed.nanny.pre-spawn-environ", {})
    for name, value in settings.items():
        if os.environ.get(name) == str(value):
            del os.environ[name]


class _Station:
    """The device of this Dask worker, open for one run at a time."""

    def __init__(self) -> None:
        self._setup: Setup | None = None
        self._worker: RemoteWorker | None = None
        self._stopped: set[str] = set()
        self._lock = threading.Lock()

    def begin_to_open(self, setup: Setup, machine: Machine) -> None:
        """Start the process that opens the device, unless it may measure for another run."""
        with self._lock:
            if self._worker is None:
                self._start(setup, machine)

    def open(self, setup: Setup, machine: Machine) -> RemoteWorker:
        """The worker of a run, opened if it is not yet; that of another run is closed."""
        with self._lock:
            if self._worker is not None and self._setup == setup:
                return self._worker
            self._close()
            return self._start(setup, machine)

    def _start(self, setup: Setup, machine: Machine) -> RemoteWorker:
        forget_nanny_settings()
        request = Open(machine, setup.backends, setup.gate, setup.limits, setup.measured)
        self._worker = RemoteWorker(request, is_interrupted=lambda: setup.run in self._stopped)
        self._setup = setup
        return self._worker

    def stop(self, run: str) -> None:
        """Begin nothing new for a run; its batch ends with the samples that there are."""
        self._stopped.add(run)

    def end(self, run: str) -> None:
        """Close the device if no batch of this run is on it any more."""
        self.stop(run)
        threading.Thread(target=self._end, args=(run,), daemon=True).start()

    def _end(self, run: str) -> None:
        with self._lock:
            if self._setup and self._setup.run == run:
                self._close()

    def _close(self) -> None:
        if self._worker is not None:
            self._worker.close()
        self._worker = self._setup = None


_station = _Station()


def begin_run(setup: Setup) -> None:
    """Let this worker begin to open its device. What is wrong with it is said when it gets a batch."""
    with suppress(GemmbenchError):
        machine = _describe_machine(setup.device)
        if find_kind(machine) == setup.kind:
            _station.begin_to_open(setup, machine)


def stop_run(run: str) -> None:
    """Ask this worker to end the batch of a run after its current window."""
    _station.stop(run)


def end_run(run: str) -> None:
    """Let this worker close the device that it holds for a run."""
    _station.end(run)


@cache
def _describe_machine(device: str) -> Machine:
    """The devices of this worker. Raises DeviceError."""
    machine = registry.describe_machine(registry.choose_device(device))
    devices = {name: replace(each, software=dict(each.software)) for name, each in machine.devices.items()}
    return replace(machine, devices=devices)


def describe_worker(device: str) -> WorkerFacts:
    """What this worker is."""
    try:
        machine, fault = _describe_machine(device), ""
    except GemmbenchError as error:
        machine, fault = None, str(error)
    return WorkerFacts(_find_address(), platform.node(), machine, fault)


def _find_address() -> str:
    return str(import_module("distributed").get_worker().address)


def measure_load() -> float:
    """Threads of other processes that want a core of this worker now, on average."""
    return average_competitors()


def measure_worker_peaks(device: str) -> Peaks | None:
    """What the device of this worker reaches at best. Raises DeviceError, PlanError."""
    return measure_peaks(_describe_machine(device))


def compile_plan(plan: Plan, carried: Carried, device: str, limit: float) -> Built:
    """Compile a plan into the cache of this host. Raises DeviceError, which names the host."""
    try:
        machine = _describe_machine(device)
        moved = _prepare_plan(plan, carried, place_files(carried))
        _refuse_full_disk()
        compilers = registry.make_compilers(machine, [plan.device], limit)
        return compile_plans([moved], compilers, ignore_progress)[moved]
    except PlanError as fault:
        return fault
    except DeviceError as fault:
        raise DeviceError(f"worker on {platform.node()}: {fault}") from None


def _prepare_plan(plan: Plan, carried: Carried, root: str) -> Plan:
    check_packages(plan.variant, carried)
    return replace(plan, variant=relocate(plan.variant, root))


def _refuse_full_disk() -> None:
    """Raise DeviceError if there is hardly room for compiled code."""
    home = make_cache_folder()
    left = shutil.disk_usage(home).free
    if left < _LEAST_SPACE:
        raise DeviceError(
            f"{left >> 20} MiB are left for the cache {cache_folder()}, and {_LEAST_SPACE >> 20} MiB are needed; "
            "free some, or name another folder in GEMMBENCH_CACHE_DIR"
        )


def run_batch(task: BatchTask) -> Outcome:
    """Compile what is not in this host's cache, and measure a batch."""
    address = _find_address()
    try:
        machine = _describe_machine(task.setup.device)
        card = WorkerFacts(address, platform.node(), machine).card
        if find_kind(machine) != task.setup.kind:
            raise DeviceError(f"{machine.primary.name} is another kind of card than {task.setup.kind[0]}")
        _refuse_full_disk()
        worker = _station.open(task.setup, machine)
        return Outcome(address, card, worker.experiment(_prepare_batch(task, machine)))
    except GemmbenchError as fault:
        return Outcome(address, "", fault=type(fault)(f"worker on {platform.node()}: {fault}"))


def _prepare_batch(task: BatchTask, machine: Machine) -> Batch[Any]:
    """The batch with the code and the files of this host. Raises DeviceError."""
    batch = task.batch
    assert isinstance(batch, ChainBatch)
    root = place_files(task.carried)
    move = {chain.variant: relocate(chain.variant, root) for chain in batch.chains}
    chains = []
    for chain in batch.chains:
        steps = tuple(replace(step, variant=relocate(step.variant, root)) for step in chain.steps)
        chains.append(replace(chain, variant=move[chain.variant], steps=steps))
    compilers = registry.make_compilers(machine, task.setup.backends, task.setup.limits.compile)
    wanted = [
        step
        for chain, built in zip(chains, batch.built, strict=True)
        for step, code in zip(chain.steps, built, strict=True)
        if not isinstance(code, PlanError)
    ]
    here = compile_plans(list(dict.fromkeys(wanted)), compilers, ignore_progress)
    built = tuple(
        tuple(here.get(step, code) for step, code in zip(chain.steps, codes, strict=True))
        for chain, codes in zip(chains, batch.built, strict=True)
    )
    return replace(batch, chains=tuple(chains), built=built)
