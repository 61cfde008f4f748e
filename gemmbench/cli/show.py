"""`gemmbench show`: the tables again, from saved results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from gemmbench.cli.option_fields import OUTPUT, argument, command, option
from gemmbench.cli.options import OutputOptions
from gemmbench.cli.output import print_report, write_exports
from gemmbench.errors import OK, UsageError
from gemmbench.report import store
from gemmbench.report.comparison import compare_rows
from gemmbench.report.explanation.find_row import find_row
from gemmbench.report.explanation.sentences import explain_row


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """The options of `gemmbench show`."""

    files: tuple[str, ...] = argument(nargs=-1, required=True, type=click.Path())
    explain: str | None = option(
        "--explain", metavar="ROW", heading=OUTPUT, help="Explain one row: its number in --wide, NAME or NAME@SIZE."
    )
    output: OutputOptions


@command(ShowOptions)
def show(options: ShowOptions) -> int:
    """Print or export saved results FILES, or explain one row."""
    if len(options.files) > 1 and options.output.exports:
        raise UsageError("an export takes one results file at a time; call show once for each")
    for file in options.files:
        run = store.read(Path(file))
        if run.warning:
            click.echo(run.warning, err=True)
        comparison = compare_rows(run)
        write_exports(comparison, options.output)
        if options.explain is None:
            print_report(comparison, options.output.style, options.output.wide)
        else:
            click.echo("\n".join(explain_row(find_row(comparison, options.explain))))
    return OK
