"""Horizontal bars: labels on the left, texts at the ends, guides across, a key above."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from xml.etree.ElementTree import Element

from gemmbench.report.charts.layout import text_width, widest
from gemmbench.report.charts.model import Bar, BarPlot, Segment
from gemmbench.report.charts.palette import series_color
from gemmbench.report.charts.svg.canvas import add, add_line, add_mark, add_text

_THICK, _PITCH = 18, 26
_GROUP = 26  # height of the heading of a group


@dataclass(frozen=True)
class _Frame:
    """Where the bars are, in pixels; `heights` are the tops of the bars."""

    plot: BarPlot
    left: float
    right: float
    top: float
    bottom: float
    heights: tuple[float, ...]

    def place(self, value: float) -> float:
        """The pixel of a value."""
        return self.left + self.plot.axis.position(value) * (self.right - self.left)


def draw_bars(parent: Element, plot: BarPlot, width: float, top: float) -> float:
    """Draw below `top`; returns the bottom."""
    if plot.key:
        top = _draw_key(parent, plot, top + 6)
    frame = _make_frame(plot, width, top + (24 if plot.guides or plot.note_label else 8))
    _draw_axis(parent, frame)
    _draw_guides(parent, frame)
    _draw_groups(parent, frame)
    for bar, y in zip(plot.bars, frame.heights, strict=True):
        _draw_bar(parent, frame, bar, y)
    _write_notes(parent, frame, width)
    return frame.bottom + 46


def _make_frame(plot: BarPlot, width: float, top: float) -> _Frame:
    left = 12 + widest([bar.label for bar in plot.bars])
    beyond = 14 + max(text_width(bar.text) - _room_after(plot, bar) * (width - left) for bar in plot.bars)
    notes = [plot.note_label, *(bar.note for bar in plot.bars)] if plot.note_label else []
    beyond = max(beyond, 8) + max((text_width(note) + 16 for note in notes), default=0)
    heights, y = [], top + 4
    for index, bar in enumerate(plot.bars):
        y += _GROUP if bar.group and (index == 0 or plot.bars[index - 1].group != bar.group) else 0
        heights.append(y)
        y += _PITCH
    return _Frame(plot, left, width - beyond, top, y, tuple(heights))


def _room_after(plot: BarPlot, bar: Bar) -> float:
    """The share of the axis right of a bar, less a reserve because the axis will be narrower."""
    return 0.6 * (1 - plot.axis.position(_bar_end(bar)))


def _bar_end(bar: Bar) -> float:
    return max(bar.segments[-1].high, bar.high if not math.isnan(bar.high) else 0)


def _draw_key(parent: Element, plot: BarPlot, top: float) -> float:
    x = 0.0
    for style, label in plot.key:
        add(parent, "rect", x=x, y=top - 2, width=13, height=13, rx=2, css=f"gb-fill-{series_color(style)}")
        add_text(parent, x + 19, top + 9, label)
        x += 19 + text_width(label) + 16
    return top + 16


def _draw_axis(parent: Element, frame: _Frame) -> None:
    for tick in frame.plot.axis.ticks:
        x = frame.place(tick.value)
        add_line(parent, (x, frame.top), (x, frame.bottom), "gb-stroke-grid")
        add_text(parent, x, frame.bottom + 17, tick.text, "gb-fill-muted", text_anchor="middle")
    add_line(parent, (frame.left, frame.top), (frame.left, frame.bottom), "gb-stroke-axis")
    middle = (frame.left + frame.right) / 2
    add_text(parent, middle, frame.bottom + 37, frame.plot.axis.label, text_anchor="middle")


def _draw_guides(parent: Element, frame: _Frame) -> None:
    for guide in frame.plot.guides:
        mark, x = add_mark(parent, guide.tip), frame.place(guide.value)
        ends = (x, frame.top), (x, frame.bottom)
        add_line(mark, *ends, "gb-stroke-limit", stroke_width=1.5, stroke_dasharray="7 4")
        add_text(mark, x + 4, frame.top - 7, guide.label, "gb-fill-muted", text_anchor="end", font_style="italic")


def _draw_groups(parent: Element, frame: _Frame) -> None:
    names = ["", *(bar.group for bar in frame.plot.bars)]
    for (before, name), y in zip(pairwise(names), frame.heights, strict=True):
        if name != before:
            add_text(parent, 0, y - 8, name, font_weight="bold")


def _draw_bar(parent: Element, frame: _Frame, bar: Bar, y: float) -> None:
    middle, weight = y + _THICK / 2, "bold" if bar.emphasized else "normal"
    add_text(parent, frame.left - 8, middle + 4, bar.label, text_anchor="end", font_weight=weight)
    group = add(parent, "g", **({"opacity": 0.35} if bar.muted else {}))
    for segment in bar.segments:
        _draw_segment(group, frame, segment, y)
    if not math.isnan(bar.low):
        low, high = frame.place(bar.low), frame.place(bar.high)
        path = f"M{low:.2f},{middle - 4:.2f} v8 M{high:.2f},{middle - 4:.2f} v8 M{low:.2f},{middle:.2f} H{high:.2f}"
        add(group, "path", d=path, css="gb-stroke-ink", stroke_width=1.2, fill="none")
    css = "gb-fill-ink gb-stroke-paper gb-halo"  # legible where a guide crosses it
    add_text(parent, frame.place(_bar_end(bar)) + 7, middle + 4, bar.text, css, font_weight=weight)


def _write_notes(parent: Element, frame: _Frame, x: float) -> None:
    add_text(parent, x, frame.top - 7, frame.plot.note_label, "gb-fill-muted", text_anchor="end")
    for bar, y in zip(frame.plot.bars, frame.heights, strict=True):
        weight = "bold" if bar.emphasized else "normal"
        add_text(parent, x, y + _THICK / 2 + 4, bar.note, "gb-fill-muted", text_anchor="end", font_weight=weight)


def _draw_segment(parent: Element, frame: _Frame, segment: Segment, y: float) -> None:
    color = series_color(segment.style)
    low, high = frame.place(segment.low), frame.place(segment.high)
    mark = add_mark(parent, segment.tip)
    css = f"gb-fill-{color} gb-stroke-paper"
    add(mark, "rect", x=low, y=y, width=max(high - low, 1), height=_THICK, css=css, stroke_width=0.8)
    if segment.text and text_width(segment.text, 11) + 6 < high - low:
        place = (low + high) / 2, y + _THICK / 2 + 4
        add_text(mark, *place, segment.text, f"gb-fill-on-{color}", text_anchor="middle", font_size=11)
