"""The results file of a run: a new one, or with --resume the one that it continues."""

from __future__ import annotations

from dataclasses import dataclass

from gemmbench.bench.record import Environment
from gemmbench.errors import UsageError
from gemmbench.report.store.reading import read_results
from gemmbench.report.store.recorded_run import Destination, Run
from gemmbench.report.text import count_noun
from gemmbench.session.reporter import Reporter
from gemmbench.session.resuming.same_experiment import explain_difference


@dataclass(frozen=True)
class RunResult:
    """The rows of a run, whether it ended early, and why its file could not be written if that is the reason."""

    run: Run
    interrupted: bool
    fault: str = ""


def choose_results(environment: Environment, destination: Destination, reporter: Reporter) -> Run:
    """Choose the results of `environment`, new or resumed.

    Raises StoreError, and UsageError if the earlier rows must not be mixed with new ones.
    """
    path = destination.resume
    if path is None:
        return Run(environment, path=destination.folder / f"{environment.run}.jsonl")
    run = read_results(path)
    if run.finished:
        raise UsageError(f"{path}: this run was finished {run.finished}; start a new run without --resume")
    if run.warning:
        reporter.message(run.warning)
    if difference := explain_difference(run, environment):
        raise UsageError(f"{path}: {difference}; start a new run without --resume")
    reporter.message(f"resuming {path}, which has {count_noun(len(run.records), 'row')}: {run.command}")
    return run
