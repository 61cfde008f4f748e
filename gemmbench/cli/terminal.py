"""Messages and progress on stderr; progress on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from gemmbench.bench.experiments.context import Progress, ignore_progress
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
            yield ignore_progress
            return
        # Imported here because rich takes longer to import than most commands take to answer.
        from rich.console import Console

        from gemmbench.interface.progress import draw_bars

        with draw_bars(Console(stderr=True)) as progress:
            yield progress


TERMINAL = Terminal()
