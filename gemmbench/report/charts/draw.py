"""The kinds of charts by name, and functions to draw a chart from comparisons and to write it to a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.files import STDOUT
from gemmbench.report.charts.chart_model import Chart, Choices
from gemmbench.report.charts.heat_map import draw_heat_map
from gemmbench.report.charts.ladder import draw_ladder
from gemmbench.report.charts.roofline import draw_roofline
from gemmbench.report.charts.search_progress import draw_search
from gemmbench.report.charts.speed import draw_speed
from gemmbench.report.charts.svg import render_svg
from gemmbench.report.charts.transfer_bars import draw_transfers
from gemmbench.report.comparison import Comparison
from gemmbench.report.export import write_text


@dataclass(frozen=True)
class Kind:
    """A kind of chart: what it shows, how it is drawn, and which choices it allows.

    A kind with `one_problem` shows one problem at a time, by default the one with the most variants.
    """

    summary: str
    draw: Callable[[Sequence[Comparison], Choices], Chart]
    choices: frozenset[str]
    one_problem: bool = True


_ROWS = frozenset(("size", "precision", "layout", "variants", "title"))

CHARTS: Mapping[str, Kind] = {
    "speed": Kind(
        "GFLOPS, or percent of the baseline, over the size",
        draw_speed,
        _ROWS - {"size"} | {"percent", "highlight", "axis"},
        one_problem=False,
    ),
    "heat-map": Kind(
        "GFLOPS, or percent of the baseline, of two parameters of a variant",
        draw_heat_map,
        _ROWS | {"percent", "x", "y"},
    ),
    "roofline": Kind(
        "GFLOPS over FLOP per byte, below the machine's limits",
        draw_roofline,
        _ROWS | {"highlight"},
        one_problem=False,
    ),
    "ladder": Kind("percent of the baseline of each rung, at one size", draw_ladder, _ROWS | {"highlight"}),
    "search": Kind("GFLOPS of the configurations that tune tried, in order, and the best so far", draw_search, _ROWS),
    "transfers": Kind("time, or shares of it, of copies and kernel", draw_transfers, _ROWS | {"percent"}),
}
"""Every kind of chart by its name on the command line."""


def draw_chart(kind: str, comparisons: Sequence[Comparison], **choices: Any) -> Chart:
    """Draw a chart of one kind. `choices` are fields of Choices.

    Raises UsageError for an unknown kind or choice, and if the runs have nothing to draw.
    """
    if kind not in CHARTS:
        raise UsageError(f"unknown chart '{kind}'{nearest(kind, CHARTS)}; choose {', '.join(CHARTS)}")
    made = Choices(**choices)
    if unknown := made.given - CHARTS[kind].choices:
        known = ", ".join(sorted(CHARTS[kind].choices))
        raise UsageError(f"the chart '{kind}' has no choice '{min(unknown)}'; it has {known}")
    return CHARTS[kind].draw(comparisons, made)


_GUESSES = ("speed", "transfers", "heat-map", "ladder")
_LEAST_SWEEP = 0.5  # share of the rows of a variant with two parameters that vary


def guess_kind(comparisons: Sequence[Comparison], **choices: Any) -> str:
    """Guess the kind of chart that fits the runs and the choices.

    These are tried in turn: speed for several sizes, transfers, a heat map if most rows are configurations of one
    variant, and the ladder.
    """
    made = Choices(**choices)
    fitting = [kind for kind in _GUESSES if made.given <= CHARTS[kind].choices]
    for kind in fitting:
        if kind != "heat-map" or _is_sweep(comparisons, made):
            try:
                CHARTS[kind].draw(comparisons, made)
            except UsageError:  # nothing for this kind: try the next
                continue
            return kind
    return fitting[-1] if fitting else _GUESSES[-1]


def _is_sweep(comparisons: Sequence[Comparison], choices: Choices) -> bool:
    """Return whether most rows that ran are of one variant, or the choices are for a heat map."""
    rows = [row for comparison in comparisons for row in comparison.rows if choices.include(row.record) and row.ranked]
    counts = Counter(row.record.variant for row in rows)
    return bool(choices.x or choices.y) or any(count > _LEAST_SWEEP * len(rows) > 2 for count in counts.values())


SUFFIX = ".svg"


def check_suffix(path: Path) -> None:
    """Raise UsageError if a file name does not end in .svg."""
    if str(path) != STDOUT and path.suffix.lower() != SUFFIX:
        suffix = f"unknown format '{path.suffix}'" if path.suffix else "no suffix"
        raise UsageError(f"{path}: {suffix}; charts are written as SVG, so end the name in {SUFFIX}")


def write_chart(chart: Chart, path: Path) -> None:
    """Write the chart. Raises UsageError for another suffix, and StoreError if the file cannot be written."""
    check_suffix(path)
    write_text(path, render_svg(chart))
