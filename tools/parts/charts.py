"""Parts that draw a chart of results: docs/images/NAME.svg, and the link to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from gemmbench.errors import StoreError
from gemmbench.report.charts.chart_model import Choices
from gemmbench.report.charts.draw import draw_chart
from gemmbench.report.charts.svg import render_svg
from tools.citations import cite_run
from tools.page import ROOT, Page
from tools.parts.tables import read_comparison

_IMAGES = ROOT / "docs" / "images"


def _write_chart(page: Page, kind: str, *words: str) -> str:
    """Draw `kind` from the files among the words; a word with = and a bare `percent` are choices. Raises StoreError."""
    choices = dict(word.split("=", 1) for word in words if "=" in word)
    if "name" not in choices:
        raise StoreError("needs name=NAME, which is that of the picture")
    path = _IMAGES / f"{choices.pop('name')}.svg"
    comparisons = [read_comparison(word) for word in words if "=" not in word and word != "percent"]
    parsed = _parse_choices(choices)
    chart = draw_chart(kind, comparisons, percent="percent" in words, **parsed)
    page.files[path] = render_svg(chart) + "\n"
    shown = Choices(**parsed)
    whose = [cite_run(page, each, filter(shown.include, each.run.full_records)) for each in comparisons]
    lines = "\n".join(dict.fromkeys(map(str, whose)))
    return f"![{chart.title}]({os.path.relpath(path, page.path.parent)})\n\n{lines}"


def _parse_choices(choices: Mapping[str, str]) -> dict[str, Any]:
    unknown = set(choices) - set(Choices.__dataclass_fields__)
    if unknown:
        raise StoreError(f"unknown choice '{min(unknown)}'; known: name, {', '.join(Choices.__dataclass_fields__)}")
    return {name: tuple(value.split(",")) if name == "variants" else value for name, value in choices.items()}


KINDS: Mapping[str, Callable[..., str]] = {"chart": _write_chart}
