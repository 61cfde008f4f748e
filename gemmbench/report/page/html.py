"""HTML as text: elements whose text and attributes are escaped unless they are HTML already."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from gemmbench.planning.files import escape_controls

_VOID = {"br", "col", "input", "meta"}


class Html(str):
    """Text that is HTML; any other string is escaped before it becomes part of a page."""

    __slots__ = ()


Content = str | Iterable["Content"] | None
Attribute = str | int | float | bool | None


def join(*content: Content) -> Html:
    """Content one after the other. A string is escaped; None is left out."""
    return Html("".join(_to_html(each) for each in content))


def _to_html(content: Content) -> str:
    if content is None or isinstance(content, Html):
        return content or ""
    if isinstance(content, str):
        return escape(escape_controls(content), quote=False)
    return "".join(_to_html(each) for each in content)


def tag(element: str, *content: Content, **attributes: Attribute) -> Html:
    """One element. `class_` is the attribute class, `data_key` is data-key; None and False are left out."""
    head = "".join([element, *(_format_attribute(name, value) for name, value in attributes.items())])
    return Html(f"<{head}>") if element in _VOID else Html(f"<{head}>{join(*content)}</{element}>")


def _format_attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(escape_controls(str(value)))}"'
