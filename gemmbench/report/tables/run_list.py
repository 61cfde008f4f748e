"""The table of a folder's runs."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gemmbench.report.columns.column import Column, make_table
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.table import Report

_LONGEST_COMMAND = 80


@dataclass(frozen=True)
class ListedRun:
    """A run of a folder, and the names it was saved under."""

    run: Run
    names: tuple[str, ...] = ()

    def with_name(self, name: str) -> ListedRun:
        """The same with another name, if it is one."""
        return replace(self, names=(*self.names, name)) if name else self

    @property
    def id(self) -> str:
        """The end of the run's name, which `gemmbench show` takes."""
        return self.run.environment.run.rpartition("-")[2]

    @property
    def when(self) -> str:
        """Its start in UTC, to the minute."""
        return self.run.environment.started[:16].replace("T", " ")

    @property
    def command(self) -> str:
        """What was typed, without the program's name."""
        return self.run.environment.command.removeprefix("gemmbench ")

    @property
    def statuses(self) -> list[str]:
        """Those of the rows that ran."""
        records = [*self.run.full_records, *self.run.transfers]
        return [record.status for record in records if record.status != "skipped"]

    @property
    def failed(self) -> int:
        """Rows that ran and are not right."""
        return sum(status != "ok" for status in self.statuses)


def _shorten(command: str) -> str:
    return textwrap.shorten(command, _LONGEST_COMMAND, placeholder=" ...")


COLUMNS: tuple[Column[ListedRun], ...] = (
    Column(heading="id", cell=lambda each: each.id, left=True),
    Column(heading="started (UTC)", cell=lambda each: each.when, left=True),
    Column(heading="command", cell=lambda each: _shorten(each.command), fold=True),
    Column(heading="device", cell=lambda each: each.run.environment.device, fold=True),
    Column(heading="rows", cell=lambda each: str(len(each.statuses))),
    Column(heading="failed", cell=lambda each: str(each.failed or "-")),
    Column(heading="saved as", cell=lambda each: ", ".join(each.names) or "-", left=True),
)


def report_runs(folder: str, runs: Sequence[ListedRun]) -> Report:
    """The table of a folder's runs, and how to see one of them."""
    statuses = ["failed" if run.failed else "ok" for run in runs]
    notes = [f"Show one: gemmbench show {shlex.quote(folder)}/{runs[0].run.path.name}"] if runs else []
    return Report([make_table(COLUMNS, runs, folder, notes=notes, statuses=statuses)])
