"""A figure in the pixels of the SVG, a hundredth of an inch each, and texts on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gemmbench.report.charts.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INCH = 100
SIZE = 9
"""Of text, in points: as large as 12 pixels."""


def page_size(figure: Figure) -> tuple[float, float]:
    """Width and height in pixels."""
    width, height = figure.get_size_inches()
    return INCH * float(width), INCH * float(height)


def add_axes(figure: Figure, corner: tuple[float, float], size: tuple[float, float]) -> Axes:
    """Axes with this lower left corner, width and height in pixels."""
    (x, y), (width, height), (across, up) = corner, size, page_size(figure)
    return figure.add_axes((x / across, y / up, width / across, height / up))


def style_axes(axes: Axes) -> None:
    """A quiet grid below the marks, and only a line at the bottom."""
    axes.set_axisbelow(True)
    axes.grid(color=LIGHT["grid"], linewidth=0.8)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(LIGHT["axis"])
    axes.tick_params(length=0, labelsize=SIZE, labelcolor=LIGHT["muted"])


def write_line(figure: Figure, x: float, y: float, text: str, size: float = SIZE, bold: bool = False) -> None:
    """A line of text on the page; (x, y) in pixels from the lower left is the left end of its baseline."""
    across, up = page_size(figure)
    color, weight = LIGHT["ink" if bold else "muted"], "bold" if bold else "normal"
    figure.text(x / across, y / up, text, fontsize=size, fontweight=weight, color=color, parse_math=False)
