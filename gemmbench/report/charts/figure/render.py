"""The frame of a figure: title, subtitle and notes around the plot, written as PNG or PDF."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gemmbench.errors import StoreError, UsageError
from gemmbench.report.charts.figure.bars import bars_height, draw_bars
from gemmbench.report.charts.figure.cells import cells_height, draw_cells
from gemmbench.report.charts.figure.lines import draw_lines, lines_height
from gemmbench.report.charts.model import BarPlot, Chart, LinePlot
from gemmbench.report.charts.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 8.0
_INCH = 100  # pixels of the SVG in an inch
_DOTS = 200  # of a PNG in an inch
_LEFT, _TOP, _LINE = 0.16, 0.68, 0.17  # inches


def render_matplotlib(chart: Chart, path: Path) -> None:
    """Write the chart in the format that the suffix of `path` names.

    Raises UsageError without matplotlib, and StoreError if the file cannot be written.
    """
    notes = [line for note in chart.notes for line in textwrap.wrap(note, 110)]
    body = _plot_height(chart) / _INCH
    height = _TOP + body + _LINE * len(notes) + 0.12
    figure = _import_figure()(figsize=(WIDTH, height), facecolor=LIGHT["paper"])
    _write_texts(figure, chart, notes, height)
    _draw_plot(figure, chart, ((height - _TOP - body) / height, body / height))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=_DOTS, metadata={"Title": chart.title})
    except OSError as fault:
        raise StoreError(f"cannot write {path}: {fault.strerror}; choose another -o") from None


def _import_figure() -> type[Figure]:
    try:
        from matplotlib.figure import Figure  # optional, and slow to import
    except ImportError:
        raise UsageError("png and pdf need matplotlib: pip install 'gemmbench[plot]'; svg does not") from None
    return Figure


def _plot_height(chart: Chart) -> float:
    """The height of the plot with its axes, in hundredths of an inch."""
    if isinstance(chart.plot, LinePlot):
        return lines_height(chart.plot)
    return bars_height(chart.plot) if isinstance(chart.plot, BarPlot) else cells_height(chart.plot)


def _draw_plot(figure: Figure, chart: Chart, place: tuple[float, float]) -> None:
    """Draw in a part of the figure; `place` is its bottom and height, as shares of the figure."""
    if isinstance(chart.plot, LinePlot):
        draw_lines(figure, chart.plot, place)
    elif isinstance(chart.plot, BarPlot):
        draw_bars(figure, chart.plot, place)
    else:
        draw_cells(figure, chart.plot, place)


def _write_texts(figure: Figure, chart: Chart, notes: list[str], height: float) -> None:
    x = _LEFT / WIDTH
    _text(figure, x, 1 - 0.3 / height, chart.title, fontsize=12.5, fontweight="bold", color=LIGHT["ink"])
    _text(figure, x, 1 - 0.52 / height, chart.subtitle, fontsize=9, color=LIGHT["muted"])
    for index, line in enumerate(reversed(notes)):
        _text(figure, x, (0.12 + _LINE * index) / height, line, fontsize=8, color=LIGHT["muted"])


def _text(figure: Figure, x: float, y: float, text: str, **style: Any) -> None:
    figure.text(x, y, text, parse_math=False, **style)
