"""`gemmbench report`: writes saved results as a page in a single HTML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from gemmbench.cli.options import RunName, argument, command, option, out_option
from gemmbench.cli.output import TERMINAL, print_warning
from gemmbench.cli.run_outputs import read_comparisons
from gemmbench.errors import OK
from gemmbench.planning.files import STDOUT
from gemmbench.planning.sweeps.run_request import OUTPUT, REFERENCE
from gemmbench.report.comparison import compare_rows
from gemmbench.report.export import write_text
from gemmbench.report.page.report_page import render_page
from gemmbench.session.saved_runs import read_run, refuse_renamed, refuse_same


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of `gemmbench report`."""

    files: tuple[str, ...] = argument(nargs=-1, type=RunName())
    out: str = out_option()
    output: str = option(
        "-o",
        "--output",
        type=click.Path(),
        default="report.html",
        show_default=True,
        heading=OUTPUT,
        help="The HTML file, or - for stdout.",
    )
    against: str | None = option(
        "--against",
        type=RunName(),
        metavar="NAME",
        heading=REFERENCE,
        help="Also show the differences from a saved run or a results file.",
    )


@command(ReportOptions)
def report(options: ReportOptions) -> int:
    """Write saved results FILES as one HTML page.

    \b
    gemmbench report                          the newest run, to report.html
    gemmbench report main other -o page.html  two runs on one page
    gemmbench report --against main           with differences from a saved run

    A FILE is a results file, the name of a saved run or the id of a run; without one it is the newest
    of the results folder.

    The page shows who is fastest, charts, all rows (to sort and filter), why rows failed, and the
    environment of each run. It is one file and needs no network.
    """
    folder = Path(options.out)
    comparisons = read_comparisons(options.files, folder)
    reference = read_run(options.against, folder) if options.against else None
    if reference is not None:
        refuse_renamed(reference)
        refuse_same(reference, [comparison.run for comparison in comparisons])
        print_warning(reference)
    write_text(Path(options.output), render_page(comparisons, compare_rows(reference) if reference else None))
    if options.output != STDOUT:
        TERMINAL.message(f"page: {options.output}")
    return OK
