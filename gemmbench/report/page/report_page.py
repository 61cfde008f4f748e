"""The whole page of one or several runs: `gemmbench report`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gemmbench.report.comparison import Comparison
from gemmbench.report.differences.run_differences import compare_runs
from gemmbench.report.page.headline import render_headline, title_run
from gemmbench.report.page.html import Html, join, render_document, render_theme_button, tag
from gemmbench.report.page.page_sections import (
    any_failed,
    render_differences,
    render_environment,
    render_failures,
    render_figures,
    render_rows,
)

_FOLDER = Path(__file__).parent
_FILES = (_FOLDER / "report.css", _FOLDER / "report.js")


def render_page(comparisons: Sequence[Comparison], reference: Comparison | None = None) -> str:
    """One HTML file that needs nothing else; with `reference`, how each run differs from it."""
    sections = list(_render_sections(comparisons, reference))
    links = [tag("a", "Summary", href="#summary"), *(tag("a", text, href=f"#{key}") for key, text, _ in sections)]
    summary = tag("section", map(render_headline, comparisons), id="summary")
    bar = tag("div", tag("span", "gemmbench", class_="brand"), tag("nav", links), render_theme_button())
    body = [tag("section", tag("h2", heading), content, id=key) for key, heading, content in sections]
    title = " and ".join(dict.fromkeys(map(title_run, comparisons)))
    page = [tag("header", bar, class_="bar"), tag("main", summary, body)]
    return render_document(f"{title} - gemmbench", page, _FILES)


def _render_sections(
    comparisons: Sequence[Comparison], reference: Comparison | None
) -> Iterator[tuple[str, str, Html]]:
    """The id, the heading and the content of each section that has something to show."""
    if figures := render_figures(comparisons):
        yield "charts", "Charts", figures
    yield "rows", "Rows", render_rows(comparisons)
    if reference:
        differences = [compare_runs(reference, comparison) for comparison in comparisons]
        yield "differences", "Differences", join(map(render_differences, differences))
    failures = [each for each in map(render_failures, comparisons) if each]
    if failures:
        heading = "Failed and skipped" if any(map(any_failed, comparisons)) else "Skipped"
        yield "failures", heading, join(failures)
    yield "environment", "Environment", join(map(render_environment, comparisons))
