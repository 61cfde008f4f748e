"""The functions of the Python interface: run, compare, verify, load, tune."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gemmbench.bench.timing.stats import MARGIN
from gemmbench.bench.tuning.outcome import SearchOutcome
from gemmbench.errors import UsageError
from gemmbench.interface.keywords import (
    SWEEP,
    VERIFY,
    Name,
    Names,
    SweepOptions,
    VerifyOptions,
    list_names,
    parse_margin,
    read_cut,
    read_keywords,
    shell_command,
    takes,
)
from gemmbench.interface.progress import NotebookReporter
from gemmbench.interface.run_results import CompareResults, RunResults, VerifyResults
from gemmbench.planning.search_space import choose_strategy, parse_budget
from gemmbench.planning.sweeps.run_request import Destination, to_words
from gemmbench.report.store.reading import read_results
from gemmbench.report.table import Report
from gemmbench.report.tables.search_tables import Winner, report_searches
from gemmbench.report.tables.view import View
from gemmbench.session.machine import open_machine
from gemmbench.session.open_run import find_resumed, find_unfinished
from gemmbench.session.reporter import Reporter
from gemmbench.session.sweep_runs import run_sweep
from gemmbench.session.tuning_runs import SearchOptions, tune_kernels
from gemmbench.session.verification_runs import verify_kernels

if TYPE_CHECKING:
    from typing_extensions import Unpack  # of type checkers; typing has it from Python 3.11 on


@dataclass(frozen=True)
class _Setup:
    """The arguments of run and compare that are not options of the sweep."""

    config: str | Path
    device: str
    fleet: str | None
    kernels: str | Path | None
    out: str | Path | None
    resume: bool | str | Path
    progress: bool | None
    margin: float | None = None
    tuned: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments that the command has too, written as its options."""
        place = {"device": self.device, "fleet": self.fleet, "kernels": self.kernels or None}
        given = {"config": self.config, **place, "margin": self.margin}
        flags = ("--tuned",) if self.tuned else ()
        return (*to_words((f"--{name}", value) for name, value in given.items()), *flags)


@takes(SWEEP)
def run(
    variants: Names = (),
    *,
    config: str | Path = "quick",
    device: str = "auto",
    fleet: str | None = None,
    kernels: str | Path | None = None,
    out: str | Path | None = "results",
    resume: bool | str | Path = False,
    tuned: bool = False,
    progress: bool | None = None,
    **options: Unpack[SweepOptions],
) -> RunResults:
    """Verify and time kernels, and compare them with a baseline, like `gemmbench run`.

    Args:
        variants: names of kernels and libraries, or paths of files. The default is those in the config.
        config: the name of a config or the path of a YAML file.
        device: "auto", "cpu", "cuda" or "cuda:N".
        fleet: use many devices of one kind: "local" for all cards here, "local:N" for N workers, or
            "tcp://HOST:8786", the address of a Dask scheduler.
        kernels: a folder with more .cu files.
        out: the folder for the results file. None keeps no file.
        resume: the results file of an unfinished run to continue, or True for the newest one in
            `out`. The arguments must cover everything that the run was going to measure.
        tuned: run variants without `params` in the best configuration that `tune` has found, if any.
        progress: whether to draw progress bars. None draws them in a terminal or notebook.

    Raises UsageError for a bad argument, DeviceError for a device that cannot be used, and StoreError
    if the results cannot be written. A kernel that fails raises nothing. Its row has the status and
    the reason instead.

    >>> import gemmbench
    >>> result = gemmbench.run(["naive", "tiled"], sizes=[64, (8, 4, 16)], device="fake", out=None)
    >>> result
    <RunResults: quick on Fake GPU, 6 ok>
    >>> record = result.records[0]
    >>> record.variant, record.problem.size, record.status, len(record.samples)
    ('naive', '64', 'ok', 30)
    """
    setup = _Setup(config, device, fleet, kernels, out, resume, progress, tuned=tuned)
    return _measure("run", list_names(variants), setup, options)


@takes(SWEEP)
def compare(
    *variants: Name,
    margin: float | str = MARGIN,
    config: str | Path = "quick",
    device: str = "auto",
    fleet: str | None = None,
    kernels: str | Path | None = None,
    out: str | Path | None = "results",
    resume: bool | str | Path = False,
    tuned: bool = False,
    progress: bool | None = None,
    **options: Unpack[SweepOptions],
) -> CompareResults:
    """Measure variants together and decide which is faster, like `gemmbench compare`.

    A verdict is "faster" or "slower" if the whole 95 % interval of the paired ratio lies outside
    1 +- `margin`. It is "same" if the interval lies inside, and "inconclusive" otherwise.
    "REVISION:NAME" names a kernel at a git revision.

    Args:
        margin: the largest difference that does not matter, as a share such as 0.03 or "3%".

    The other arguments and the errors are the same as for `run`.

    >>> import gemmbench
    >>> result = gemmbench.compare("naive", "tiled", sizes=64, device="fake", out=None)
    >>> [verdict.word for verdict in result.verdicts]
    ['same']
    """
    names = tuple(dict.fromkeys(list_names(variants)))
    if len(names) < 2:
        raise UsageError("compare needs two different kernels: gemmbench.compare('tiled', 'cublas')")
    share = parse_margin(margin)
    setup = _Setup(config, device, fleet, kernels, out, resume, progress, share, tuned)
    results = _measure("compare", names, setup, options)
    return CompareResults(results.saved, results.interrupted, results.path, names, share)


@takes(VERIFY)
def verify(
    variants: Names = (),
    *,
    device: str = "auto",
    fleet: str | None = None,
    kernels: str | Path | None = None,
    every: bool = False,
    exit_first: bool = False,
    watch: bool = True,
    invariance: bool = False,
    progress: bool | None = None,
    **options: Unpack[VerifyOptions],
) -> VerifyResults:
    """Verify kernels on shapes where they often break, like `gemmbench verify`. Nothing is timed.

    Args:
        variants: names of kernels and libraries, or paths of files. The default is all that run on the device.
        device, fleet, kernels, progress: as in `run`.
        every: verify every configuration, not only one change per parameter. On the CPU device, this also includes
            every precision and layout.
        exit_first: stop at the first failure.
        watch: first watch every access of small launches on the host.
        invariance: also ask whether the bits of a row of C depend on M, on its place or on other rows; one device only.

    Raises UsageError for a bad argument and DeviceError for a device that cannot be used.

    >>> import gemmbench
    >>> checks = gemmbench.verify("tiled", sizes=[33, (1, 37, 5)], precision="f32", device="fake")
    >>> checks.ok, len(checks.records), checks.failures
    (True, 24, [])
    """
    reporter = NotebookReporter(progress)
    request, pdl = read_keywords(list_names(variants), options, kernels), options.get("pdl") is not False
    how = {"every": every, "exit_first": exit_first, "pdl": pdl, "watch": watch, "invariance": invariance}
    if invariance and fleet:
        raise UsageError("verify: invariance uses one device; leave out fleet")
    with open_machine(device, fleet, reporter) as machine:
        found = verify_kernels(request, machine, reporter, **how)
    return VerifyResults(found.records, found.interrupted, tuple(found.broken))


def load(path: str | Path) -> RunResults:
    """Read the results file of a run.

    Raises StoreError if the file cannot be read.

    >>> import gemmbench, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = gemmbench.run("naive", sizes=64, device="fake", out=folder).path
    ...     loaded = gemmbench.load(path)
    >>> [record.variant for record in loaded.records]
    ['naive', 'cublas']
    """
    saved = read_results(Path(path))
    return RunResults(saved, saved.ended_early, saved.path)


def _find_resumed(command: str, resume: bool | str | Path, folder: Path, reporter: Reporter) -> Path | None:
    """Find the file to continue, if any. Raises StoreError if there is none, and UsageError if it is compressed."""
    if resume is True:
        return find_unfinished(folder, command, reporter).path
    return find_resumed(resume) if resume else None


def _measure(command: str, variants: tuple[str, ...], setup: _Setup, options: Mapping[str, Any]) -> RunResults:
    reporter = NotebookReporter(setup.progress)
    with ExitStack() as stack:
        stack.enter_context(reporter.explain_interruptions() if setup.out else nullcontext())
        folder = Path(setup.out) if setup.out else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        resume = _find_resumed(command, setup.resume, folder, reporter)
        typed = shell_command(command, variants, setup.words, options)
        destination = Destination(folder, resume, typed)
        request = read_keywords(variants, options, setup.kernels, setup.config, destination)
        machine = stack.enter_context(open_machine(setup.device, setup.fleet, reporter))
        is_compared, cut = command == "compare", read_cut(options)
        result = run_sweep(request, machine, reporter, compare=is_compared, transfers=cut, tuned=setup.tuned)
        if result.fault:
            reporter.message(result.fault)
    return RunResults(result.run, result.interrupted, result.run.path if setup.out else None)


@dataclass(frozen=True, repr=False)
class TuneResults(RunResults):
    """The rows of the finals, what each search found, and the winners that were kept."""

    outcomes: Sequence[SearchOutcome] = ()
    winners: Sequence[Winner] = ()

    @property
    def ok(self) -> bool:
        """True if every search has a winner."""
        return bool(self.outcomes) and all(outcome.winner for outcome in self.outcomes)

    @property
    def best(self) -> dict[tuple[str, str], dict[str, int]]:
        """The best configuration for each variant and problem, such as ("tiled", "64 nn f32")."""
        return {(each.variant, str(each.problem)): dict(each.config) for each in self.winners}

    def _report(self, view: View) -> list[Report]:
        """Report the finals and the searches. A wide report says why each configuration was dropped."""
        finals = super()._report(view) if self.records else []
        return [*finals, report_searches(self.outcomes, self.environment, view.wide)]


@takes(SWEEP)
def tune(
    variants: Names,
    *,
    strategy: str | None = None,
    budget: str | int | None = None,
    goal: str = "time",
    earlier: str | Path | None = None,
    config: str | Path = "quick",
    device: str = "auto",
    fleet: str | None = None,
    kernels: str | Path | None = None,
    out: str | Path | None = "results",
    resume: bool | str | Path = False,
    progress: bool | None = None,
    **options: Unpack[SweepOptions],
) -> TuneResults:
    """Search for the fastest configuration of each variant at each problem and keep it, like `gemmbench tune`.

    Args:
        variants: names of kernels and libraries, or paths of files.
        strategy: "exhaustive", "random" or "model". None means "exhaustive", or "random" with a budget.
        budget: the time for all searches, such as "5m", or the number of configurations for each search.
        goal: what the winner minimizes: "time", "sustained" or "energy".
        earlier: a results file whose fastest configurations are tried first.
        config, device, fleet, kernels, out, resume, progress: as in `run`.

    The errors are the same as for `run`. Without `params`, all values are searched.

    >>> import gemmbench
    >>> found = gemmbench.tune("tiled", sizes=64, device="fake", out=None)
    >>> found.best
    {('tiled', '64 nn f32'): {'TILE': 16}}
    """
    if options.get("with_transfers"):
        raise UsageError(
            "tune does not accept with_transfers; measure the winner with run(tuned=True, with_transfers=True)"
        )
    names, reporter = list_names(variants), NotebookReporter(progress)
    given = {"strategy": strategy, "goal": goal, "budget": budget, "earlier": earlier, "config": config}
    given |= {"device": device, "fleet": fleet, "kernels": kernels or None}
    limit = parse_budget(None if budget is None else str(budget))
    words = to_words((f"--{name}", value) for name, value in given.items())
    with ExitStack() as stack:
        stack.enter_context(reporter.explain_interruptions() if out else nullcontext())
        folder = Path(out) if out else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        resumed = _find_resumed("tune", resume, folder, reporter)
        destination = Destination(folder, resumed, shell_command("tune", names, words, options))
        request = read_keywords(names, options, kernels, config, destination)
        how = SearchOptions(choose_strategy(strategy, limit), limit, goal, Path(earlier) if earlier else None)
        machine = stack.enter_context(open_machine(device, fleet, reporter))
        found = tune_kernels(request, machine, reporter, how)
    run = found.run
    for fault in filter(None, (run.fault, found.fault)):
        reporter.message(str(fault))
    return TuneResults(run.run, run.interrupted, run.run.path if out else None, found.outcomes, found.winners)
