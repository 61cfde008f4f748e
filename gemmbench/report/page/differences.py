"""How the rows of a run differ from those of a reference run."""

from __future__ import annotations

from gemmbench.report.differences.difference_tables import footer_lines, list_columns
from gemmbench.report.differences.run_differences import Difference, RunDifferences
from gemmbench.report.page.html import Html, tag
from gemmbench.report.page.tables import Group, RowStyle, render_groups, render_notes


def render_differences(differences: RunDifferences) -> Html:
    """The rows that both runs have, and what to know about their ratios."""
    columns = list_columns(differences)
    groups = [Group(problem.title, str(problem), rows) for problem, rows in differences.by_problem.items()]
    style: RowStyle[Difference] = RowStyle(lambda each: each.row.status)
    baseline = differences.run.environment.baseline
    table = render_groups(columns, len(columns), baseline, groups, style) if groups else None
    return tag("div", render_notes(footer_lines(differences)), table, class_="results")
