"""The one way to print tables on stdout, at the width of the screen."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

import click

from gemmbench.planning.files import escape_controls
from gemmbench.report.table import PLAIN, Report, format_reports

RICH = "rich"


def print_reports(reports: Sequence[Report], style: str | None) -> None:
    """Print reports on stdout: by default in color on a terminal and as plain text elsewhere.

    Both fit the terminal. Without one, COLUMNS sets the width; if it is not set either, lines are
    as long as they need to be. Every other style is tabulate's, and complete.
    """
    width = screen_width()
    if (style or (RICH if sys.stdout.isatty() else PLAIN)) == RICH:
        from gemmbench.report import terminal  # rich is slow to import; only terminals need it

        terminal.print_reports(reports, width)
    else:
        click.echo(format_reports(reports, style or PLAIN, width), nl=False)


def print_line(text: str = "", *, to_stderr: bool = False) -> None:
    """Print text that may come from a file: its control characters become visible."""
    click.echo(escape_controls(text), err=to_stderr)


def screen_width() -> int | None:
    """Columns of the terminal or of the variable COLUMNS; None without either."""
    known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return shutil.get_terminal_size().columns if known else None
