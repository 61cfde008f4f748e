"""The elements of an SVG: rounded coordinates, marks with tooltips, shapes of points, and the style sheet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from xml.etree.ElementTree import Element, SubElement

from gemmbench.report.charts.chart_style import DARK, LIGHT

Attribute = str | float
Place = tuple[float, float]


def add(parent: Element, tag: str, **attributes: Attribute) -> Element:
    """Add an element. `css` is its class, and `_` in an attribute's name becomes `-`."""
    names = {_NAMES.get(name, name.replace("_", "-")): _format(value) for name, value in attributes.items()}
    return SubElement(parent, tag, names)


_NAMES = {"css": "class"}


def _format(value: Attribute) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def add_mark(parent: Element, tip: str, **attributes: Attribute) -> Element:
    """Add a group with a tooltip: a <title> for any viewer, and `data-tip` for the tooltips of a page."""
    group = add(parent, "g", css="gb-mark", data_tip=tip, **attributes)
    add(group, "title").text = tip
    return group


def add_line(parent: Element, start: Place, end: Place, css: str, **more: Attribute) -> None:
    """A straight line."""
    add(parent, "line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], css=css, **more)


def add_text(parent: Element, x: float, y: float, text: str, css: str = "gb-fill-ink", **more: Attribute) -> None:
    """Add a line of text. (x, y) is the left end of its baseline, or as `text_anchor` says."""
    if text:
        add(parent, "text", x=x, y=y, css=css, **{"font_size": 12, **more}).text = text


_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


def style_sheet() -> str:
    """Return the style sheet. It is the same for every chart, so that one page can hold several."""
    rules = [
        _declare_variables(LIGHT),
        f"@media screen and (prefers-color-scheme: dark) {{ {_declare_variables(DARK)} }}",
        f".gb-chart text {{ font-family: {_FONT}; }}",
        ".gb-chart .gb-halo { paint-order: stroke; stroke-width: 4px; stroke-linejoin: round; }",
    ]
    for name, color in LIGHT.items():
        for role in ("fill", "stroke"):
            rules.append(f".gb-chart .gb-{role}-{name} {{ {role}: {color}; {role}: var(--gb-own-{name}); }}")
    return "\n".join(["", *rules, ""])


def _declare_variables(colors: Mapping[str, str]) -> str:
    variables = " ".join(f"--gb-own-{name}: var(--gb-{name}, {color});" for name, color in colors.items())
    return f".gb-chart {{ {variables} }}"


def marker_path(name: str, x: float, y: float, radius: float = 4.2) -> str:
    """Return a closed path around (x, y). All shapes have about the same area."""
    if name == "circle":
        arc = f"a{radius:g},{radius:g} 0 1 0"
        return f"M{x - radius:.2f},{y:.2f} {arc} {2 * radius:g},0 {arc} {-2 * radius:g},0 Z"
    points = [_corner(x, y, radius * reach, turn) for turn, reach in _CORNERS[name]]
    return f"M{' L'.join(points)} Z"


def _corner(x: float, y: float, reach: float, turn: float) -> str:
    """Return the corner at a share of a turn, clockwise from the top."""
    angle = 2 * math.pi * turn
    return f"{x + reach * math.sin(angle):.2f},{y - reach * math.cos(angle):.2f}"


def _polygon(count: int, reach: float, turn: float = 0.0) -> list[tuple[float, float]]:
    return [(turn + index / count, reach) for index in range(count)]


_CORNERS = {
    "square": _polygon(4, 1.25, 0.125),
    "triangle": _polygon(3, 1.45),
    "diamond": _polygon(4, 1.35),
    "wedge": _polygon(3, 1.45, 0.5),
    "pentagon": _polygon(5, 1.2),
    "star": [(index / 10, 1.6 if index % 2 == 0 else 0.7) for index in range(10)],
}
