"""An open run: a session with a results file, new or resumed, to which each batch is written once it is measured."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gemmbench.backends import registry
from gemmbench.backends.devices import Machine, Peaks
from gemmbench.bench.environment import describe_run
from gemmbench.bench.record import Environment, Record, Request, TransferRecord
from gemmbench.errors import DeviceError, StoreError, UsageError
from gemmbench.planning.files import RESULTS_SUFFIX, is_compressed, list_results
from gemmbench.planning.plans.plan import Chain, Plan
from gemmbench.planning.problems import PanelCut
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import Destination, TimeLimits
from gemmbench.planning.sweeps.sweep import Sweep
from gemmbench.report.differences.run_differences import explain_other_machine
from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import (
    complete_batches,
    complete_transfers,
    is_being_written,
    is_finished,
    keep_latest,
    read_environment,
    read_results,
)
from gemmbench.report.store.recorded_run import TORN, Run
from gemmbench.report.text import count_noun
from gemmbench.session.reporter import Reporter

if TYPE_CHECKING:  # what measures is imported where it is used: a dry run measures nothing, and it takes long
    from gemmbench.bench.runner import Runner
    from gemmbench.session.open_session import Session


def find_unfinished(folder: Path, command: str, reporter: Reporter) -> Run:
    """Find the newest unfinished run of `gemmbench COMMAND` that no process is writing to.

    Files that cannot be read are reported and left out. Raises StoreError if there is no such run.
    """
    for path in _list_newest_first(folder, command, reporter):
        try:
            if not (is_finished(path) or is_being_written(path)):
                return read_results(path)
        except StoreError as fault:
            reporter.message(f"left out: {fault}")
    hint = "those that are compressed do not count, " if any(map(is_compressed, list_results(folder))) else ""
    raise StoreError(
        f"nothing to resume: {folder} has no unfinished `gemmbench {command}`; {hint}"
        "name a file with --resume-from, or start a new run without --resume"
    )


def find_resumed(file: str | Path) -> Path:
    """Return the path of the results file to continue. Raises UsageError if it is compressed."""
    path = Path(file)
    if is_compressed(path):
        raise UsageError(
            f"{path}: compressed, so no row can be added to it; run gunzip {shlex.quote(str(path))}, then "
            f"resume {path.with_suffix('')}"
        )
    return path


def _list_newest_first(folder: Path, command: str, reporter: Reporter) -> Iterator[Path]:
    dated: list[tuple[str, float, Path]] = []
    for path in folder.glob(f"*{RESULTS_SUFFIX}"):
        try:
            environment = read_environment(path)
        except StoreError as fault:
            reporter.message(f"left out: {fault}")
            continue
        if name_command(environment.command) == command:
            dated.append((environment.started, path.stat().st_mtime, path))
    return (path for *_, path in sorted(dated, reverse=True))


def name_command(text: str) -> str:
    """Return the name of the command, such as `run` for `gemmbench run naive`; "" for other programs."""
    words = split_command(text)
    return words[1] if words[:1] == ["gemmbench"] and len(words) > 1 else ""


def split_command(text: str) -> list[str]:
    """Split a recorded command into words. Returns an empty list if its quotes are not balanced."""
    try:
        return shlex.split(text)
    except ValueError:
        return []


_DIGEST_BYTES = 4


def hash_plans(chains: Iterable[Chain], cut: PanelCut | None = None) -> list[str]:
    """Return a short hash of each planned row, and of the way in which jobs with transfers are cut."""
    asked = [f"{chain.problem_or_network!r} {chain.name} {sorted(chain.config.values)}" for chain in chains]
    asked += [f"transfers in {cut.panels} panels on {cut.streams} streams"] if cut else []
    return [hashlib.blake2s(text.encode(), digest_size=_DIGEST_BYTES).hexdigest() for text in asked]


def _explain_difference(there: Run, here: Environment) -> str:
    """Explain why the rows of a run must not be mixed with those requested now; "" if they may be."""
    earlier = there.environment
    if difference := explain_other_machine(earlier, here):
        return f"measured {difference}"
    if earlier.tree not in ("", here.tree):  # one header must tell the sources of all rows
        revisions = " and ".join(each.revision or "unknown" for each in (earlier, here))
        return f"measured by other sources of gemmbench than those here (revisions {revisions})"
    for name in ("sweep", "post", "baseline"):
        before, now = getattr(earlier, name), getattr(here, name)
        if before != now:
            return f"another experiment: its {name} is {before or 'none'}, but that of this run is {now or 'none'}"
    for name in earlier.policy | here.policy:  # a run does not record what it left open
        before, now = (each.policy.get(name, "the default") for each in (earlier, here))
        if before != now:
            return f"another experiment: its {name} is {before}, but that of this run is {now}"
    return _explain_missing_rows(there, here)


def _explain_missing_rows(there: Run, here: Environment) -> str:
    """Explain which rows are missing; "" if none. A resumed run may have more rows than before, but not fewer."""
    missing = set(there.planned) - set(here.planned)
    if not missing:
        return ""
    return f"another experiment: this run lacks {len(missing)} of its {count_noun(len(set(there.planned)), 'row')}"


@dataclass(frozen=True)
class RunResult:
    """The rows of a run and whether it ended early. `fault` says why its file could not be written, if so."""

    run: Run
    interrupted: bool
    fault: str = ""


def choose_results(environment: Environment, destination: Destination, reporter: Reporter) -> Run:
    """Choose the results to write to: new ones for `environment`, or those to resume.

    Raises StoreError, and UsageError if the earlier rows must not be mixed with new ones.
    """
    path = destination.resume
    if path is None:
        return Run(environment, path=destination.folder / f"{environment.run}.jsonl")
    run = read_results(find_resumed(path))
    if run.finished:
        raise UsageError(f"{path}: this run was finished {run.finished}; start a new run without --resume")
    if run.is_torn:
        reporter.message(f"{path}: {TORN}")
    if difference := _explain_difference(run, environment):
        raise UsageError(f"{path}: {difference}; start a new run without --resume")
    reporter.message(f"resuming {path}, which has {count_noun(len(run.records), 'row')}: {run.command}")
    return run


@dataclass(frozen=True)
class OpenRun:
    """A session whose records go to a journal. `earlier` are the rows that a resumed run already had."""

    session: Session
    run: Run
    journal: Journal
    earlier: tuple[Record, ...]

    def finish(self) -> RunResult:
        """Mark the run in the file as finished, unless it was interrupted, and return what was measured."""
        interrupted = self.is_interrupted()  # once: Ctrl-C after the end of the file changes nothing
        self.journal.finish(is_complete=not interrupted)
        return RunResult(keep_latest(self.run), interrupted or bool(self.journal.fault), self.journal.fault)

    def is_interrupted(self) -> bool:
        """Return whether to start nothing new: after Ctrl-C or a time limit, or if rows cannot be written."""
        return bool(self.journal.fault) or self.session.is_interrupted()

    @property
    def runner(self) -> Runner[Record]:
        """A runner that writes to the journal and skips the batches that the run already has."""
        return self.session.make_runner(self.journal.write, self.is_interrupted, complete_batches(self.run.records))

    def measure_transfers(self, plans: Sequence[Plan], policy: Policy, cut: PanelCut) -> None:
        """Measure whole jobs, including copies, for the best configuration of each correct kernel."""
        from gemmbench.bench.experiments.transfer_tasks import (  # see above
            choose_plans,
            pace_batches,
            plan_tasks,
            split_tasks,
        )
        from gemmbench.bench.runner import Runner

        session, machine = self.session, self.session.machine
        primary = machine.choice.primary
        chosen = choose_plans([plan for plan in plans if plan.device == primary], self.run.records)
        if not chosen or self.is_interrupted():
            return
        jobs = plan_tasks(chosen, cut, machine.targets, registry.why_refused, session.compilers, session.progress)
        done: dict[str, list[TransferRecord]] = {key: [] for key in complete_transfers(self.run.transfers)}
        runner = Runner(session.worker, self.journal.write, session.progress, self.is_interrupted, done)
        batches = split_tasks(jobs, primary, policy, cut)
        runner.run(batches, pace_batches(batches, machine.primary))


def measure_sweep_peaks(machine: Machine, sweep: Sweep) -> Peaks | None:
    """Measure the device's peak rates if the sweep asks for them. A fleet uses the device of its first worker."""
    return machine.measure_peaks() if sweep.policy.peaks else None


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
    """Open the named back ends and the results file of a sweep for the block. See open_results for the rest."""
    from gemmbench.session.open_session import open_session  # see above

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

    `planned` holds hashes of the rows to measure. Without them the run cannot be resumed. The block ends by calling
    OpenRun.finish. If the block raises DeviceError, the message also says where to find the rows measured so far.

    Raises DeviceError, StoreError, and UsageError if earlier rows must not be mixed with new ones.
    """
    described = describe_run(session.machine, sweep, destination.command, peaks)  # while the devices are opened
    environment = replace(described, software=dict(session.software), planned=list(planned))
    run = choose_results(environment, destination, reporter)
    earlier = tuple(run.records)
    reporter.open_run(run)
    with Journal(run) as journal:
        if set(environment.planned) != set(run.planned):
            journal.extend(Request(command=environment.command, planned=environment.planned))
        opened = OpenRun(session, run, journal, earlier)
        with _say_where(run, resumable=bool(planned)):
            yield opened


@contextmanager
def _say_where(run: Run, resumable: bool) -> Iterator[None]:
    """Add to a DeviceError where to find the rows before it."""
    try:
        yield
    except DeviceError as fault:
        count = sum(record.status != "skipped" for record in run.records) + len(run.transfers)
        hint = "; --resume continues the run" if resumable else ""
        where = f"; {run.path} has {count_noun(count, 'row')}{hint}" if count else ""
        raise type(fault)(f"{fault}{where}") from fault
