"""Messages and progress on stderr: bars on a terminal, a line from time to time elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gemmbench.bench.experiments.context import Progress
from gemmbench.cli.heartbeat import print_heartbeat
from gemmbench.cli.output import print_line
from gemmbench.session.reporter import Reporter


class Terminal(Reporter):
    """Writes messages to stderr; draws two bars there if it is a terminal, and a line every 10 s if not."""

    def message(self, text: str) -> None:
        """Write one line."""
        print_line(text, to_stderr=True)

    @contextmanager
    def progress_bar(self) -> Iterator[Progress]:
        """Show how far the sweep and its current step are."""
        if not sys.stderr.isatty():
            with print_heartbeat(self.message) as progress:
                yield progress
            return
        # Imported here because rich takes longer to import than most commands take to answer.
        from rich.console import Console

        from gemmbench.interface.progress import draw_bars

        with draw_bars(Console(stderr=True)) as progress:
            yield progress


TERMINAL = Terminal()
