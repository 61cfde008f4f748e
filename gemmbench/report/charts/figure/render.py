"""The frame of a figure: title, subtitle and notes around the plot, written as PNG or PDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gemmbench.errors import StoreError, UsageError
from gemmbench.report.charts.figure.bars import bars_height, draw_bars
from gemmbench.report.charts.figure.cells import cells_height, draw_cells
from gemmbench.report.charts.figure.lines import draw_lines, lines_height
from gemmbench.report.charts.figure.page import INCH, page_size, write_line
from gemmbench.report.charts.layout import MARGIN, chart_width, wrap_text
from gemmbench.report.charts.model import BarPlot, Chart, LinePlot
from gemmbench.report.charts.palette import LIGHT
from gemmbench.report.escaping import escape_controls

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DOTS = 200  # of a PNG in an inch
_TITLE, _LINE, _NOTE = 20, 16, 15  # heights of lines in pixels


def render_matplotlib(chart: Chart, path: Path) -> None:
    """Write the chart in the format that the suffix of `path` names.

    Raises UsageError without matplotlib, and StoreError if the file cannot be written.
    """
    width = chart_width(chart)
    title, subtitle, notes = _wrap_texts(chart, width - 2 * MARGIN)
    around = 2 * MARGIN + _TITLE * len(title) + _LINE * len(subtitle) + _NOTE * len(notes)
    size = width / INCH, (around + _plot_height(chart)) / INCH
    figure = _import_figure()(figsize=size, facecolor=LIGHT["paper"])
    _write_heading(figure, title, subtitle)
    _draw_plot(figure, chart, MARGIN + _NOTE * len(notes))
    for index, line in enumerate(reversed(notes)):
        write_line(figure, MARGIN, MARGIN / 2 + _NOTE * index, line, 8)
    _show_texts_as_written(figure)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=_DOTS, metadata={"Title": chart.title})
    except OSError as fault:
        raise StoreError(f"cannot write {path}: {fault.strerror}; choose another -o") from None


def _show_texts_as_written(figure: Figure) -> None:
    """A `$` in a name begins no formula, and a control character is seen."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_parse_math(False)
        text.set_text(escape_controls(text.get_text()))


def _import_figure() -> type[Figure]:
    try:
        from matplotlib.figure import Figure  # optional, and slow to import
    except ImportError:
        raise UsageError("png and pdf need matplotlib: pip install 'gemmbench[plot]'; svg does not") from None
    return Figure


def _wrap_texts(chart: Chart, width: float) -> tuple[list[str], list[str], list[str]]:
    """The lines of title, subtitle and notes."""
    notes = [line for note in chart.notes for line in wrap_text(note, width, 11)]
    return wrap_text(chart.title, width, 19), wrap_text(chart.subtitle, width, 12.5), notes


def _plot_height(chart: Chart) -> float:
    """The height of the plot with its axes, in pixels."""
    if isinstance(chart.plot, LinePlot):
        return lines_height(chart.plot)
    return bars_height(chart.plot) if isinstance(chart.plot, BarPlot) else cells_height(chart.plot)


def _draw_plot(figure: Figure, chart: Chart, bottom: float) -> None:
    """Draw above `bottom`, in pixels."""
    if isinstance(chart.plot, LinePlot):
        draw_lines(figure, chart.plot, bottom)
    elif isinstance(chart.plot, BarPlot):
        draw_bars(figure, chart.plot, bottom)
    else:
        draw_cells(figure, chart.plot, bottom)


def _write_heading(figure: Figure, title: list[str], subtitle: list[str]) -> None:
    y = page_size(figure)[1] - MARGIN + 4
    for line in title:
        y -= _TITLE
        write_line(figure, MARGIN, y, line, 12.5, bold=True)
    y -= 2
    for line in subtitle:
        y -= _LINE
        write_line(figure, MARGIN, y, line)
