"""The kinds of charts by name, and the way from comparisons and choices to a Chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gemmbench.errors import UsageError, nearest
from gemmbench.report.charts.choices import Choices
from gemmbench.report.charts.kinds.heat_map import draw_heat_map
from gemmbench.report.charts.kinds.ladder import draw_ladder
from gemmbench.report.charts.kinds.roofline import draw_roofline
from gemmbench.report.charts.kinds.speed import draw_speed
from gemmbench.report.charts.kinds.transfers import draw_transfers
from gemmbench.report.charts.model import Chart
from gemmbench.report.comparison import Comparison


@dataclass(frozen=True)
class Kind:
    """A kind of chart: what it shows, how it is drawn and which choices it has."""

    summary: str
    draw: Callable[[Sequence[Comparison], Choices], Chart]
    choices: frozenset[str]


_ROWS = frozenset(("size", "precision", "layout", "variants", "title"))

CHARTS: Mapping[str, Kind] = {
    "speed": Kind(
        "GFLOPS, or percent of the baseline, over the size",
        draw_speed,
        _ROWS - {"size"} | {"percent", "highlight"},
    ),
    "heat-map": Kind(
        "GFLOPS, or percent of the baseline, of two parameters of a variant",
        draw_heat_map,
        _ROWS | {"percent", "x", "y"},
    ),
    "roofline": Kind("GFLOPS over FLOP per byte, below the machine's limits", draw_roofline, _ROWS | {"highlight"}),
    "ladder": Kind("percent of the baseline of each rung, at one size", draw_ladder, _ROWS | {"highlight"}),
    "transfers": Kind("time, or shares of it, of copies and kernel", draw_transfers, _ROWS | {"percent"}),
}
"""Every kind, by its name on the command line."""


def draw_chart(kind: str, comparisons: Sequence[Comparison], **choices: Any) -> Chart:
    """Draw one kind; `choices` are fields of Choices.

    Raises UsageError for an unknown kind or choice, and if the runs hold nothing to draw.
    """
    if kind not in CHARTS:
        raise UsageError(f"unknown chart '{kind}'{nearest(kind, CHARTS)}; choose {', '.join(CHARTS)}")
    made = Choices(**choices)
    if unknown := made.given - CHARTS[kind].choices:
        known = ", ".join(sorted(CHARTS[kind].choices))
        raise UsageError(f"the chart '{kind}' has no choice '{min(unknown)}'; it has {known}")
    return CHARTS[kind].draw(comparisons, made)
