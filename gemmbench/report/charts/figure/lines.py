"""Line plots through matplotlib: limits, series with their intervals, labels at the ends of lines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gemmbench.report.charts.model import Axis, Limit, LinePlot, Series
from gemmbench.report.charts.palette import LIGHT, series_color
from gemmbench.report.charts.spread import spread
from gemmbench.report.charts.styles import dash_of, marker_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = {
    "circle": "o",
    "square": "s",
    "triangle": "^",
    "diamond": "D",
    "wedge": "v",
    "pentagon": "p",
    "star": "*",
}
_GAP, _AXES = 16, 50  # hundredths of an inch: between labels, and for the labels of the x axis
_LEFT, _LETTER = 0.1, 0.0105  # of the width
_SIZE = 9


def lines_height(plot: LinePlot) -> float:
    """In hundredths of an inch."""
    return max(320, _GAP * (len(plot.series) + 1)) + _AXES + 20


def draw_lines(figure: Figure, plot: LinePlot, place: tuple[float, float]) -> None:
    """Draw in a part of the figure; `place` is its bottom and height, as shares of the figure."""
    bottom, height = place
    inner = (lines_height(plot) - _AXES - 20) / lines_height(plot)
    width = 0.94 - _LEFT - _LETTER * max(len(series.label) for series in plot.series)
    axes = figure.add_axes((_LEFT, bottom + height * _AXES / lines_height(plot), width, height * inner))
    style_axes(axes)
    set_ticks(axes, plot.x, across=True)
    set_ticks(axes, plot.y, across=False)
    axes.set_xlabel(plot.x.label, fontsize=_SIZE, color=LIGHT["ink"])
    axes.set_title(plot.y.label, fontsize=_SIZE, color=LIGHT["ink"], loc="left")
    for limit in plot.limits:
        xs, ys = zip(limit.start, limit.end, strict=True)
        axes.plot(xs, ys, color=LIGHT["limit"], linewidth=1.2, linestyle=(0, (6, 3)))
        _label_limit(axes, limit)
    for series in plot.series:
        _draw_series(axes, series)
    _label_ends(axes, plot, max(320, _GAP * (len(plot.series) + 1)))


def style_axes(axes: Axes) -> None:
    """A quiet grid below the marks, and only a line at the bottom."""
    axes.set_axisbelow(True)
    axes.grid(color=LIGHT["grid"], linewidth=0.8)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(LIGHT["axis"])
    axes.tick_params(length=0, labelsize=_SIZE, labelcolor=LIGHT["muted"])


def set_ticks(axes: Axes, axis: Axis, across: bool) -> None:
    """The range and the ticks of the model, on the x axis or on the y axis."""
    target = axes.xaxis if across else axes.yaxis
    (axes.set_xscale if across else axes.set_yscale)("log" if axis.log else "linear")
    (axes.set_xlim if across else axes.set_ylim)(axis.low, axis.high)
    target.set_ticks([tick.value for tick in axis.ticks], [tick.text for tick in axis.ticks])
    target.set_ticks([], minor=True)


def _draw_series(axes: Axes, series: Series) -> None:
    dashes = dash_of(series.style)
    pattern = "-" if dashes == "none" else (0, tuple(map(float, dashes.split())))
    xs, ys = [point.x for point in series.points], [point.y for point in series.points]
    below = [max(0.0, point.y - point.low) for point in series.points]  # 0 for an unknown end
    above = [max(0.0, point.high - point.y) for point in series.points]
    axes.errorbar(
        xs,
        ys,
        yerr=[below, above],
        color=LIGHT[series_color(series.style)],
        linestyle=pattern if series.joined else "none",
        linewidth=2.0 if series.emphasized else 1.4,
        marker=_MARKERS[marker_of(series.style)],
        markersize=6,
        markeredgecolor=LIGHT["paper"],
        markeredgewidth=0.7,
        capsize=2,
        elinewidth=1,
        alpha=0.3 if series.muted else 1,
        zorder=3 if series.emphasized else 2,
    )


def _label_limit(axes: Axes, limit: Limit) -> None:
    """Above the end of the line, along it."""
    (x, y), (end_x, end_y) = axes.transData.transform((limit.start, limit.end))
    turn: dict[str, Any] = {"rotation": math.degrees(math.atan2(end_y - y, end_x - x)), "rotation_mode": "anchor"}
    place: dict[str, Any] = {"xytext": (-3, 4), "textcoords": "offset points", "ha": "right", "va": "bottom"}
    axes.annotate(limit.label, limit.end, fontsize=_SIZE - 1, style="italic", color=LIGHT["muted"], **turn, **place)


def _label_ends(axes: Axes, plot: LinePlot, height: float) -> None:
    ends = [(plot.x.position(each.points[-1].x), plot.y.position(each.points[-1].y)) for each in plot.series]
    places = spread([height * y for _, y in ends], _GAP, 0, height)
    for series, (end_x, end_y), place in zip(plot.series, ends, places, strict=True):
        y, color = place / height, LIGHT[series_color(series.style)]
        style: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False, "alpha": 0.45 if series.muted else 1}
        axes.plot([end_x + 0.01, 1, 1.02], [end_y, end_y, y], color=LIGHT["axis"], linewidth=0.6, **style)
        axes.plot([1.035], [y], marker=_MARKERS[marker_of(series.style)], color=color, markersize=6, **style)
        weight = "bold" if series.emphasized else "normal"
        text: dict[str, Any] = {"fontsize": _SIZE, "fontweight": weight, "va": "center", "parse_math": False}
        axes.text(1.055, y, series.label, color=LIGHT["ink"], **text, **style)
