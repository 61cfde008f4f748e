"""The section of all rows: filters for every table on the page, then the tables of each run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gemmbench.report.comparison import Comparison
from gemmbench.report.flags import explain_letters
from gemmbench.report.page.headline import label_problem
from gemmbench.report.page.html import Html, tag
from gemmbench.report.page.tables import render_kernels, render_notes, render_static, render_transfers
from gemmbench.report.posts.find_post import find_post
from gemmbench.report.posts.table import report_post
from gemmbench.report.tables.transfers import detail_lines, footer_lines, list_notes


def render_rows(comparisons: Sequence[Comparison]) -> Html:
    """The filters and all tables of the runs."""
    nothing = tag("p", "No row matches.", id="nothing", class_="nothing", hidden=True)
    return tag("div", _render_toolbar(comparisons), map(_render_run, comparisons), nothing)


def _render_run(comparison: Comparison) -> Html:
    parts = list(_render_tables(comparison))
    name = f"{comparison.environment.sweep}, run {comparison.environment.run}"
    return tag("div", tag("h3", name), parts, class_="results")


def _render_tables(comparison: Comparison) -> Iterator[Html]:
    post = find_post(comparison.environment)
    if post:
        tables = report_post(post, comparison)[0].tables
        yield from (part for table in tables for part in (tag("h4", table.title), render_static(table)))
        yield tag("h4", "All rows")
    if comparison.rows:
        yield render_kernels(comparison)
        yield render_notes(explain_letters(comparison.rows))
    if comparison.transfers:
        yield render_transfers(comparison)
        notes = [note for problem in comparison.transfers for note in list_notes(problem)]
        yield render_notes([*notes, *footer_lines(comparison.run), *detail_lines(comparison.run)])


def _render_toolbar(comparisons: Sequence[Comparison]) -> Html:
    """Hidden until a script can obey it."""
    rows = [row for comparison in comparisons for row in comparison.rows]
    moved = [row for comparison in comparisons for problem in comparison.transfers for row in problem.rows]
    records = [*(row.record for row in rows), *(row.record for row in moved)]
    statuses = [*(row.status for row in rows), *(row.record.status for row in moved)]
    labels = [label_problem(problem) for comparison in comparisons for problem in comparison.problems]
    labels += [str(problem.problem) for comparison in comparisons for problem in comparison.transfers]
    controls = [
        tag("input", type="search", id="search", placeholder="Search the rows", aria_label="Search the rows"),
        _render_choice("kernel", (record.variant for record in records)),
        _render_choice("status", statuses),
        _render_choice("problem", labels),
        _render_switch("details", "All columns"),
        _render_switch("flat", "One list"),
        tag("output", id="count", aria_live="polite"),
    ]
    return tag("form", controls, class_="toolbar", hidden=True)


def _render_choice(name: str, values: Iterable[str]) -> Html:
    options = [tag("option", value, value=value) for value in dict.fromkeys(values)]
    every = tag("option", f"Every {name}", value="")
    return tag("select", every, options, id=f"filter-{name}", data_filter=name, aria_label=f"Filter by {name}")


def _render_switch(name: str, text: str) -> Html:
    return tag("label", tag("input", type="checkbox", id=name), text, class_="switch")
