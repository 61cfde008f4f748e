"""Line plots through matplotlib: limits, series with their intervals, labels at the ends of lines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gemmbench.report.charts.figure.page import SIZE, add_axes, page_size, style_axes
from gemmbench.report.charts.layout import MARGIN, spread, text_width, widest
from gemmbench.report.charts.model import Axis, Limit, LinePlot, Series, Tick
from gemmbench.report.charts.palette import LIGHT, series_color
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
_GAP, _BELOW, _ABOVE = 16, 46, 36  # pixels: between labels, and for the labels of the axes
_BEND, _MARKER, _TEXT = 12, 20, 30  # pixels from the plot to where a label's line ends, its marker and text


def lines_height(plot: LinePlot) -> float:
    """In pixels."""
    return _inner_height(plot) + _BELOW + _ABOVE


def _inner_height(plot: LinePlot) -> float:
    return max(320, _GAP * (len(plot.series) + 1))


def draw_lines(figure: Figure, plot: LinePlot, bottom: float) -> None:
    """Draw above `bottom`, in pixels."""
    left = MARGIN + 10 + widest([tick.text for tick in plot.y.ticks])
    width = page_size(figure)[0] - left - _TEXT - MARGIN - widest([each.label for each in plot.series])
    size = width, _inner_height(plot)
    axes = add_axes(figure, (left, bottom + _BELOW), size)
    style_axes(axes)
    set_ticks(axes, plot.x, across=True, width=width)
    set_ticks(axes, plot.y, across=False)
    axes.set_xlabel(plot.x.label, fontsize=SIZE, color=LIGHT["ink"])
    axes.set_title(plot.y.label, fontsize=SIZE, color=LIGHT["ink"], loc="left")
    for limit in plot.limits:
        xs, ys = zip(limit.start, limit.end, strict=True)
        axes.plot(xs, ys, color=LIGHT["limit"], linewidth=1.2, linestyle=(0, (6, 3)))
        _label_limit(axes, limit)
    for series in plot.series:
        _draw_series(axes, series)
    _label_ends(axes, plot, size)


def set_ticks(axes: Axes, axis: Axis, across: bool, width: float = math.inf) -> None:
    """The range and the ticks of the model, on the x axis (`width` pixels wide) or on the y axis."""
    target = axes.xaxis if across else axes.yaxis
    (axes.set_xscale if across else axes.set_yscale)("log" if axis.log else "linear")
    (axes.set_xlim if across else axes.set_ylim)(axis.low, axis.high)
    texts = _drop_crowded(axis, width) if across else [tick.text for tick in axis.ticks]
    target.set_ticks([tick.value for tick in axis.ticks], texts)
    target.set_ticks([], minor=True)


def _drop_crowded(axis: Axis, width: float) -> list[str]:
    """The texts of the ticks; "" for one that would overlap the text on its left."""
    texts, free = [], -math.inf
    for tick in axis.ticks:
        start, end = _extent(axis, tick, width)
        texts.append(tick.text if start >= free else "")
        free = end + 4 if start >= free else free
    return texts


def _extent(axis: Axis, tick: Tick, width: float) -> tuple[float, float]:
    middle, half = axis.position(tick.value) * width, text_width(tick.text) / 2
    return middle - half, middle + half


def _draw_series(axes: Axes, series: Series) -> None:
    dashes = dash_of(series.style)
    pattern = "-" if dashes == "none" else (0, tuple(map(float, dashes.split())))
    below = [max(0.0, point.y - point.low) for point in series.points]  # 0 for an unknown end
    above = [max(0.0, point.high - point.y) for point in series.points]
    axes.errorbar(
        [point.x for point in series.points],
        [point.y for point in series.points],
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
    """Above the line, along it: at the end, or in the middle of a slope."""
    (x, y), (end_x, end_y) = axes.transData.transform((limit.start, limit.end))
    turn = math.degrees(math.atan2(end_y - y, end_x - x))
    slope = abs(turn) > 1
    middle = math.sqrt(limit.start[0] * limit.end[0]), math.sqrt(limit.start[1] * limit.end[1])
    place: dict[str, Any] = {"xytext": (0, 4), "textcoords": "offset points", "va": "bottom"}
    turned: dict[str, Any] = {"ha": "center" if slope else "right", "rotation": turn, "rotation_mode": "anchor"}
    style: dict[str, Any] = {"fontsize": SIZE - 1, "style": "italic", "color": LIGHT["muted"]}
    axes.annotate(limit.label, middle if slope else limit.end, **place, **turned, **style)


def _label_ends(axes: Axes, plot: LinePlot, size: tuple[float, float]) -> None:
    width, height = size
    ends = [(plot.x.position(each.points[-1].x), plot.y.position(each.points[-1].y)) for each in plot.series]
    places = spread([height * y for _, y in ends], _GAP, 0, height)
    for series, (end_x, end_y), place in zip(plot.series, ends, places, strict=True):
        y, color = place / height, LIGHT[series_color(series.style)]
        style: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False, "alpha": 0.45 if series.muted else 1}
        xs = [end_x + 6 / width, 1, 1 + _BEND / width]
        axes.plot(xs, [end_y, end_y, y], color=LIGHT["axis"], linewidth=0.6, **style)
        marker = _MARKERS[marker_of(series.style)]
        axes.plot([1 + _MARKER / width], [y], marker=marker, color=color, markersize=6, **style)
        weight = "bold" if series.emphasized else "normal"
        text: dict[str, Any] = {"fontsize": SIZE, "fontweight": weight, "va": "center", "parse_math": False}
        axes.text(1 + _TEXT / width, y, series.label, color=LIGHT["ink"], **text, **style)
