"""Cards of one kind in a cluster as one machine. It runs several batches at a time after compiling on every host."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, TypeVar, cast

from msgspec.structs import replace as replace_fields

from gemmbench.backends import registry
from gemmbench.backends.base import Artifact, Compiler, Device
from gemmbench.backends.devices import DeviceChoice, Machine, Peaks
from gemmbench.bench.experiments.batch import Batch, ChainBatch
from gemmbench.bench.experiments.context import SWEEP
from gemmbench.bench.runner import Pace, Runner
from gemmbench.bench.workers.connection import MOST_LOSSES, Connection, WorkersLost
from gemmbench.bench.workers.fleet_tasks import (
    BatchTask,
    Carried,
    Kind,
    Outcome,
    Setup,
    WorkerFacts,
    begin_run,
    collect_files,
    compile_plan,
    end_run,
    find_kind,
    measure_worker_peaks,
    run_batch,
    stop_run,
)
from gemmbench.bench.workers.messages import Open
from gemmbench.errors import DeviceError, GemmbenchError, LaunchError, PlanError, UsageError
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Plan

R = TypeVar("R")
T = TypeVar("T")
_POLL = 0.2
_STRANDED_SECONDS, _SILENT_SECONDS = 60.0, 2.0
"""The seconds that a fleet may be without workers before the run ends, and before a message says so."""


@dataclass(eq=False)
class _Job:
    """Batch `number`, submitted to one of the workers `targets` (empty: any worker).

    `faults` counts the workers that could not run it. `restarts` counts how often it was given up. It then waits for
    `waiting` trials of one row each, which are jobs with a `row` and the `whole` batch.
    """

    number: int
    batch: ChainBatch
    carried: Carried
    faults: int = 0
    row: int | None = None
    whole: _Job | None = None
    waiting: int = 0
    restarts: int = 0
    targets: tuple[str, ...] = ()


@dataclass
class FleetWorker:
    """A Worker that runs batches on any worker of a kind. Close it at the end.

    `request` says how to measure. `message` is called with lines for the user.
    """

    machine: FleetMachine
    request: Open
    message: Callable[[str], None]
    _jobs: dict[Any, _Job] = field(default_factory=dict)
    _unfit: set[str] = field(default_factory=set)
    _alone: float = 0.0

    def __post_init__(self) -> None:
        self.connection = self.machine.connection
        request = self.request
        self._setup = Setup(
            secrets.token_hex(8),
            self.machine.choice.option,
            self.machine.kind,
            request.backends,
            request.gate,
            request.limits,
            request.measured,
        )
        self._unfit |= self.machine.others

    @property
    def devices(self) -> Mapping[str, Device]:
        """The devices of a worker, as the machine describes them."""
        return self.machine.devices

    @property
    def capacity(self) -> int:
        """The number of workers that can currently measure, at least 1."""
        return max(1, len(self._list_fit()))

    def experiment(self, batch: Batch[R]) -> list[R]:
        """See Worker. Runs one batch and waits for it."""
        self.start(0, batch)
        while True:
            for _, records in self.wait():
                return records

    def start(self, number: int, batch: Batch[Any]) -> None:
        """Run a batch of chains on the next free worker."""
        assert isinstance(batch, ChainBatch)
        self._submit(_Job(number, batch, collect_files(batch.variants)))

    def wait(self) -> list[tuple[int, list[Any]]]:
        """Return the numbers and records of finished batches. Waits briefly if there are none.

        Raises DeviceError if the scheduler or all workers are lost, or if no worker can run a batch.
        """
        finished: list[tuple[int, list[Any]]] = []
        future = self.connection.next_done(_POLL)
        if future is None:
            self._rescue_stranded()
        elif (job := self._jobs.pop(future, None)) is not None:
            finished += self._finish(job, future)
        return finished

    def stop(self) -> None:
        """Start nothing new. Running batches end after their current window."""
        self.connection.tell_workers(stop_run, self._setup.run)

    def close(self) -> None:
        """Let the workers close their devices."""
        for future in self._jobs:
            future.cancel()
        self._jobs.clear()
        self.connection.tell_workers(end_run, self._setup.run)

    def __enter__(self) -> FleetWorker:
        """Let the workers that will measure open their devices while code is compiled."""
        self.connection.tell_workers(begin_run, self._setup, workers=self._list_fit())
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.close()

    def _list_fit(self) -> list[str]:
        return [address for address in self.connection.list_workers() if address not in self._unfit]

    def _submit(self, job: _Job) -> None:
        """Submit a job to the workers that are fit. Raises DeviceError if there are none."""
        job.targets = tuple(self._list_fit()) if self._unfit else ()
        task = BatchTask(self._setup, job.batch, job.carried)
        self._jobs[self.connection.submit_measurement(run_batch, task, job.targets)] = job

    def _rescue_stranded(self) -> None:
        """Resubmit jobs whose workers are all gone. Raises DeviceError if there has been no worker for a while."""
        there = set(self._list_fit())
        before, self._alone = self._alone, 0.0 if there or not self._jobs else self._alone + _POLL
        missing = f"no worker is left that has a {self.connection.resource}"
        if before <= _SILENT_SECONDS < self._alone:
            self.message(f"{missing}; waiting {_STRANDED_SECONDS:g} s for another one")
        if self._alone > _STRANDED_SECONDS:
            raise DeviceError(missing)
        for future, job in list(self._jobs.items()):
            if job.targets and there and not there & set(job.targets):
                del self._jobs[future]
                future.cancel()
                self._submit(job)

    def _finish(self, job: _Job, future: Any) -> list[tuple[int, list[Any]]]:
        try:
            outcome: Outcome = self.connection.take(future)
        except WorkersLost:
            return self._note_loss(job)
        if outcome.fault is not None:
            self._leave_out_worker(job, outcome.worker, outcome.fault)
            return []
        if job.whole is not None:
            self._end_trial(job.whole)
            return []
        records = [_complete(record, job.batch, outcome.card) for record in outcome.records]
        return [(job.number, records)]

    def _leave_out_worker(self, job: _Job, worker: str, fault: GemmbenchError) -> None:
        """Try a job elsewhere, because this worker cannot run it. Raises the fault if there is no other worker."""
        self._unfit.add(worker)
        job.faults += 1
        if job.faults > MOST_LOSSES or not self._list_fit():
            raise fault
        self.message(f"{fault}; leaving out the worker and measuring {job.batch.title} elsewhere")
        self._submit(job)

    def _note_loss(self, job: _Job) -> list[tuple[int, list[Any]]]:
        """Blame a row that lost its workers when it ran alone. Otherwise try the rows of the batch one by one."""
        if job.whole is not None and job.row is not None:
            fault = LaunchError(f"left out: {MOST_LOSSES + 1} workers were lost while it ran")
            job.whole.batch = job.whole.batch.blame(job.row, fault)
            self._end_trial(job.whole)
            return []
        job.restarts += 1
        if job.restarts > MOST_LOSSES:
            raise DeviceError(f"workers were lost repeatedly while {job.batch.title} ran")
        rows = _list_hopeful(job.batch)
        self.message(f"{MOST_LOSSES + 1} workers were lost while {job.batch.title} ran; trying its rows one by one")
        job.waiting = len(rows)
        for row in rows:
            self._submit(_Job(job.number, _keep_only(job.batch, row), job.carried, row=row, whole=job))
        return []

    def _end_trial(self, whole: _Job) -> None:
        whole.waiting -= 1
        if whole.waiting == 0:
            self._submit(whole)


def _list_hopeful(batch: ChainBatch) -> list[int]:
    """Return the numbers of the rows that have not failed yet."""
    return [row for row in range(len(batch.chains)) if batch.find_fault(row) is None]


def _keep_only(batch: ChainBatch, row: int) -> ChainBatch:
    """Return the batch with all rows but this one left out."""
    aside = LaunchError("set aside")
    for other in _list_hopeful(batch):
        batch = batch if other == row else batch.blame(other, aside)
    return batch


def _complete(record: Any, batch: ChainBatch, card: str) -> Any:
    """Return a record with its card and with the client's key of the batch."""
    return replace_fields(record, card=card, batch_key=batch.key)


@dataclass
class FleetRunner(Runner[R]):
    """A Runner whose `worker` is a FleetWorker."""

    def run(self, batches: Sequence[Batch[R]], pace: Pace | None = None) -> list[R]:
        """See Runner.

        Runs several batches at a time. With a `pace`, the longest start first, so that all end together.
        """
        fleet, started = cast(FleetWorker, self.worker), dict[int, float]()
        waiting = sorted(range(len(batches)), key=lambda number: -pace.costs[number] if pace else 0)
        records: list[R] = []
        stopped = False
        while waiting or started:
            if not stopped and self.is_interrupted():
                stopped = True
                waiting.clear()
                fleet.stop()
            while waiting and len(started) < fleet.capacity:
                self._report(batches, waiting, started, pace)
                records += self._start(fleet, waiting.pop(0), batches, started)
            for number, found in fleet.wait() if started else []:
                records += self._take(found)
                seconds = time.monotonic() - started.pop(number)
                if pace:
                    pace.add(number, seconds)
        return records

    def _start(
        self, fleet: FleetWorker, number: int, batches: Sequence[Batch[R]], started: dict[int, float]
    ) -> list[R]:
        """Start a batch unless it is done. Returns the records that need no measurement."""
        left, records = self._prepare(batches[number])
        if left is not None:
            fleet.start(number, left)
            started[number] = time.monotonic()
        return records

    def _report(
        self, batches: Sequence[Batch[R]], waiting: Sequence[int], started: Mapping[int, float], pace: Pace | None
    ) -> None:
        """Report the next batch, the number of finished ones, and the time for the rest on all workers."""
        left = pace.estimate_share(waiting) if pace else None
        workers = cast(FleetWorker, self.worker).capacity
        known = () if left is None else (left / workers,)
        self.progress(
            f"{SWEEP}{batches[waiting[0]].title}", len(batches) - len(waiting) - len(started), len(batches), *known
        )


@dataclass(frozen=True)
class FleetCompiler:
    """A compiler that gives each plan to one worker on every host.

    `limit` is the time limit for one compilation in seconds.
    """

    machine: FleetMachine
    limit: float

    def compile(self, plan: Plan) -> Artifact:
        """See Compiler. The artifact comes from the first host that can compile. Raises the same errors as Compiler.

        A host that cannot compile because of a full disk or a lost worker reports this again when it gets a batch.
        """
        connection = self.machine.connection
        workers = connection.list_workers()
        hosts = dict.fromkeys(host for address, host in workers.items() if address not in self.machine.others)
        carried, device = collect_files([plan.variant]), self.machine.choice.option
        tasks = [connection.submit(compile_plan, plan, carried, device, self.limit, workers=[host]) for host in hosts]
        built, faults = list[Artifact](), list[DeviceError]()
        for task in tasks:
            try:
                found = connection.take(task)
            except DeviceError as fault:
                faults.append(fault)
            else:
                if isinstance(found, PlanError):
                    raise found
                built.append(found)
        if not built:
            raise faults[0] if faults else DeviceError(f"no worker is left that has a {connection.resource}")
        return built[0]

    def is_compiled(self, plan: Plan) -> bool:
        """Return False, because the caches are on the workers and their contents are unknown."""
        return False


@dataclass(frozen=True, kw_only=True)
class FleetMachine(Machine):
    """A machine that represents all `members`.

    It has the smallest memory of all, and a UUID only if there is just one card.

    `others` holds the addresses of workers that are left out, because they have another kind of card or a fault.
    """

    connection: Connection
    members: tuple[WorkerFacts, ...]
    others: frozenset[str]
    _refusals: dict[tuple[Variant, str], str] = field(default_factory=dict, compare=False, repr=False)

    def why_refused(self, variant: Variant, device: str) -> str:
        """Ask a worker why it cannot run a variant, because the workers have the packages. Raises DeviceError."""
        key = variant, device
        if key not in self._refusals:
            workers = [member.address for member in self.members]
            task = self.connection.submit(registry.why_refused, variant, device, workers=workers)
            why = self.connection.take(task)
            self._refusals[key] = f"on the workers: {why}" if why else ""
        return self._refusals[key]

    why_unwatched = "the host of a fleet cannot watch accesses"

    def refuse_transfers(self) -> None:
        """See Machine."""
        raise UsageError(
            "--with-transfers does not work with --fleet, because cards share the bus; measure on one card, "
            "--device cuda:0"
        )

    def make_compilers(self, names: Iterable[str], limit: float) -> Mapping[str, Compiler]:
        """See Machine. Each plan is compiled on one worker of every host."""
        return dict.fromkeys(names, FleetCompiler(self, limit))

    def measure_peaks(self) -> Peaks | None:
        """See Machine. The peaks are those of the first worker."""
        task = self.connection.submit(measure_worker_peaks, self.choice.option, workers=[self.members[0].address])
        peaks: Peaks | None = self.connection.take(task)
        return peaks

    def open_worker(self, request: Open, message: Callable[[str], None], *how: Any) -> FleetWorker:
        """See Machine."""
        return FleetWorker(self, request, message)

    def make_runner(self, worker: FleetWorker, *how: Any) -> Runner[Any]:
        """See Machine. The runner runs several batches at a time."""
        return FleetRunner(worker, *how)

    @property
    def kind(self) -> Kind:
        """The kind of the cards."""
        return find_kind(self)

    def list_differences(self) -> list[str]:
        """Return the software whose versions differ between members, such as `driver 570.1, 580.2`."""
        names = dict.fromkeys(name for member in self.members for name in member.versions)
        found = {name: {member.versions.get(name, "none") for member in self.members} for name in names}
        return [f"{name} {', '.join(sorted(versions))}" for name, versions in found.items() if len(versions) > 1]


def group_by_kind(choice: DeviceChoice, facts: Sequence[WorkerFacts], connection: Connection) -> list[FleetMachine]:
    """Return a machine for each kind of card, in the order in which the kinds were found."""
    kinds: dict[Kind, list[WorkerFacts]] = {}
    for each in facts:
        if each.machine:
            kinds.setdefault(find_kind(each.machine), []).append(each)
    known = {each.address for each in facts}
    return [_join(choice, members, connection, known) for members in kinds.values()]


def _join(
    choice: DeviceChoice, members: Sequence[WorkerFacts], connection: Connection, known: set[str]
) -> FleetMachine:
    machines = [each.machine for each in members if each.machine]
    devices = {name: _merge([machine.devices[name] for machine in machines]) for name in machines[0].devices}
    others = frozenset(known - {each.address for each in members})
    baseline = machines[0].default_baseline
    return FleetMachine(choice, devices, baseline, connection=connection, members=tuple(members), others=others)


def _merge(devices: Sequence[Device]) -> Device:
    first = devices[0]
    if len(devices) == 1:
        return first
    memory = min(device.target.memory for device in devices)
    same = {name: _only([getattr(device, name) for device in devices], "") for name in ("uuid", "vbios")}
    conditions = _only([device.conditions for device in devices], None)
    target = replace(first.target, memory=memory)
    return replace(first, target=target, software=_merge_versions(devices), conditions=conditions, **same)


def _only(values: Sequence[T], otherwise: T) -> T:
    return values[0] if all(value == values[0] for value in values) else otherwise


def _merge_versions(devices: Sequence[Device]) -> Mapping[str, str]:
    """Return versions by name. If devices differ, all versions are listed."""
    names = dict.fromkeys(name for device in devices for name in device.software)
    found = {name: [device.software.get(name, "none") for device in devices] for name in names}
    return {name: ", ".join(sorted(set(versions))) for name, versions in found.items()}
