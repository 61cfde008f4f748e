"""Line plots: axes, limits, series with their intervals, and labels at the ends of lines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from gemmbench.report.charts.layout import spread, text_width, widest
from gemmbench.report.charts.model import LinePlot, Point, Series
from gemmbench.report.charts.palette import series_color
from gemmbench.report.charts.styles import dash_of, marker_of
from gemmbench.report.charts.svg.canvas import add, add_line, add_mark, add_text
from gemmbench.report.charts.svg.markers import marker_path

_HEIGHT, _GAP = 320, 16
_TOP, _BOTTOM = 26, 44  # for the labels of the axes
_AWAY = 14  # from the plot to the labels


@dataclass(frozen=True)
class _Frame:
    """Where the area between the axes is, in pixels."""

    plot: LinePlot
    left: float
    right: float
    top: float
    bottom: float

    def place(self, x: float, y: float) -> tuple[float, float]:
        """The pixel of a value."""
        across, up = self.plot.x.position(x), self.plot.y.position(y)
        return self.left + across * (self.right - self.left), self.bottom - up * (self.bottom - self.top)


def draw_lines(parent: Element, plot: LinePlot, width: float, top: float) -> float:
    """Draw below `top`; returns the bottom."""
    labels = [each.label for each in plot.series]
    height = max(_HEIGHT, _GAP * (len(labels) + 1))
    left = 10 + widest([tick.text for tick in plot.y.ticks])
    right = width - _AWAY - 16 - widest(labels)
    frame = _Frame(plot, left, right, top + _TOP, top + _TOP + height)
    _draw_axes(parent, frame)
    _draw_limits(parent, frame)
    for series in sorted(plot.series, key=lambda series: (not series.muted, series.emphasized)):
        _draw_series(parent, frame, series)
    _label_ends(parent, frame)
    return frame.bottom + _BOTTOM


def _draw_axes(parent: Element, frame: _Frame) -> None:
    plot = frame.plot
    for tick in plot.y.ticks:
        y = frame.place(plot.x.low, tick.value)[1]
        add_line(parent, (frame.left, y), (frame.right, y), "gb-stroke-grid")
        add_text(parent, frame.left - 8, y + 4, tick.text, "gb-fill-muted", text_anchor="end")
    free = frame.left - _AWAY  # where the next label may begin
    for tick in plot.x.ticks:
        x, half = frame.place(tick.value, plot.y.ticks[0].value)[0], text_width(tick.text) / 2
        add_line(parent, (x, frame.top), (x, frame.bottom), "gb-stroke-grid")
        add_line(parent, (x, frame.bottom), (x, frame.bottom + 5), "gb-stroke-axis")
        if x - half >= free:
            add_text(parent, x, frame.bottom + 19, tick.text, "gb-fill-muted", text_anchor="middle")
            free = x + half + 4
    add_line(parent, (frame.left, frame.bottom), (frame.right, frame.bottom), "gb-stroke-axis")
    add_text(parent, 0, frame.top - 12, plot.y.label)
    add_text(parent, (frame.left + frame.right) / 2, frame.bottom + 38, plot.x.label, text_anchor="middle")


def _draw_limits(parent: Element, frame: _Frame) -> None:
    for limit in frame.plot.limits:
        mark = add_mark(parent, limit.tip)
        start, end = frame.place(*limit.start), frame.place(*limit.end)
        add_line(mark, start, end, "gb-stroke-limit", stroke_width=1.5, stroke_dasharray="7 4")
        turn = math.degrees(math.atan2(end[1] - start[1], end[0] - start[0]))
        middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        (x, y), anchor = (middle, "middle") if turn else (end, "end")
        place = f"translate({x:.2f},{y:.2f}) rotate({turn:.2f})"
        style = {"text_anchor": anchor, "font_style": "italic", "transform": place}
        add_text(mark, 0, -6, limit.label, "gb-fill-muted", **style)


def _fade(series: Series, opacity: float) -> dict[str, float]:
    return {"opacity": opacity} if series.muted else {}


def _draw_series(parent: Element, frame: _Frame, series: Series) -> None:
    color = series_color(series.style)
    group = add(parent, "g", **_fade(series, 0.3))
    places = [frame.place(point.x, point.y) for point in series.points]
    if series.joined and len(places) > 1:
        add(
            group,
            "polyline",
            points=" ".join(f"{x:.2f},{y:.2f}" for x, y in places),
            css=f"gb-stroke-{color}",
            fill="none",
            stroke_width=2.6 if series.emphasized else 1.8,
            stroke_linejoin="round",
            stroke_dasharray=dash_of(series.style),
        )
    for point in series.points:
        _draw_point(add_mark(group, point.tip), frame, point, series.style)


def _draw_point(mark: Element, frame: _Frame, point: Point, style: int) -> None:
    color = series_color(style)
    x, y = frame.place(point.x, point.y)
    if not math.isnan(point.low):
        low, high = frame.place(point.x, point.low)[1], frame.place(point.x, point.high)[1]
        path = f"M{x - 3:.2f},{low:.2f} h6 M{x - 3:.2f},{high:.2f} h6 M{x:.2f},{low:.2f} V{high:.2f}"
        add(mark, "path", d=path, css=f"gb-stroke-{color}", stroke_width=1.3, fill="none")
    _add_marker(mark, style, x, y)


def _add_marker(parent: Element, style: int, x: float, y: float) -> None:
    color = series_color(style)
    path = marker_path(marker_of(style), x, y)
    add(parent, "path", d=path, css=f"gb-fill-{color} gb-stroke-paper", stroke_width=1)


def _label_ends(parent: Element, frame: _Frame) -> None:
    """Each series is named where it ends; labels that would overlap move apart."""
    ends = [frame.place(each.points[-1].x, each.points[-1].y) for each in frame.plot.series]
    heights = spread([y for _, y in ends], _GAP, frame.top, frame.bottom)
    x = frame.right + _AWAY
    for series, (end_x, end_y), y in zip(frame.plot.series, ends, heights, strict=True):
        group = add(parent, "g", **_fade(series, 0.45))
        if abs(end_y - y) > 2 or frame.right - end_x > 2 * _AWAY:
            path = f"M{end_x + 7:.2f},{end_y:.2f} H{frame.right - 2:.2f} L{x - 3:.2f},{y:.2f}"
            add(group, "path", d=path, css="gb-stroke-axis", fill="none", stroke_width=0.8)
        _add_marker(group, series.style, x + 4, y)
        add_text(group, x + 14, y + 4, series.label, font_weight="bold" if series.emphasized else "normal")
