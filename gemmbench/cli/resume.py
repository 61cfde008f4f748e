"""Which results file a run writes: a new one, or with --resume the one that it goes on with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gemmbench.errors import UsageError

if TYPE_CHECKING:
    from gemmbench.bench.record import Environment, Record
    from gemmbench.report.store import Journal, Run

NEWEST = "newest"


def results_file(environment: Environment, folder: Path, resume: str | None) -> Run:
    """The run of `environment`, new or resumed. Raises StoreError, UsageError where the two must not be mixed."""
    from gemmbench.report import store

    if resume is None:
        return store.Run(environment, path=folder / f"{environment.run}.jsonl")
    newest = resume == NEWEST
    path = store.newest(folder, environment.sweep, environment.device) if newest else Path(resume)
    run = store.read(path)
    if run.warning:
        click.echo(run.warning, err=True)
    if difference := _difference(run.environment, environment):
        raise UsageError(f"{path}: measured {difference}; start a new run without --resume")
    click.echo(f"going on with {path}: {len(run.records)} rows are there", err=True)
    return run


def kept_in(run: Run, journal: Journal) -> Callable[[Record], None]:
    """What takes each record as it is made, to the journal and to `run`; not the skips that a resumed run has."""
    skipped = {record.identity for record in run.records if record.status == "skipped"}

    def keep(record: Record) -> None:
        if record.identity in skipped:
            return
        journal.write(record)
        run.records.append(record)

    return keep


def _difference(there: Environment, here: Environment) -> str:
    """How an earlier run was measured otherwise, or ""; old files do not say how."""
    if there.device != here.device:
        return f"on {there.device}, this is {here.device}"
    if there.schema != here.schema:
        return f"by an older gemmbench (schema {there.schema}, this one writes {here.schema})"
    for name, value in there.policy.items():
        if here.policy.get(name) != value:
            return f"with {name} {value}, this run has {here.policy.get(name)}"
    return ""
