"""`gemmbench plot`: draws a chart of saved results as SVG."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from gemmbench.cli.options import (
    LAYOUT_NAMES,
    PRECISION_NAMES,
    RunName,
    VariantName,
    argument,
    command,
    option,
    out_option,
)
from gemmbench.cli.output import TERMINAL
from gemmbench.cli.run_outputs import read_comparisons
from gemmbench.errors import OK
from gemmbench.planning.files import STDOUT, results_stem
from gemmbench.planning.sweeps.run_request import OUTPUT, PROBLEM
from gemmbench.report.charts.draw import CHARTS, check_suffix, draw_chart, guess_kind, write_chart


@dataclass(frozen=True, kw_only=True)
class PlotOptions:
    """The options of `gemmbench plot`."""

    files: tuple[str, ...] = argument(nargs=-1, type=RunName())
    out: str = out_option()
    kind: str | None = option(
        "--kind",
        type=click.Choice(list(CHARTS)),
        metavar="KIND",
        help=f"{', '.join(CHARTS)}.  [default: whichever fits the results]",
    )
    percent: bool = option("--percent", is_flag=True, help="Show percent of the baseline, or shares of the job's time.")
    highlight: str = option("--highlight", default="", metavar="KERNEL", help="Highlight one kernel.")
    x: str = option("--x", default="", metavar="PARAMETER", help="The parameter on the horizontal axis of a heat map.")
    y: str = option("--y", default="", metavar="PARAMETER", help="The parameter on the vertical axis of a heat map.")
    title: str = option("--title", default="", metavar="TEXT", help="Another title.")
    size: str = option("--size", default="", heading=PROBLEM, help="The problem to draw, such as 4096 or 1024x768x512.")
    precision: str = option(
        "--precision", type=PRECISION_NAMES, default="", metavar="NAME", heading=PROBLEM, help="Only this precision."
    )
    layout: str = option(
        "--layout", type=LAYOUT_NAMES, default="", metavar="NAME", heading=PROBLEM, help="Only this layout."
    )
    variants: tuple[str, ...] = option(
        "--variant",
        multiple=True,
        type=VariantName(),
        heading=PROBLEM,
        help="Only this kernel or library (repeatable).",
    )
    output: str | None = option(
        "-o",
        "--output",
        type=click.Path(),
        heading=OUTPUT,
        help="The SVG file, or - for stdout.  [default: FILE-KIND.svg next to FILE]",
    )

    @property
    def choices(self) -> dict[str, object]:
        """The choices that the options make for the chart."""
        names = ("percent", "highlight", "x", "y", "title", "size", "precision", "layout", "variants")
        return {name: getattr(self, name) for name in names}


@command(PlotOptions)
def plot(options: PlotOptions) -> int:
    """Draw a chart of saved results FILES, as SVG.

    \b
    gemmbench plot                                   the newest run
    gemmbench plot main --percent --variant tiled    one kernel of a saved run
    gemmbench plot --kind roofline -o - > chart.svg  to stdout

    A FILE is a results file, the name of a saved run or the id of a run; without one it is the newest
    of the results folder. Several FILES share one chart.
    """
    if options.output:
        check_suffix(Path(options.output))
    comparisons = read_comparisons(options.files, Path(options.out), "tune" if options.kind == "search" else "")
    kind = options.kind or guess_kind(comparisons, **options.choices)
    chart = draw_chart(kind, comparisons, **options.choices)
    first = comparisons[0].run.path
    path = Path(options.output) if options.output else first.with_name(f"{results_stem(first)}-{kind}.svg")
    write_chart(chart, path)
    if options.output != STDOUT:
        TERMINAL.message(f"chart ({kind}): {path}")
    return OK
