"""The tasks of a Dask worker: describe itself, receive a plan's files, compile the plan, or run a batch."""

from __future__ import annotations

import os
import platform
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from gemmbench.backends import registry
from gemmbench.backends.code_cache import cache_folder, content_key, explain_unwritable, make_cache_folder
from gemmbench.backends.devices import Machine, Peaks
from gemmbench.backends.host import average_competitors
from gemmbench.backends.registry import measure_peaks
from gemmbench.backends.sources import explain_missing, find_local_header, find_package_version, why_no_headers
from gemmbench.bench.build import Built, compile_plans
from gemmbench.bench.experiments.batch import Batch, ChainBatch
from gemmbench.bench.experiments.context import ignore_progress
from gemmbench.bench.workers.device_workers import RemoteWorker
from gemmbench.bench.workers.messages import Open
from gemmbench.errors import BuildError, DeviceError, GemmbenchError, PlanError
from gemmbench.planning.files import is_file
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.source_tree import read_version
from gemmbench.planning.sweeps.run_request import TimeLimits

Kind = tuple[str, int, int]
"""The name, compute capability and number of multiprocessors.

Plans for one card are valid for all cards of its kind.
"""


@dataclass(frozen=True)
class WorkerFacts:
    """A worker's description of itself: the devices that it sees, or the `fault` that hides them.

    `card` is the name of its device in rows: the UUID of a GPU and its host.
    """

    address: str
    host: str
    machine: Machine | None
    fault: str = ""
    gemmbench: str = field(default_factory=read_version)
    python: str = field(default_factory=platform.python_version)

    @property
    def card(self) -> str:
        """The name of the device in rows."""
        uuid = self.machine.primary.uuid if self.machine else ""
        return " ".join(filter(None, (uuid, f"on {self.host}")))

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the worker's software."""
        software = self.machine.primary.software if self.machine else {}
        return {"gemmbench": self.gemmbench, "python": self.python, **software}


@dataclass(frozen=True)
class WorkerHealth:
    """Whether a worker is fit to measure.

    `load` is the average number of threads of other processes that want the worker's cores. `floor` is half the width
    of the 95 % interval of a kernel compared with itself. They are None if they could not be measured, and `fault` is
    the reason.
    """

    facts: WorkerFacts
    load: float | None = None
    floor: float | None = None
    fault: str = ""


def find_kind(machine: Machine) -> Kind:
    """Return the kind of the primary device."""
    device = machine.primary
    return device.name, device.target.sm, device.target.sms


_FOLDER = "carried"


@dataclass(frozen=True)
class Carried:
    """The contents of files by absolute path on the client, and the versions of packages by name."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)


def collect_files(variants: Iterable[Variant]) -> Carried:
    """Collect the code of these variants: each file, its local headers, and their local headers."""
    files: dict[str, bytes] = {}
    packages: dict[str, str] = {}
    for variant in dict.fromkeys(variants):
        if variant.code.file:
            _collect(Path(variant.code.file), _list_folders(variant), files)
        named = [*variant.packages, *(name for name in variant.code.include if not Path(name).is_absolute())]
        packages.update({name: version for name in named if (version := find_package_version(name))})
    return Carried(files, packages)


def _list_folders(variant: Variant) -> list[Path]:
    return [Path(name) for name in variant.code.include if Path(name).is_absolute()]


def _collect(file: Path, folders: list[Path], files: dict[str, bytes]) -> None:
    """Add a file and, recursively, the files that it includes. A file from a git revision may not exist."""
    path = os.path.abspath(file)  # noqa: PTH100 - keeps links, which `#include` follows as they are
    if path in files or not is_file(file):
        return
    files[path] = file.read_bytes()
    for line in files[path].decode(errors="replace").splitlines():
        if header := find_local_header(line, file.parent, folders):
            _collect(header, folders, files)


def place_files(carried: Carried) -> str:
    """Make the files readable on this host. Returns the folder to put before their paths, or "".

    Raises DeviceError if they cannot be written.
    """
    if all(_holds(Path(path), content) for path, content in carried.files.items()):
        return ""
    parts = [part for path, content in sorted(carried.files.items()) for part in (path, content.decode("latin-1"))]
    root = make_cache_folder() / _FOLDER / content_key(parts)
    try:
        for path, content in carried.files.items():
            _write(root / path.lstrip("/"), content)
    except OSError as fault:
        raise explain_unwritable(root, fault) from None
    return str(root)


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False


def _write(path: Path, content: bytes) -> None:
    """Write a file unless it exists. It is renamed into place, because workers share the folder."""
    if _holds(path, content):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(path)


def relocate(variant: Variant, root: str) -> Variant:
    """Return the variant with its files below `root`."""
    if not root or not variant.code.file:
        return variant
    include = tuple(root + name if Path(name).is_absolute() else name for name in variant.code.include)
    return replace(variant, code=replace(variant.code, file=root + variant.code.file, include=include))


def check_packages(variant: Variant, carried: Carried) -> None:
    """Raise BuildError if this host lacks a package of a variant or has a different version of it."""
    if missing := explain_missing(variant.packages) or why_no_headers(variant):
        raise BuildError(missing)
    for name, wanted in _versions_of(variant, carried):
        if (found := find_package_version(name)) != wanted:
            raise BuildError(
                f"{name} is {found or 'of unknown version'} here and {wanted} on the client: install {wanted}"
            )


def _versions_of(variant: Variant, carried: Carried) -> Iterator[tuple[str, str]]:
    names = {*variant.packages, *variant.code.include}
    return ((name, version) for name, version in carried.packages.items() if name in names)


_LEAST_SPACE = 64 << 20
"""The number of bytes that must be free on the cache's file system before a batch."""


@dataclass(frozen=True)
class Setup:
    """How the workers of a run measure: the value of `--device`, the kind of device and the fields of `Open`.

    `run` distinguishes the run from others on the same cluster.
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
    """A batch for any worker with the right kind of card."""

    setup: Setup
    batch: Batch[Any]
    carried: Carried


@dataclass(frozen=True)
class Outcome:
    """The result of a batch on a worker: the records, or the `fault` of a worker that should get no more batches."""

    worker: str
    card: str
    records: Sequence[Any] = ()
    fault: GemmbenchError | None = None


def forget_nanny_settings() -> None:
    """Drop environment variables that Dask's nanny sets for its own worker, such as one thread and a small heap.

    A device process would inherit them and compute references many times more slowly.
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
        """Start the process that opens the device, unless it may be measuring for another run."""
        with self._lock:
            if self._worker is None:
                self._start(setup, machine)

    def open(self, setup: Setup, machine: Machine) -> RemoteWorker:
        """Return the worker of a run. Opens it if necessary, and closes that of another run."""
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
        """Start nothing new for a run. Its batch ends with the samples taken so far."""
        self._stopped.add(run)

    def end(self, run: str) -> None:
        """Close the device unless a batch of this run is still using it."""
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
    """Make this worker begin to open its device. Faults are reported when it gets a batch."""
    with suppress(GemmbenchError):
        machine = _describe_machine(setup.device)
        if find_kind(machine) == setup.kind:
            _station.begin_to_open(setup, machine)


def stop_run(run: str) -> None:
    """Ask this worker to end the batch of a run after its current window."""
    _station.stop(run)


def end_run(run: str) -> None:
    """Make this worker close the device that it holds for a run."""
    _station.end(run)


@cache
def _describe_machine(device: str) -> Machine:
    """Return the devices of this worker. Raises DeviceError."""
    machine = registry.describe_machine(registry.choose_device(device))
    devices = {name: replace(each, software=dict(each.software)) for name, each in machine.devices.items()}
    return replace(machine, devices=devices)


def describe_worker(device: str) -> WorkerFacts:
    """Describe this worker."""
    try:
        machine, fault = _describe_machine(device), ""
    except GemmbenchError as error:
        machine, fault = None, str(error)
    return WorkerFacts(_find_address(), platform.node(), machine, fault)


def _find_address() -> str:
    return str(import_module("distributed").get_worker().address)


def measure_load() -> float:
    """Return the average number of threads of other processes that want this worker's cores."""
    return average_competitors()


def measure_worker_peaks(device: str) -> Peaks | None:
    """Measure the peak rates of this worker's device. Raises DeviceError, PlanError."""
    return measure_peaks(_describe_machine(device))


def compile_plan(plan: Plan, carried: Carried, device: str, limit: float) -> Built:
    """Compile a plan into this host's cache. Raises a DeviceError that names the host."""
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
    """Raise DeviceError if there is too little room for compiled code."""
    home = make_cache_folder()
    left = shutil.disk_usage(home).free
    if left < _LEAST_SPACE:
        raise DeviceError(
            f"the cache {cache_folder()} has {left >> 20} MiB left but needs {_LEAST_SPACE >> 20} MiB; free "
            "some space, or set GEMMBENCH_CACHE_DIR to another folder"
        )


def run_batch(task: BatchTask) -> Outcome:
    """Compile whatever is not in this host's cache, then measure a batch."""
    address = _find_address()
    try:
        machine = _describe_machine(task.setup.device)
        card = WorkerFacts(address, platform.node(), machine).card
        if find_kind(machine) != task.setup.kind:
            raise DeviceError(f"{machine.primary.name} is a different kind of card from {task.setup.kind[0]}")
        _refuse_full_disk()
        worker = _station.open(task.setup, machine)
        return Outcome(address, card, worker.experiment(_prepare_batch(task, machine)))
    except GemmbenchError as fault:
        return Outcome(address, "", fault=type(fault)(f"worker on {platform.node()}: {fault}"))


def _prepare_batch(task: BatchTask, machine: Machine) -> Batch[Any]:
    """Return the batch with this host's code and files. Raises DeviceError."""
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
