"""Renders a Chart as SVG: its frame, and line plots, bars and heat maps inside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from gemmbench.planning.files import escape_controls
from gemmbench.report.charts.chart_model import Bar, BarPlot, Cell, Chart, HeatMap, LinePlot, Point, Segment, Series
from gemmbench.report.charts.chart_style import (
    MARGIN,
    WIDTH,
    chart_width,
    contrasting,
    dash_of,
    heat_color,
    marker_of,
    series_color,
    spread,
    text_width,
    widest,
    wrap_text,
)
from gemmbench.report.charts.svg_elements import add, add_line, add_mark, add_text, marker_path, style_sheet

_HEIGHT, _GAP = 320, 16
_TOP, _BOTTOM = 26, 44  # for the labels of the axes
_AWAY = 14  # from the plot to the labels


@dataclass(frozen=True)
class _LineFrame:
    """The area between the axes, in pixels."""

    plot: LinePlot
    left: float
    right: float
    top: float
    bottom: float

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixel of a value."""
        across, up = self.plot.x.position(x), self.plot.y.position(y)
        return self.left + across * (self.right - self.left), self.bottom - up * (self.bottom - self.top)


def _draw_lines(parent: Element, plot: LinePlot, width: float, top: float) -> float:
    """Draw the plot below `top`, and return its bottom."""
    labels = [each.label for each in plot.series]
    height = max(_HEIGHT, _GAP * (len(labels) + 1))
    left = 10 + widest([tick.text for tick in plot.y.ticks])
    right = width - _AWAY - 16 - widest(labels)
    frame = _LineFrame(plot, left, right, top + _TOP, top + _TOP + height)
    _draw_axes(parent, frame, width)
    _draw_limits(parent, frame)
    for series in sorted(plot.series, key=lambda series: (not series.muted, series.emphasized)):
        _draw_series(parent, frame, series)
    _label_ends(parent, frame)
    return frame.bottom + _BOTTOM


def _draw_axes(parent: Element, frame: _LineFrame, width: float) -> None:
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
    half = text_width(plot.x.label) / 2  # a long label may begin left of the plot
    middle = max(half, min((frame.left + frame.right) / 2, width - half))
    add_text(parent, middle, frame.bottom + 38, plot.x.label, text_anchor="middle")


def _draw_limits(parent: Element, frame: _LineFrame) -> None:
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


def _draw_series(parent: Element, frame: _LineFrame, series: Series) -> None:
    color = series_color(series.style)
    group = add(parent, "g", data_series=series.label, **_fade(series, 0.3))
    places = [frame.place(point.x, point.y) for point in series.line or series.points]
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


def _draw_point(mark: Element, frame: _LineFrame, point: Point, style: int) -> None:
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


def _label_ends(parent: Element, frame: _LineFrame) -> None:
    """Write the name of each series where it ends. Labels that would overlap are moved apart."""
    ends = [frame.place(each.points[-1].x, each.points[-1].y) for each in frame.plot.series]
    heights = spread([y for _, y in ends], _GAP, frame.top, frame.bottom)
    x = frame.right + _AWAY
    for series, (end_x, end_y), y in zip(frame.plot.series, ends, heights, strict=True):
        group = add(parent, "g", data_series=series.label, data_legend="", **_fade(series, 0.45))
        if abs(end_y - y) > 2 or frame.right - end_x > 2 * _AWAY:
            path = f"M{end_x + 7:.2f},{end_y:.2f} H{frame.right - 2:.2f} L{x - 3:.2f},{y:.2f}"
            add(group, "path", d=path, css="gb-stroke-axis", fill="none", stroke_width=0.8)
        _add_marker(group, series.style, x + 4, y)
        add_text(group, x + 14, y + 4, series.label, font_weight="bold" if series.emphasized else "normal")


_THICK, _PITCH = 18, 26
_GROUP = 26  # height of the heading of a group


@dataclass(frozen=True)
class _BarFrame:
    """The area of the bars, in pixels. `heights` are the tops of the bars."""

    plot: BarPlot
    left: float
    right: float
    top: float
    bottom: float
    heights: tuple[float, ...]

    def place(self, value: float) -> float:
        """Return the pixel of a value."""
        return self.left + self.plot.axis.position(value) * (self.right - self.left)


def draw_bars(parent: Element, plot: BarPlot, width: float, top: float) -> float:
    """Draw the bars below `top`, and return their bottom."""
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


def _make_frame(plot: BarPlot, width: float, top: float) -> _BarFrame:
    left = 12 + widest([bar.label for bar in plot.bars])
    beyond = 14 + max(text_width(bar.text) - _room_after(plot, bar) * (width - left) for bar in plot.bars)
    notes = [plot.note_label, *(bar.note for bar in plot.bars)] if plot.note_label else []
    beyond = max(beyond, 8) + max((text_width(note) + 16 for note in notes), default=0)
    heights, y = [], top + 4
    for index, bar in enumerate(plot.bars):
        y += _GROUP if bar.group and (index == 0 or plot.bars[index - 1].group != bar.group) else 0
        heights.append(y)
        y += _PITCH
    return _BarFrame(plot, left, width - beyond, top, y, tuple(heights))


def _room_after(plot: BarPlot, bar: Bar) -> float:
    """Return the share of the axis to the right of a bar, minus a reserve, because the axis will be narrower."""
    return 0.6 * (1 - plot.axis.position(_bar_end(bar)))


def _bar_end(bar: Bar) -> float:
    return max(bar.segments[-1].high, bar.high if not math.isnan(bar.high) else 0)


def _draw_key(parent: Element, plot: BarPlot, top: float) -> float:
    x = 0.0
    for style, label in plot.key:
        group = add(parent, "g", data_series=label, data_legend="")
        add(group, "rect", x=x, y=top - 2, width=13, height=13, rx=2, css=f"gb-fill-{series_color(style)}")
        add_text(group, x + 19, top + 9, label)
        x += 19 + text_width(label) + 16
    return top + 16


def _draw_axis(parent: Element, frame: _BarFrame) -> None:
    free = 0.0  # where the next label may begin
    for tick in frame.plot.axis.ticks:
        x, half = frame.place(tick.value), text_width(tick.text) / 2
        add_line(parent, (x, frame.top), (x, frame.bottom), "gb-stroke-grid")
        if x - half >= free:
            add_text(parent, x, frame.bottom + 17, tick.text, "gb-fill-muted", text_anchor="middle")
            free = x + half + 2
    start = frame.place(max(0, frame.plot.axis.low))
    add_line(parent, (start, frame.top), (start, frame.bottom), "gb-stroke-axis")
    middle = (frame.left + frame.right) / 2
    add_text(parent, middle, frame.bottom + 37, frame.plot.axis.label, text_anchor="middle")


def _draw_guides(parent: Element, frame: _BarFrame) -> None:
    for guide in frame.plot.guides:
        mark, x = add_mark(parent, guide.tip), frame.place(guide.value)
        ends = (x, frame.top), (x, frame.bottom)
        add_line(mark, *ends, "gb-stroke-limit", stroke_width=1.5, stroke_dasharray="7 4")
        add_text(mark, x + 4, frame.top - 7, guide.label, "gb-fill-muted", text_anchor="end", font_style="italic")


def _draw_groups(parent: Element, frame: _BarFrame) -> None:
    names = ["", *(bar.group for bar in frame.plot.bars)]
    for (before, name), y in zip(pairwise(names), frame.heights, strict=True):
        if name != before:
            add_text(parent, 0, y - 8, name, font_weight="bold")


def _draw_bar(parent: Element, frame: _BarFrame, bar: Bar, y: float) -> None:
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


def _write_notes(parent: Element, frame: _BarFrame, x: float) -> None:
    add_text(parent, x, frame.top - 7, frame.plot.note_label, "gb-fill-muted", text_anchor="end")
    for bar, y in zip(frame.plot.bars, frame.heights, strict=True):
        weight = "bold" if bar.emphasized else "normal"
        add_text(parent, x, y + _THICK / 2 + 4, bar.note, "gb-fill-muted", text_anchor="end", font_weight=weight)


def _draw_segment(parent: Element, frame: _BarFrame, segment: Segment, y: float) -> None:
    color = series_color(segment.style)
    low, high = frame.place(segment.low), frame.place(segment.high)
    named = dict(frame.plot.key)
    mark = add_mark(parent, segment.tip, **({"data_series": named[segment.style]} if segment.style in named else {}))
    css = f"gb-fill-{color} gb-stroke-paper"
    add(mark, "rect", x=low, y=y, width=max(high - low, 1), height=_THICK, css=css, stroke_width=0.8)
    if segment.text and text_width(segment.text, 11) + 6 < high - low:
        place = (low + high) / 2, y + _THICK / 2 + 4
        add_text(mark, *place, segment.text, f"gb-fill-on-{color}", text_anchor="middle", font_size=11)


_WIDEST, _HIGHEST = 130, 52  # of a cell
_SCALE, _STEPS = 14, 40  # width of the scale, and its number of colors
_SIZES = (12, 10)  # of the text in a cell
_RIGHT = 120  # for the scale and its numbers


@dataclass(frozen=True)
class _CellFrame:
    """The position of the grid and the size of a cell, in pixels."""

    heat_map: HeatMap
    left: float
    top: float
    across: float

    @property
    def right(self) -> float:
        return self.left + self.across * len(self.heat_map.columns)

    @property
    def bottom(self) -> float:
        return self.top + _HIGHEST * len(self.heat_map.rows)


def _draw_cells(parent: Element, heat_map: HeatMap, width: float, top: float) -> float:
    """Draw the cells below `top`, and return their bottom."""
    left = 14 + widest([*heat_map.rows, heat_map.y_label])
    frame = _CellFrame(heat_map, left, top + 26, min(_WIDEST, (width - left - _RIGHT) / len(heat_map.columns)))
    _draw_names(parent, frame)
    for cell in sorted(heat_map.cells, key=lambda cell: cell.best):
        _draw_cell(parent, frame, cell)
    _draw_scale(parent, frame)
    return frame.bottom + 46


def _draw_names(parent: Element, frame: _CellFrame) -> None:
    heat_map = frame.heat_map
    add_text(parent, frame.left - 8, frame.top - 9, heat_map.y_label, text_anchor="end", font_weight="bold")
    for index, name in enumerate(heat_map.rows):
        y = frame.top + (index + 0.5) * _HIGHEST + 4
        add_text(parent, frame.left - 8, y, name, "gb-fill-muted", text_anchor="end")
    for index, name in enumerate(heat_map.columns):
        x = frame.left + (index + 0.5) * frame.across
        add_text(parent, x, frame.bottom + 18, name, "gb-fill-muted", text_anchor="middle")
    middle = (frame.left + frame.right) / 2
    add_text(parent, middle, frame.bottom + 38, heat_map.x_label, text_anchor="middle", font_weight="bold")


def _draw_cell(parent: Element, frame: _CellFrame, cell: Cell) -> None:
    color = heat_color(frame.heat_map.share(cell.value))
    mark = add_mark(parent, cell.tip)
    inset, border = (1.5, 3) if cell.best else (0, 1)
    x, y = frame.left + cell.column * frame.across, frame.top + cell.row * _HIGHEST
    add(
        mark,
        "rect",
        x=x + inset,
        y=y + inset,
        width=frame.across - 2 * inset,
        height=_HIGHEST - 2 * inset,
        fill=color,
        css="gb-stroke-ink" if cell.best else "gb-stroke-paper",
        stroke_width=border,
    )
    size = next((size for size in _SIZES if text_width(cell.text, size) < frame.across), 0)
    if not size:
        return  # the tooltip has the value
    weight = "bold" if cell.best else "normal"
    place = {"x": x + frame.across / 2, "y": y + _HIGHEST / 2 + 4, "font_size": size}
    add(mark, "text", text_anchor="middle", fill=contrasting(color), font_weight=weight, **place).text = cell.text


def _draw_scale(parent: Element, frame: _CellFrame) -> None:
    x, (low, high) = frame.right + 24, frame.heat_map.range_texts
    height = (frame.bottom - frame.top) / _STEPS
    for step in range(_STEPS):
        y, color = frame.bottom - (step + 1) * height, heat_color((step + 0.5) / _STEPS)
        add(parent, "rect", x=x, y=y, width=_SCALE, height=height + 0.5, fill=color)
    for y, text in ((frame.top + 9, high), (frame.bottom, low)):
        add_text(parent, x + _SCALE + 6, y, text, "gb-fill-muted")
    add_text(parent, x, frame.top - 9, frame.heat_map.unit, "gb-fill-muted")


def render_svg(chart: Chart, least: int = WIDTH, styled: bool = True) -> str:
    """Render a chart as an <svg> element of the width WIDTH or SLIM, for a file or for a page.

    Without its own style sheet, the element needs a page that has one.
    """
    inside = Element("g", {"transform": f"translate({MARGIN},{MARGIN})"})
    whole = chart_width(chart, least)
    width = whole - 2 * MARGIN
    bottom = _draw_plot(inside, chart, width, _draw_heading(inside, chart, width))
    height = round(_draw_notes(inside, chart, width, bottom) + 2 * MARGIN)
    root = Element("svg", _root_attributes(chart, whole, height))
    add(root, "title").text = chart.title
    add(root, "desc").text = chart.description
    if styled:
        add(root, "style").text = style_sheet()
    add(root, "rect", width=whole, height=height, css="gb-fill-paper")
    root.append(inside)
    _escape_texts(root)
    if styled:
        ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _escape_texts(root: Element) -> None:
    """Escape the control characters in names from files, which XML cannot contain."""
    for element in root.iter():
        element.text = escape_controls(element.text) if element.text else None
        element.attrib = {name: escape_controls(value) for name, value in element.attrib.items()}


def _draw_plot(parent: Element, chart: Chart, width: float, top: float) -> float:
    if isinstance(chart.plot, LinePlot):
        return _draw_lines(parent, chart.plot, width, top)
    if isinstance(chart.plot, BarPlot):
        return draw_bars(parent, chart.plot, width, top)
    return _draw_cells(parent, chart.plot, width, top)


def _root_attributes(chart: Chart, width: int, height: int) -> dict[str, str]:
    return {
        "xmlns": "http://www.w3.org/2000/svg",
        "class": "gb-chart",
        "viewBox": f"0 0 {width} {height}",
        "width": str(width),
        "height": str(height),
        "style": "max-width: 100%; height: auto",
        "role": "img",
        "aria-label": chart.title,
    }


def _draw_heading(parent: Element, chart: Chart, width: float) -> float:
    y = -5.0
    for line in wrap_text(chart.title, width, 19):  # bold text is wider
        y += 20
        add_text(parent, 0, y, line, font_size=17, font_weight="bold")
    y += 5
    for line in wrap_text(chart.subtitle, width, 12.5):
        y += 16
        add_text(parent, 0, y, line, "gb-fill-muted", font_size=12.5)
    return y + 10


def _draw_notes(parent: Element, chart: Chart, width: float, top: float) -> float:
    lines = [line for note in chart.notes for line in wrap_text(note, width, 11)]
    for index, line in enumerate(lines):
        add_text(parent, 0, top + 12 + 15 * index, line, "gb-fill-muted", font_size=11)
    return top + (15 * len(lines) + 4 if lines else 0)
