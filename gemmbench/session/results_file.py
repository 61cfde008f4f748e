"""The results file of a run: a new one, or with --resume the one that it continues."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gemmbench.bench.record import Environment
from gemmbench.errors import UsageError
from gemmbench.report import store
from gemmbench.report.differences.machine_differences import explain_other_machine
from gemmbench.report.store import Run
from gemmbench.session.reporter import Reporter

NEWEST = "newest"
"""Resume the newest run of the same sweep and device."""


@dataclass(frozen=True)
class Destination:
    """Where rows are written: a folder, or the file to `resume` (NEWEST, or a path).

    `command` is what the file records as its command.
    """

    folder: Path = Path("results")
    resume: str | None = None
    command: str = ""


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
    resume = destination.resume
    if resume is None:
        return Run(environment, path=destination.folder / f"{environment.run}.jsonl")
    newest = resume == NEWEST
    path = store.find_newest(destination.folder, environment.sweep, environment.device) if newest else Path(resume)
    run = store.read(path)
    if run.warning:
        reporter.message(run.warning)
    if difference := _find_difference(run.environment, environment):
        raise UsageError(f"{path}: measured {difference}; start a new run without --resume")
    reporter.message(f"resuming {path}, which has {len(run.records)} rows")
    return run


def _find_difference(there: Environment, here: Environment) -> str:
    """How an earlier run was measured differently, or ""; old files do not record it."""
    if there.schema != here.schema:
        return f"by an older gemmbench (schema {there.schema}, this one writes {here.schema})"
    if difference := explain_other_machine(there, here):
        return difference
    for name, value in there.policy.items():
        if here.policy.get(name) != value:
            return f"with {name} {value}, this run has {here.policy.get(name)}"
    return ""
