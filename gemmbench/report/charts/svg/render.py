"""The frame of a chart: title, subtitle, notes, description, and the plot within."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from gemmbench.planning.files import escape_controls
from gemmbench.report.charts.layout import MARGIN, chart_width, wrap_text
from gemmbench.report.charts.model import BarPlot, Chart, LinePlot
from gemmbench.report.charts.svg.bars import draw_bars
from gemmbench.report.charts.svg.canvas import add, add_text
from gemmbench.report.charts.svg.cells import draw_cells
from gemmbench.report.charts.svg.lines import draw_lines
from gemmbench.report.charts.svg.theme import style_sheet


def render_svg(chart: Chart) -> str:
    """The chart as a self-contained <svg> element, which is a file as well as a part of a page."""
    inside = Element("g", {"transform": f"translate({MARGIN},{MARGIN})"})
    width = chart_width(chart) - 2 * MARGIN
    bottom = _draw_plot(inside, chart, width, _draw_heading(inside, chart, width))
    height = round(_draw_notes(inside, chart, width, bottom) + 2 * MARGIN)
    root = Element("svg", _root_attributes(chart, height))
    add(root, "title").text = chart.title
    add(root, "desc").text = chart.description
    add(root, "style").text = style_sheet()
    add(root, "rect", width=chart_width(chart), height=height, css="gb-fill-paper")
    root.append(inside)
    _escape_texts(root)
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _escape_texts(root: Element) -> None:
    """XML cannot hold the control characters that a name from a file may have."""
    for element in root.iter():
        element.text = escape_controls(element.text) if element.text else None
        element.attrib = {name: escape_controls(value) for name, value in element.attrib.items()}


def _draw_plot(parent: Element, chart: Chart, width: float, top: float) -> float:
    if isinstance(chart.plot, LinePlot):
        return draw_lines(parent, chart.plot, width, top)
    if isinstance(chart.plot, BarPlot):
        return draw_bars(parent, chart.plot, width, top)
    return draw_cells(parent, chart.plot, width, top)


def _root_attributes(chart: Chart, height: int) -> dict[str, str]:
    return {
        "xmlns": "http://www.w3.org/2000/svg",
        "class": "gb-chart",
        "viewBox": f"0 0 {chart_width(chart)} {height}",
        "width": str(chart_width(chart)),
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
