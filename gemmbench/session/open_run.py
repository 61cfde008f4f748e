"""A run that is open: a session, and the results file that takes every record as it is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from msgspec.structs import replace

from gemmbench.backends import registry
from gemmbench.backends.devices import Machine, Peaks
from gemmbench.backends.registry import measure_peaks
from gemmbench.bench.environment import describe_run
from gemmbench.bench.experiments.transfer_tasks import choose_plans, plan_tasks, split_tasks
from gemmbench.bench.record import Record, Request, TransferRecord
from gemmbench.bench.runner import Runner
from gemmbench.bench.workers.fleet_machine import FleetMachine
from gemmbench.bench.workers.fleet_tasks import measure_worker_peaks
from gemmbench.errors import DeviceError
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems import PanelCut
from gemmbench.planning.sweeps.overrides import TimeLimits
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.sweep import Sweep
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import complete_batches, complete_transfers, keep_latest
from gemmbench.report.store.recorded_run import Destination, Run
from gemmbench.report.text import count_noun
from gemmbench.session.reporter import Reporter
from gemmbench.session.results_file import RunResult, choose_results
from gemmbench.session.session import Session, open_session


@dataclass(frozen=True)
class OpenRun:
    """A session whose records go to a journal; `earlier` are the rows of the resumed run."""

    session: Session
    run: Run
    journal: Journal
    earlier: tuple[Record, ...]

    @property
    def result(self) -> RunResult:
        """What has been measured so far."""
        return RunResult(keep_latest(self.run), self.is_interrupted(), self.journal.fault)

    def is_interrupted(self) -> bool:
        """Nothing new should begin: the user or a time limit says so, or rows cannot be written."""
        return bool(self.journal.fault) or self.session.is_interrupted()

    @property
    def runner(self) -> Runner[Record]:
        """A runner that writes to the journal and leaves out the batches that the run has already."""
        return self.session.make_runner(self.journal.write, self.is_interrupted, complete_batches(self.run.records))

    def measure_transfers(self, plans: Sequence[Plan], policy: Policy, cut: PanelCut) -> None:
        """Measure whole jobs, copies included: the best configuration of each correct kernel."""
        session, machine = self.session, self.session.machine
        primary = machine.choice.primary
        chosen = choose_plans([plan for plan in plans if plan.device == primary], self.run.records)
        if not chosen or self.is_interrupted():
            return
        jobs = plan_tasks(chosen, cut, machine.targets, registry.why_refused, session.compilers, session.progress)
        done: dict[str, list[TransferRecord]] = {key: [] for key in complete_transfers(self.run.transfers)}
        runner = Runner(session.worker, self.journal.write, session.progress, self.is_interrupted, done)
        runner.run(split_tasks(jobs, primary, policy, cut))


def measure_sweep_peaks(machine: Machine, sweep: Sweep) -> Peaks | None:
    """What the device reaches at best, if the sweep asks for it; in a fleet, that of the first worker."""
    if not sweep.policy.peaks:
        return None
    if not isinstance(machine, FleetMachine):
        return measure_peaks(machine)
    task = machine.connection.submit(measure_worker_peaks, machine.choice.option, workers=[machine.members[0].address])
    peaks: Peaks | None = machine.connection.take(task)
    return peaks


@contextmanager
def open_run(
    machine: Machine,
    sweep: Sweep,
    devices: Sequence[str],
    limits: TimeLimits,
    destination: Destination,
    reporter: Reporter,
    planned: Sequence[str] = (),
) -> Iterator[OpenRun]:
    """Open the named back ends and the results file of a sweep for the block. The rest is as in open_results."""
    peaks = measure_sweep_peaks(machine, sweep)
    gate, resumable = sweep.policy.gate, bool(planned)
    with (
        open_session(machine, devices, limits, reporter, gate=gate, resumable=resumable) as session,
        open_results(session, sweep, peaks, destination, reporter, planned) as opened,
    ):
        yield opened


@contextmanager
def open_results(
    session: Session,
    sweep: Sweep,
    peaks: Peaks | None,
    destination: Destination,
    reporter: Reporter,
    planned: Sequence[str] = (),
) -> Iterator[OpenRun]:
    """Wait until the devices of a session are open, and open the results file of a sweep, new or resumed.

    `planned` are hashes of the rows to measure; without them the run cannot be resumed. If the block ends
    without an interruption, the file says that the run is finished. A DeviceError from the block says where
    the rows are that were measured before.

    Raises DeviceError, StoreError, and UsageError if earlier rows must not be mixed with new ones.
    """
    described = describe_run(session.machine, sweep, destination.command, peaks)  # while the devices are opened
    environment = replace(described, software=dict(session.software), planned=list(planned))
    run = choose_results(environment, destination, reporter)
    earlier = tuple(run.records)
    with Journal(run) as journal:
        if set(environment.planned) != set(run.planned):
            journal.extend(Request(command=environment.command, planned=environment.planned))
        opened = OpenRun(session, run, journal, earlier)
        with _say_where(run, resumable=bool(planned)):
            yield opened
        if not opened.is_interrupted():
            journal.finish()


@contextmanager
def _say_where(run: Run, resumable: bool) -> Iterator[None]:
    """Add to a DeviceError where the rows are that were measured before it."""
    try:
        yield
    except DeviceError as fault:
        count = sum(record.status != "skipped" for record in run.records) + len(run.transfers)
        hint = "; --resume continues the run" if resumable else ""
        where = f"; {run.path} has {count_noun(count, 'row')}{hint}" if count else ""
        raise type(fault)(f"{fault}{where}") from fault
