"""The whole page of one or several runs (`gemmbench report`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gemmbench.report.charts.chart_rows import SpeedUnit, choose_unit
from gemmbench.report.comparison import Comparison
from gemmbench.report.differences.run_differences import compare_runs
from gemmbench.report.page.headline import render_headline, title_run
from gemmbench.report.page.html import Html, join, render_document, render_theme_button, tag
from gemmbench.report.page.page_sections import (
    render_differences,
    render_environment,
    render_failures,
    render_figures,
    render_rows,
    render_skips,
)

_FOLDER = Path(__file__).parent
_FILES = (_FOLDER / "report.css", _FOLDER / "report.js")


def render_page(comparisons: Sequence[Comparison], reference: Comparison | None = None) -> str:
    """Render a single HTML file that needs nothing else. With `reference`, it shows how each run differs from it."""
    unit = choose_unit(comparisons)
    sections = list(_render_sections(comparisons, reference, unit))
    links = [tag("a", "Summary", href="#summary"), *(tag("a", text, href=f"#{key}") for key, text, _ in sections)]
    notice = _warn_of_cards([*comparisons, *([reference] if reference else [])])
    summary = tag("section", notice, (render_headline(each, unit) for each in comparisons), id="summary")
    bar = tag("div", tag("span", "gemmbench", class_="brand"), tag("nav", links), render_theme_button())
    body = [tag("section", tag("h2", heading), content, id=key) for key, heading, content in sections]
    title = " and ".join(dict.fromkeys(map(title_run, comparisons)))
    page = [tag("header", bar, class_="bar"), tag("main", summary, body)]
    return render_document(f"{title} - gemmbench", page, _FILES)


def _warn_of_cards(comparisons: Sequence[Comparison]) -> Html | None:
    """Render a notice if the runs are not all from one card."""
    environments = [comparison.environment for comparison in comparisons]
    models = list(dict.fromkeys(each.device for each in environments))
    cards = {each.uuid for each in environments if each.uuid}
    if len(models) > 1:
        what = f"different devices, {', '.join(models[:-1])} and {models[-1]}"
    elif len(cards) > 1:
        what = f"{len(cards)} cards of one model, {models[0]}"
    else:
        return None
    advice = "Compare their percentages of the baseline; times and speeds depend on the card."
    return tag("p", f"These runs are from {what}. {advice}", class_="notice", role="note")


def _render_sections(
    comparisons: Sequence[Comparison], reference: Comparison | None, unit: SpeedUnit
) -> Iterator[tuple[str, str, Html]]:
    """Yield the id, the heading and the content of each section that is not empty."""
    if failures := join(map(render_failures, comparisons)):
        yield "failures", "Failed", failures
    if figures := render_figures(comparisons):
        yield "charts", "Charts", figures
    yield "rows", "Rows", render_rows(comparisons, unit)
    if reference:
        differences = [compare_runs(reference, comparison) for comparison in comparisons]
        yield "differences", "Differences", join(map(render_differences, differences))
    if skips := join(map(render_skips, comparisons)):
        yield "skipped", "Skipped", skips
    yield "environment", "Environment", join(map(render_environment, comparisons))
