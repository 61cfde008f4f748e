"""The charts that the data of the runs allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gemmbench.errors import UsageError
from gemmbench.report.charts.draw import CHARTS, draw_chart
from gemmbench.report.charts.model import Chart
from gemmbench.report.charts.palette import DARK, LIGHT
from gemmbench.report.charts.svg.render import render_svg
from gemmbench.report.comparison import Comparison
from gemmbench.report.page.html import Html, tag

_MOST_SIZES = 2
"""Kinds that show one size are drawn for this many: the largest ones."""


def render_figures(comparisons: Sequence[Comparison]) -> Html | None:
    """Every chart that the runs have data for; None if there is none."""
    figures = [tag("figure", Html(render_svg(chart)), class_="card", tabindex=0) for chart in draw_all(comparisons)]
    return tag("div", _render_theme(), figures, class_="charts") if figures else None


def draw_all(comparisons: Sequence[Comparison]) -> list[Chart]:
    """One chart of each kind; one for each size, if a kind shows only one at a time."""
    return [chart for name in CHARTS for chart in _draw_kind(name, comparisons)]


def _draw_kind(name: str, comparisons: Sequence[Comparison]) -> Iterator[Chart]:
    for choices in _list_choices(name, comparisons):
        try:
            yield draw_chart(name, comparisons, **choices)
        except UsageError:  # the runs hold nothing for this chart
            continue


def _list_choices(name: str, comparisons: Sequence[Comparison]) -> Iterator[Mapping[str, Any]]:
    if not CHARTS[name].one_problem:
        yield {}
        return
    problems = [problem.problem for comparison in comparisons for problem in comparison.problems]
    problems += [problem.problem for comparison in comparisons for problem in comparison.transfers]
    largest = sorted(problems, key=lambda problem: problem.flops, reverse=True)
    for size in list(dict.fromkeys(problem.size for problem in largest))[:_MOST_SIZES]:
        yield {"size": size}


def _render_theme() -> Html:
    """The colors of charts, which follow the theme of the page."""
    colors = {name: f"light-dark({LIGHT[name]}, {DARK[name]})" for name in LIGHT} | {"paper": "var(--surface)"}
    rules = " ".join(f"--gb-{name}: {color};" for name, color in colors.items())
    return tag("style", Html(f".charts {{ {rules} }}"))
