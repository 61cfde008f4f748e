"""Shows tables on stdout, messages, bars and heartbeats on stderr, and summaries in GitHub Actions."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO

import click

from gemmbench.bench.experiments.context import Progress
from gemmbench.cli.lazy_group import EXPLAIN
from gemmbench.cli.streams import discard_output
from gemmbench.errors import StoreError
from gemmbench.planning.files import STDOUT, escape_controls
from gemmbench.report.store.reading import explain_interruption
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.table import PLAIN, RICH, TSV, Report, escape_markdown, format_reports
from gemmbench.report.text import format_duration
from gemmbench.session.reporter import Reporter, SessionProgress

PERIOD = 10.0
"""The time between two lines, in seconds."""


@contextmanager
def print_heartbeat(write: Callable[[str], None]) -> Iterator[Progress]:
    """Write the current activity from time to time until the block ends."""
    progress, ended = SessionProgress(), threading.Event()

    def beat() -> None:
        while not ended.wait(PERIOD):
            write(f"{format_duration(progress.elapsed)}: {progress}{progress.describe_left()}")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield progress.report
    finally:
        ended.set()
        thread.join()


def append_job_summary(reports: Sequence[Report], closing_line: str = "") -> None:
    """Append reports and a closing line to the file named by GITHUB_STEP_SUMMARY, if it is set. Raises StoreError."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            closing = f"**{escape_markdown(closing_line)}**\n\n" if closing_line else ""
            file.write(f"{format_reports(reports, 'github')}\n{closing}")
    except OSError as fault:
        raise StoreError(f"GITHUB_STEP_SUMMARY: cannot write {path}: {fault.strerror}") from None


def _is_stdout_taken() -> bool:
    """Return whether an option of this command sends an export to stdout."""
    context = click.get_current_context(silent=True)
    return context is not None and STDOUT in context.params.values()


def _choose_stream() -> TextIO:
    """Return the stream for tables, which is stdout unless an export goes there."""
    return sys.stderr if _is_stdout_taken() else sys.stdout


def print_reports(reports: Sequence[Report], style: str | None) -> None:
    """Print reports on stdout, or on stderr if an export goes to stdout.

    By default they are in color on a terminal, and plain text elsewhere. Both fit the terminal. Without a terminal,
    COLUMNS sets the width. If it is not set either, lines are not wrapped. All other formats are tabulate's and show
    everything, but `tsv` holds only rows, and its notes go to stderr.
    """
    width, stream = screen_width(), _choose_stream()
    if (style or (RICH if stream.isatty() else PLAIN)) == RICH:
        from gemmbench.report import terminal  # rich is slow to import; only terminals need it

        terminal.print_reports(reports, width, stream)
    elif style == TSV:
        tables, notes = zip(*(report.split_notes() for report in reports), strict=True) if reports else ((), ())
        _echo(format_reports(tables, style), nl=False, to_stderr=stream is sys.stderr)
        for note in (line for lines in notes for line in lines):
            print_line(note, to_stderr=True)
    else:
        _echo(format_reports(reports, style or PLAIN, width), nl=False, to_stderr=stream is sys.stderr)


def print_line(text: str = "", *, to_stderr: bool = False) -> None:
    """Print text where tables go, or on stderr. Control characters are made visible, since it may come from a file."""
    _echo(escape_controls(text), to_stderr=to_stderr or _is_stdout_taken())


def _echo(text: str, *, nl: bool = True, to_stderr: bool) -> None:
    """Write text. If a reader such as `head` has closed the pipe, the rest is discarded and the exit code stays."""
    try:
        click.echo(text, nl=nl, err=to_stderr)
    except BrokenPipeError:
        if to_stderr:
            raise
        discard_output()


def screen_width() -> int | None:
    """Return the width of the terminal or the value of COLUMNS; None if there is neither."""
    known = _choose_stream().isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return shutil.get_terminal_size().columns if known else None


class Terminal(Reporter):
    """Writes messages to stderr. On a terminal it also draws two bars there, otherwise it writes a line every 10 s."""

    def message(self, text: str) -> None:
        """Write one line."""
        print_line(text, to_stderr=True)

    def open_run(self, run: Run) -> None:
        """Keep what to say if Ctrl-C stops the command at once."""
        context = click.get_current_context(silent=True)
        if context is not None:
            context.meta[EXPLAIN] = partial(explain_interruption, run)

    @contextmanager
    def progress_bar(self) -> Iterator[Progress]:
        """Show the progress of the sweep and of its current step."""
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


def print_warning(run: Run) -> None:
    """Say on stderr what is missing in the file of a run, if anything."""
    if run.warning:
        TERMINAL.message(run.warning)
