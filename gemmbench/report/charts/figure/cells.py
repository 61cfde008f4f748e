"""Heat maps through matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gemmbench.report.charts.figure.page import SIZE, add_axes, page_size
from gemmbench.report.charts.layout import MARGIN, text_width, widest
from gemmbench.report.charts.model import HeatMap
from gemmbench.report.charts.palette import LIGHT, contrasting, heat_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDEST, _HIGH = 130, 52  # pixels of a cell
_BELOW, _ABOVE, _RIGHT = 46, 32, 110
_STEPS = 64


def cells_height(heat_map: HeatMap) -> float:
    """In pixels."""
    return _HIGH * len(heat_map.rows) + _BELOW + _ABOVE


def draw_cells(figure: Figure, heat_map: HeatMap, bottom: float) -> None:
    """Draw above `bottom`, in pixels."""
    left = MARGIN + 10 + widest([heat_map.y_label, *heat_map.rows])
    across = min(_WIDEST, (page_size(figure)[0] - left - _RIGHT) / len(heat_map.columns))
    width, height = across * len(heat_map.columns), _HIGH * len(heat_map.rows)
    axes = add_axes(figure, (left, bottom + _BELOW), (width, height))
    _style(axes)
    axes.set_xlim(-0.5, len(heat_map.columns) - 0.5)
    axes.set_ylim(len(heat_map.rows) - 0.5, -0.5)
    axes.set_xticks(range(len(heat_map.columns)), heat_map.columns)
    axes.set_yticks(range(len(heat_map.rows)), heat_map.rows)
    axes.set_xlabel(heat_map.x_label, fontsize=SIZE, fontweight="bold", color=LIGHT["ink"])
    style: dict[str, Any] = {"fontsize": SIZE, "fontweight": "bold", "color": LIGHT["ink"], "ha": "right"}
    axes.text(-8 / width, 1 + 9 / height, heat_map.y_label, transform=axes.transAxes, **style)
    _fill_cells(axes, heat_map, across)
    _draw_scale(add_axes(figure, (left + width + 24, bottom + _BELOW), (14, height)), heat_map)


def _style(axes: Axes) -> None:
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, labelsize=SIZE, labelcolor=LIGHT["muted"])


def _fill_cells(axes: Axes, heat_map: HeatMap, across: float) -> None:
    for cell in sorted(heat_map.cells, key=lambda cell: cell.best):
        color = heat_color(heat_map.share(cell.value))
        edge, thick, size = (LIGHT["ink"], 2.2, 0.97) if cell.best else (LIGHT["paper"], 1.0, 1.0)
        border: dict[str, Any] = {"color": color, "edgecolor": edge, "linewidth": thick}
        axes.bar(cell.column, size, width=size, bottom=cell.row - size / 2, **border)
        ink, weight = contrasting(color), "bold" if cell.best else "normal"
        place: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SIZE}
        if text_width(cell.text) < across:
            axes.text(cell.column, cell.row, cell.text, color=ink, fontweight=weight, **place)


def _draw_scale(axes: Axes, heat_map: HeatMap) -> None:
    _style(axes)
    for step in range(_STEPS):
        axes.bar(0, 1.05, width=1, bottom=step, color=heat_color((step + 0.5) / _STEPS))
    axes.set_xlim(-0.5, 0.5)
    axes.set_ylim(0, _STEPS)
    axes.set_xticks([])
    axes.set_yticks([0, _STEPS], heat_map.range_texts)
    axes.yaxis.tick_right()
    axes.set_title(heat_map.unit, fontsize=SIZE, color=LIGHT["muted"], loc="left")
