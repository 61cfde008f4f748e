"""Heat maps through matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gemmbench.report.charts.model import HeatMap
from gemmbench.report.charts.palette import LIGHT, contrasting, heat_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HIGH, _AROUND, _SIZE = 52, 90, 9
_WIDEST = 0.16  # of the width of the figure
_STEPS = 64


def cells_height(heat_map: HeatMap) -> float:
    """In hundredths of an inch."""
    return _HIGH * len(heat_map.rows) + _AROUND


def draw_cells(figure: Figure, heat_map: HeatMap, place: tuple[float, float]) -> None:
    """Draw in a part of the figure; `place` is its bottom and height, as shares of the figure."""
    bottom, height = place
    unit, left = height / cells_height(heat_map), 0.1
    width = min(0.74, _WIDEST * len(heat_map.columns))
    low, tall = bottom + 52 * unit, height - _AROUND * unit
    axes = figure.add_axes((left, low, width, tall))
    _style(axes)
    axes.set_xlim(-0.5, len(heat_map.columns) - 0.5)
    axes.set_ylim(len(heat_map.rows) - 0.5, -0.5)
    axes.set_xticks(range(len(heat_map.columns)), heat_map.columns)
    axes.set_yticks(range(len(heat_map.rows)), heat_map.rows)
    axes.set_xlabel(heat_map.x_label, fontsize=_SIZE, fontweight="bold", color=LIGHT["ink"])
    axes.set_ylabel(heat_map.y_label, fontsize=_SIZE, fontweight="bold", color=LIGHT["ink"], rotation=0, labelpad=14)
    _fill_cells(axes, heat_map)
    _draw_scale(figure.add_axes((left + width + 0.03, low, 0.018, tall)), heat_map)


def _style(axes: Axes) -> None:
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, labelsize=_SIZE, labelcolor=LIGHT["muted"])


def _fill_cells(axes: Axes, heat_map: HeatMap) -> None:
    for cell in sorted(heat_map.cells, key=lambda cell: cell.best):
        color = heat_color(heat_map.share(cell.value))
        edge, thick, size = (LIGHT["ink"], 2.2, 0.97) if cell.best else (LIGHT["paper"], 1.0, 1.0)
        border: dict[str, Any] = {"color": color, "edgecolor": edge, "linewidth": thick}
        axes.bar(cell.column, size, width=size, bottom=cell.row - size / 2, **border)
        ink, weight = contrasting(color), "bold" if cell.best else "normal"
        place: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": _SIZE}
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
    axes.set_title(heat_map.unit, fontsize=_SIZE, color=LIGHT["muted"], loc="left")
