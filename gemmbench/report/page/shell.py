"""The frame of every page: one file with its styles and scripts inside, which loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from gemmbench.report.page.html import Content, Html, join, tag

_FOLDER = Path(__file__).parent


def render_document(
    title: str, body: Content, files: Sequence[Path] = (), connect: bool = False, data: Content = None
) -> str:
    """A complete HTML document.

    `files` are style sheets and scripts that it holds besides those of the theme. Its policy
    forbids everything that is not in it; with `connect` it may talk to the server it came from.
    `data` is put before the scripts.
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
    """The content security policy of a page with one script. Charts bring style sheets of their own."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rules = ["default-src 'none'", "style-src 'unsafe-inline'", f"script-src 'sha256-{digest}'", "img-src data:"]
    return "; ".join([*rules, "base-uri 'none'", "form-action 'none'", *(["connect-src 'self'"] if connect else [])])


def render_theme_button() -> Html:
    """The button that switches between the light and the dark theme; a script brings it to life."""
    return tag("button", "Theme", type="button", id="theme", hidden=True, title="Light, dark, or as the system has it")


def render_card(heading: str, *content: Content, **attributes: str) -> Html:
    """A boxed section with a heading."""
    return tag("section", tag("h3", heading), join(*content), class_="card", **attributes)
