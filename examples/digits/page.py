"""The page on which a digit is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from gemmbench.backends.devices import Machine
from gemmbench.bench.operands.network_parameters import Digits
from gemmbench.planning.plans.plan import Chain
from gemmbench.report.page.html import Content, Html, render_document, render_theme_button, tag
from gemmbench.report.text import number
from gemmbench.session.network_runs import PlannedNetwork

_FOLDER = Path(__file__).parent
_FILES = (_FOLDER / "digits.css", _FOLDER / "digits.js")
_MOST_IMAGES = 12
"""The number of stored test images of each digit that the page holds."""


def render_page(planned: PlannedNetwork, machine: Machine) -> str:
    """The page of one network and its rows. Its script sends requests to the server that sent it."""
    digits = planned.parameters.digits
    assert digits is not None
    bar = tag("div", tag("span", "gemmbench", class_="brand"), tag("nav", "Draw a digit"), render_theme_button())
    panels = [_render_pad(np.unique(digits.labels)), _render_guess(planned), _render_rows(planned)]
    body = [tag("header", bar, class_="bar"), tag("main", panels, _render_notes(planned, machine))]
    return render_document("Draw a digit - gemmbench", body, _FILES, connect=True, data=_store_images(digits))


def _render_pad(labels: np.ndarray) -> Html:
    canvas = tag("canvas", id="pad", width=560, height=560, role="img", aria_label="Draw a digit here")
    hint = tag("p", "Draw a digit from 0 to 9", id="hint")
    buttons = tag(
        "div",
        tag("button", "Clear", type="button", id="clear"),
        tag("button", "Undo", type="button", id="undo"),
        class_="buttons",
    )
    stored = (tag("button", str(label), type="button", data_digit=int(label)) for label in labels)
    label = tag("p", "Or take a stored test image, which the network was not trained on:", class_="quiet")
    images = tag("div", stored, class_="stored", role="group", aria_label="Stored test images")
    return tag("section", tag("div", canvas, hint, class_="frame"), buttons, label, images, class_="card pad")


def _render_guess(planned: PlannedNetwork) -> Html:
    """The guess, a bar for each output, and the image as the network sees it."""
    lines = (
        tag("li", tag("span", str(digit)), tag("i", tag("i")), tag("output"), data_bar=digit)
        for digit in range(planned.sweep.network.sizes[-1])
    )
    seen = tag("figure", tag("canvas", id="seen", width=8, height=8), tag("figcaption", "what it sees"))
    guess = tag("div", tag("output", "?", id="guess", aria_live="polite"), seen, class_="guess")
    return tag("section", tag("h2", "It reads"), guess, tag("ol", lines, id="bars"), class_="card")


def _render_rows(planned: PlannedNetwork) -> Html:
    rows, baseline = [row for row in planned.rows if not row.reason], planned.sweep.baseline
    published = any(row.published_ms for row in rows)
    names = ["kernel", "time", f"vs {baseline}", "reads", *(["post (ms)"] if published else [])]
    heads = [tag("th", name, scope="col", class_=None if index else "left") for index, name in enumerate(names)]
    lines = (_render_row(row, row.name == baseline, published) for row in rows)
    table = tag("table", tag("thead", tag("tr", heads)), tag("tbody", lines, id="rows"))
    heading = tag("h2", f"Every kernel computes it, {planned.sweep.network.batch} inputs in a batch")
    return tag("section", heading, tag("div", table, class_="scroll"), tag("p", id="state"), class_="card times")


def _render_row(row: Chain, is_baseline: bool, published: bool) -> Html:
    label = tag("small", row.label, class_="quiet") if row.label else None
    cells = [tag("th", row.name, label, scope="row", class_="left"), tag("td", tag("div", tag("i"), tag("span", "-")))]
    cells += [tag("td", "-"), tag("td", "-")]
    cells += [tag("td", number(row.published_ms))] if published else []
    return tag("tr", cells, data_row=row.name, class_="baseline" if is_baseline else None)


def _render_notes(planned: PlannedNetwork, machine: Machine) -> Html:
    return tag("ul", (tag("li", note) for note in _list_notes(planned, machine)), class_="notes quiet")


def _list_notes(planned: PlannedNetwork, machine: Machine) -> Iterator[Content]:
    network = planned.sweep.network
    yield f"{network} on {machine.primary.name}. Your drawing fills the whole batch."
    yield (
        "Time: the median of the last 15 drawings, for one batch with all its launches; operands stay in the cache. "
        "Use gemmbench mlp for times with intervals."
    )
    yield "Each result is checked against one computed in float64; the bars show the first row's."
    for row in planned.rows:
        if row.reason:
            yield f"Not here: {row.name}: {row.reason}."


def _store_images(digits: Digits) -> Html:
    """Some test images of each digit, for the script."""
    images = {
        str(label): digits.images[digits.labels == label][:_MOST_IMAGES].tolist() for label in np.unique(digits.labels)
    }
    text = msgspec.json.encode(images).decode().replace("<", "\\u003c")
    return tag("script", Html(text), type="application/json", id="images")
