"""Horizontal bars through matplotlib."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gemmbench.report.charts.figure.lines import set_ticks, style_axes
from gemmbench.report.charts.model import Bar, BarPlot
from gemmbench.report.charts.palette import LIGHT, series_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PITCH, _GROUP, _AROUND = 26, 26, 96  # hundredths of an inch; around: key, guides and axis
_THICK = 0.7  # of the pitch
_SIZE = 9


def bars_height(plot: BarPlot) -> float:
    """In hundredths of an inch."""
    return _PITCH * len(plot.bars) + _GROUP * len({bar.group for bar in plot.bars if bar.group}) + _AROUND


def draw_bars(figure: Figure, plot: BarPlot, place: tuple[float, float]) -> None:
    """Draw in a part of the figure; `place` is its bottom and height, as shares of the figure."""
    bottom, height = place
    unit = height / bars_height(plot)
    left = 0.03 + 0.0105 * max(len(bar.label) for bar in plot.bars)
    right = 0.95 - 0.0095 * max(len(bar.text) for bar in plot.bars) - (0.09 if plot.note_label else 0)
    axes = figure.add_axes((left, bottom + 50 * unit, right - left, height - _AROUND * unit))
    style_axes(axes)
    axes.grid(axis="y", visible=False)
    set_ticks(axes, plot.axis, across=True)
    axes.set_xlabel(plot.axis.label, fontsize=_SIZE, color=LIGHT["ink"])
    places = _place_bars(plot)
    axes.set_ylim(places[-1] + 0.6, -0.6)
    axes.set_yticks(places, [bar.label for bar in plot.bars])
    for bar, y, label in zip(plot.bars, places, axes.get_yticklabels(), strict=True):
        label.set(color=LIGHT["ink"], fontweight="bold" if bar.emphasized else "normal", parse_math=False)
        _draw_bar(axes, bar, y)
    _draw_around(axes, plot, places)
    _write_notes(axes, plot, places, (0.98 - left) / (right - left))


def _place_bars(plot: BarPlot) -> list[float]:
    """The middles of the bars, in bars from the top; a group's name takes one too."""
    places, y, group = [], 0.0, ""
    for bar in plot.bars:
        y += 1 if bar.group != group else 0
        group = bar.group
        places.append(y)
        y += 1
    return places


def _draw_bar(axes: Axes, bar: Bar, y: float) -> None:
    for segment in bar.segments:
        name = series_color(segment.style)
        style: dict[str, Any] = {
            "height": _THICK,
            "edgecolor": LIGHT["paper"],
            "linewidth": 0.6,
            "alpha": 0.35 if bar.muted else 1,
        }
        axes.barh(y, segment.high - segment.low, left=segment.low, color=LIGHT[name], **style)
        if segment.text and segment.high - segment.low > 0.06 * axes.get_xlim()[1]:
            middle, ink = (segment.low + segment.high) / 2, LIGHT[f"on-{name}"]
            axes.text(middle, y, segment.text, ha="center", va="center", fontsize=_SIZE - 1, color=ink)
    end = bar.segments[-1].high
    if not math.isnan(bar.low):
        middle, reach = (bar.low + bar.high) / 2, (bar.high - bar.low) / 2
        axes.errorbar(middle, y, xerr=reach, color=LIGHT["ink"], capsize=2.5, linewidth=1)
        end = max(end, bar.high)
    weight = "bold" if bar.emphasized else "normal"
    offset: dict[str, Any] = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "annotation_clip": False}
    box: dict[str, Any] = {"facecolor": LIGHT["paper"], "edgecolor": "none", "pad": 1}
    axes.annotate(bar.text, (end, y), fontsize=_SIZE, fontweight=weight, color=LIGHT["ink"], bbox=box, **offset)


def _draw_around(axes: Axes, plot: BarPlot, places: list[float]) -> None:
    """Guides across the bars, names of groups, and the key."""
    for guide in plot.guides:
        axes.axvline(guide.value, color=LIGHT["limit"], linewidth=1.2, linestyle=(0, (6, 3)), zorder=1)
        offset: dict[str, Any] = {"xytext": (0, 4), "textcoords": "offset points", "ha": "right"}
        top = (guide.value, axes.get_ylim()[1])
        axes.annotate(guide.label, top, fontsize=_SIZE - 1, style="italic", color=LIGHT["muted"], **offset)
    groups = {bar.group: place for bar, place in reversed(list(zip(plot.bars, places, strict=True))) if bar.group}
    for name, y in groups.items():
        place: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center", "ha": "left"}
        axes.text(-0.12, y - 0.95, name, fontsize=_SIZE, fontweight="bold", color=LIGHT["ink"], **place)
    if plot.key:
        handles = [axes.barh(0, 0, color=LIGHT[series_color(style)]) for style, _ in plot.key]
        labels = [label for _, label in plot.key]
        corner: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (-0.01, 1.0), "ncols": len(handles)}
        axes.legend(handles, labels, fontsize=_SIZE, handlelength=1.2, frameon=False, **corner)


def _write_notes(axes: Axes, plot: BarPlot, places: list[float], x: float) -> None:
    """The column at the right edge; `x` is a share of the width of the axes."""
    style: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "ha": "right", "fontsize": _SIZE}
    axes.text(x, axes.get_ylim()[1] - 0.2, plot.note_label, color=LIGHT["muted"], va="bottom", **style)
    for bar, y in zip(plot.bars, places, strict=True):
        weight = "bold" if bar.emphasized else "normal"
        axes.text(x, y, bar.note, color=LIGHT["muted"], va="center", fontweight=weight, **style)
