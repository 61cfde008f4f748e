"""Messages and progress on stderr; progress on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from gemmbench.bench.experiments.context import SWEEP, Progress, silent
from gemmbench.session.reporter import Reporter


class Terminal(Reporter):
    """Writes messages to stderr, and draws two bars there if it is a terminal."""

    def message(self, text: str) -> None:
        """Write one line."""
        click.echo(text, err=True)

    @contextmanager
    def progress_bar(self) -> Iterator[Progress]:
        """Draw a bar for the sweep and one for its current step."""
        if not sys.stderr.isatty():
            yield silent
            return
        # Imported here because rich takes longer to import than most commands take to answer.
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
            sweep, step = bars.add_task("sweep", total=None), bars.add_task("", total=None)

            def report(what: str, done: int, of: int) -> None:
                task = sweep if what.startswith(SWEEP) else step
                bars.update(task, description=what.removeprefix(SWEEP), completed=done, total=of)

            yield report


TERMINAL = Terminal()
