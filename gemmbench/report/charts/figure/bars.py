"""Horizontal bars through matplotlib."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gemmbench.report.charts.figure.lines import set_ticks
from gemmbench.report.charts.figure.page import SIZE, add_axes, page_size, style_axes
from gemmbench.report.charts.layout import MARGIN, text_width, widest
from gemmbench.report.charts.model import Bar, BarPlot, Segment
from gemmbench.report.charts.palette import LIGHT, series_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PITCH, _BELOW, _ABOVE = 26, 46, 40  # pixels: of a bar, and for the axis, and for guides and the key
_THICK = 0.7  # of the pitch


def bars_height(plot: BarPlot) -> float:
    """In pixels."""
    return _PITCH * (_place_bars(plot)[-1] + 1.2) + _BELOW + _ABOVE


def draw_bars(figure: Figure, plot: BarPlot, bottom: float) -> None:
    """Draw above `bottom`, in pixels."""
    left = MARGIN + 10 + widest([bar.label for bar in plot.bars])
    right = page_size(figure)[0] - MARGIN - 8 - widest([bar.text for bar in plot.bars])
    if plot.note_label:
        right -= MARGIN + widest([plot.note_label, *(bar.note for bar in plot.bars)])
    height = bars_height(plot) - _BELOW - _ABOVE
    axes = add_axes(figure, (left, bottom + _BELOW), (right - left, height))
    style_axes(axes)
    axes.grid(axis="y", visible=False)
    set_ticks(axes, plot.axis, across=True, width=right - left)
    axes.set_xlabel(plot.axis.label, fontsize=SIZE, color=LIGHT["ink"])
    _draw_all(axes, plot, right - left)
    _draw_around(axes, plot, (MARGIN - left) / (right - left))
    _write_notes(axes, plot, (page_size(figure)[0] - MARGIN - left) / (right - left))


def _draw_all(axes: Axes, plot: BarPlot, width: float) -> None:
    places = _place_bars(plot)
    axes.set_ylim(places[-1] + 0.6, -0.6)
    axes.set_yticks(places, [bar.label for bar in plot.bars])
    for bar, y, label in zip(plot.bars, places, axes.get_yticklabels(), strict=True):
        label.set(color=LIGHT["ink"], fontweight="bold" if bar.emphasized else "normal", parse_math=False)
        for segment in bar.segments:
            room = plot.axis.position(segment.high) - plot.axis.position(segment.low)
            _draw_segment(axes, segment, y, 0.35 if bar.muted else 1, room * width)
        _draw_end(axes, bar, y)


def _place_bars(plot: BarPlot) -> list[float]:
    """The middles of the bars, in bars from the top; a group's name takes one too."""
    places, y, group = [], 0.0, ""
    for bar in plot.bars:
        y += 1 if bar.group != group else 0
        group = bar.group
        places.append(y)
        y += 1
    return places


def _draw_segment(axes: Axes, segment: Segment, y: float, alpha: float, room: float) -> None:
    name = series_color(segment.style)
    style: dict[str, Any] = {"height": _THICK, "edgecolor": LIGHT["paper"], "linewidth": 0.6, "alpha": alpha}
    axes.barh(y, segment.high - segment.low, left=segment.low, color=LIGHT[name], **style)
    if segment.text and text_width(segment.text, 11) < room:
        middle, ink = (segment.low + segment.high) / 2, LIGHT[f"on-{name}"]
        axes.text(middle, y, segment.text, ha="center", va="center", fontsize=SIZE - 1, color=ink)


def _draw_end(axes: Axes, bar: Bar, y: float) -> None:
    """The interval, and the text behind it."""
    end = bar.segments[-1].high
    if not math.isnan(bar.low):
        middle, reach = (bar.low + bar.high) / 2, (bar.high - bar.low) / 2
        axes.errorbar(middle, y, xerr=reach, color=LIGHT["ink"], capsize=2.5, linewidth=1)
        end = max(end, bar.high)
    weight = "bold" if bar.emphasized else "normal"
    offset: dict[str, Any] = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "annotation_clip": False}
    box: dict[str, Any] = {"facecolor": LIGHT["paper"], "edgecolor": "none", "pad": 1}
    axes.annotate(bar.text, (end, y), fontsize=SIZE, fontweight=weight, color=LIGHT["ink"], bbox=box, **offset)


def _draw_around(axes: Axes, plot: BarPlot, edge: float) -> None:
    """Guides across the bars, names of groups, and the key; `edge` is the left end of the page."""
    for guide in plot.guides:
        axes.axvline(guide.value, color=LIGHT["limit"], linewidth=1.2, linestyle=(0, (6, 3)), zorder=1)
        offset: dict[str, Any] = {"xytext": (0, 4), "textcoords": "offset points", "ha": "right"}
        top = (guide.value, axes.get_ylim()[1])
        axes.annotate(guide.label, top, fontsize=SIZE - 1, style="italic", color=LIGHT["muted"], **offset)
    firsts = reversed(list(zip(plot.bars, _place_bars(plot), strict=True)))
    for name, y in {bar.group: place for bar, place in firsts if bar.group}.items():
        place: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center", "ha": "left"}
        axes.text(edge, y - 0.95, name, fontsize=SIZE, fontweight="bold", color=LIGHT["ink"], **place)
    if plot.key:
        handles = [axes.barh(0, 0, color=LIGHT[series_color(style)]) for style, _ in plot.key]
        labels = [label for _, label in plot.key]
        corner: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (edge, 1.0), "ncols": len(handles)}
        axes.legend(handles, labels, fontsize=SIZE, handlelength=1.2, frameon=False, borderpad=0, **corner)


def _write_notes(axes: Axes, plot: BarPlot, x: float) -> None:
    """The column at the right edge; `x` is a share of the width of the axes."""
    style: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "ha": "right", "fontsize": SIZE}
    axes.text(x, axes.get_ylim()[1] - 0.2, plot.note_label, color=LIGHT["muted"], va="bottom", **style)
    for bar, y in zip(plot.bars, _place_bars(plot), strict=True):
        weight = "bold" if bar.emphasized else "normal"
        axes.text(x, y, bar.note, color=LIGHT["muted"], va="center", fontweight=weight, **style)
