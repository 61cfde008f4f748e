"""HTML as text, escaped unless it is already HTML, and the frame of every page: one file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from gemmbench.planning.files import escape_controls

_VOID = {"br", "col", "input", "meta"}


class Html(str):
    """Text that is HTML. Any other string is escaped before it becomes part of a page."""

    __slots__ = ()


Content = str | Iterable["Content"] | None
Attribute = str | int | float | bool | None


def join(*content: Content) -> Html:
    """Join a sequence of contents. Strings are escaped, and None is left out."""
    return Html("".join(_to_html(each) for each in content))


def _to_html(content: Content) -> str:
    if content is None or isinstance(content, Html):
        return content or ""
    if isinstance(content, str):
        return escape(escape_controls(content), quote=False)
    return "".join(_to_html(each) for each in content)


def tag(element: str, *content: Content, **attributes: Attribute) -> Html:
    """Make an element. `class_` is the attribute class, and `data_key` is data-key. None and False are left out."""
    head = "".join([element, *(_format_attribute(name, value) for name, value in attributes.items())])
    return Html(f"<{head}>") if element in _VOID else Html(f"<{head}>{join(*content)}</{element}>")


def _format_attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(escape_controls(str(value)))}"'


_FOLDER = Path(__file__).parent


def render_document(
    title: str, body: Content, files: Sequence[Path] = (), connect: bool = False, data: Content = None
) -> str:
    """Render a complete HTML document.

    `files` are style sheets and scripts to include besides those of the theme. The policy of the page forbids
    everything that is not in the page. With `connect`, it may talk to the server that it came from. `data` is inserted
    before the scripts.
    """
    files = [_FOLDER / "theme.css", _FOLDER / "theme.js", *files]
    styles = [Html(file.read_text(encoding="utf-8")) for file in files if file.suffix == ".css"]
    script = Html("".join(file.read_text(encoding="utf-8") for file in files if file.suffix == ".js"))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=make_policy(script, connect)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", styles),
    )
    page = tag("html", head, tag("body", body, data, tag("script", script)), lang="en")
    return f"<!doctype html>\n{page}\n"


def make_policy(script: str, connect: bool) -> str:
    """Return the content security policy of a page with one script. Charts have their own style sheets."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rules = ["default-src 'none'", "style-src 'unsafe-inline'", f"script-src 'sha256-{digest}'", "img-src data:"]
    return "; ".join([*rules, "base-uri 'none'", "form-action 'none'", *(["connect-src 'self'"] if connect else [])])


def render_theme_button() -> Html:
    """Render the button that switches between the light and the dark theme. It works only if a script runs."""
    return tag("button", "Theme", type="button", id="theme", hidden=True, title="Light, dark, or the system's setting")


def render_card(heading: str, *content: Content, **attributes: str) -> Html:
    """Render a boxed section with a heading."""
    return tag("section", tag("h3", heading), join(*content), class_="card", **attributes)
