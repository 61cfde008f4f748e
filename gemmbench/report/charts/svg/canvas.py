"""Elements with rounded coordinates, and marks with the text of their tooltips."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

Attribute = str | float
Place = tuple[float, float]


def add(parent: Element, tag: str, **attributes: Attribute) -> Element:
    """Add an element; `css` is its class, and `_` in a name is `-` in SVG."""
    names = {_NAMES.get(name, name.replace("_", "-")): _format(value) for name, value in attributes.items()}
    return SubElement(parent, tag, names)


_NAMES = {"css": "class"}


def _format(value: Attribute) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def add_mark(parent: Element, tip: str, **attributes: Attribute) -> Element:
    """A group with a tooltip: a <title> for any viewer, `data-tip` for a page's own."""
    group = add(parent, "g", css="gb-mark", data_tip=tip, **attributes)
    add(group, "title").text = tip
    return group


def add_line(parent: Element, start: Place, end: Place, css: str, **more: Attribute) -> None:
    """A straight line."""
    add(parent, "line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], css=css, **more)


def add_text(parent: Element, x: float, y: float, text: str, css: str = "gb-fill-ink", **more: Attribute) -> None:
    """A line of text; (x, y) is the left end of its baseline, or what `text_anchor` says."""
    if text:
        add(parent, "text", x=x, y=y, css=css, **{"font_size": 12, **more}).text = text
