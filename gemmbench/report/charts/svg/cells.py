"""Heat maps: a grid of cells with their values, and a scale of colors."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element

from gemmbench.report.charts.layout import text_width, widest
from gemmbench.report.charts.model import Cell, HeatMap
from gemmbench.report.charts.palette import contrasting, heat_color
from gemmbench.report.charts.svg.canvas import add, add_mark, add_text

_WIDEST, _HIGHEST = 130, 52  # of a cell
_SCALE, _STEPS = 14, 40  # width of the scale, and its number of colors
_SIZES = (12, 10)  # of the text in a cell
_RIGHT = 120  # for the scale and its numbers


@dataclass(frozen=True)
class _Frame:
    """Where the grid is, and the size of a cell, in pixels."""

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


def draw_cells(parent: Element, heat_map: HeatMap, width: float, top: float) -> float:
    """Draw below `top`; returns the bottom."""
    left = 14 + widest([*heat_map.rows, heat_map.y_label])
    frame = _Frame(heat_map, left, top + 26, min(_WIDEST, (width - left - _RIGHT) / len(heat_map.columns)))
    _draw_names(parent, frame)
    for cell in sorted(heat_map.cells, key=lambda cell: cell.best):
        _draw_cell(parent, frame, cell)
    _draw_scale(parent, frame)
    return frame.bottom + 46


def _draw_names(parent: Element, frame: _Frame) -> None:
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


def _draw_cell(parent: Element, frame: _Frame, cell: Cell) -> None:
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


def _draw_scale(parent: Element, frame: _Frame) -> None:
    x, (low, high) = frame.right + 24, frame.heat_map.range_texts
    height = (frame.bottom - frame.top) / _STEPS
    for step in range(_STEPS):
        y, color = frame.bottom - (step + 1) * height, heat_color((step + 0.5) / _STEPS)
        add(parent, "rect", x=x, y=y, width=_SCALE, height=height + 0.5, fill=color)
    for y, text in ((frame.top + 9, high), (frame.bottom, low)):
        add_text(parent, x + _SCALE + 6, y, text, "gb-fill-muted")
    add_text(parent, x, frame.top - 9, frame.heat_map.unit, "gb-fill-muted")
