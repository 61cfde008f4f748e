"""`gemmbench report`: a page of saved results, in one HTML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from gemmbench.cli.option_fields import OUTPUT, argument, command, option
from gemmbench.errors import OK
from gemmbench.report import store
from gemmbench.report.comparison import compare_rows
from gemmbench.report.export import write_text
from gemmbench.report.page.page import render_page


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of `gemmbench report`."""

    files: tuple[str, ...] = argument(nargs=-1, required=True, type=click.Path())
    output: str = option(
        "-o",
        "--output",
        type=click.Path(),
        default="report.html",
        show_default=True,
        heading=OUTPUT,
        help="The HTML file.",
    )
    against: str | None = option(
        "--against",
        type=click.Path(),
        metavar="FILE",
        heading=OUTPUT,
        help="Also show differences from this run.",
    )


@command(ReportOptions)
def report(options: ReportOptions) -> int:
    """Write saved results FILES as one HTML page.

    The page shows who is fastest, charts, all rows (to sort and filter), why rows failed, and the
    environment of each run. It is one file and needs no network.
    """
    comparisons = [compare_rows(store.read(Path(file))) for file in options.files]
    reference = compare_rows(store.read(Path(options.against))) if options.against else None
    write_text(Path(options.output), render_page(comparisons, reference))
    click.echo(f"page: {options.output}", err=True)
    return OK
