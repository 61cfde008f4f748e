"""What the page says first: what ran, on what, and who is fastest at each problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gemmbench.report.comparison import Comparison, ProblemRows
from gemmbench.report.page.html import Content, Html, tag
from gemmbench.report.row import Row
from gemmbench.report.text import count_noun, number


def find_fastest(problem: ProblemRows, baseline: str) -> Row | None:
    """The fastest right row of a problem besides the baseline; the baseline if it is the only one."""
    ranked = [row for row in problem.rows if row.ranked]
    others = [row for row in ranked if row.record.variant != baseline]
    return min(others or ranked, key=lambda row: row.time.value, default=None)


def render_headline(comparison: Comparison) -> Html:
    """The sweep and device of a run, its rows by status, and its fastest rows."""
    environment = comparison.environment
    lead = f"{_count_rows(comparison)}, measured {environment.started[:16].replace('T', ' at ')} UTC."
    fastest = _render_fastest(comparison)
    return tag("header", tag("h1", title_run(comparison)), tag("p", lead, class_="quiet"), fastest, class_="run")


def title_run(comparison: Comparison) -> str:
    """`sgemm on NVIDIA H200`."""
    return f"{comparison.environment.sweep} on {comparison.environment.device}"


def _count_rows(comparison: Comparison) -> str:
    statuses = [row.status for row in comparison.rows]
    statuses += [row.record.status for problem in comparison.transfers for row in problem.rows]
    counts = Counter(statuses)
    named = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    return f"{count_noun(len(statuses), 'row')} ({named}) of {count_noun(len(comparison.problems), 'problem')}"


def _render_fastest(comparison: Comparison) -> Content:
    items = list(_describe_problems(comparison))
    return tag("ul", (tag("li", item) for item in items), class_="fastest") if items else None


def _describe_problems(comparison: Comparison) -> Iterator[Content]:
    baseline = comparison.environment.baseline
    for problem in comparison.problems:
        if row := find_fastest(problem, baseline):
            yield [tag("span", problem.problem.size, class_="size"), *_describe_fastest(row, baseline)]


def _describe_fastest(row: Row, baseline: str) -> Iterator[Content]:
    yield tag("b", row.record.variant)
    ratio = row.percent_of_baseline.value / 100
    if row.record.variant == baseline or ratio != ratio:
        yield tag("span", f"{number(row.gflops)} GFLOPS")
        return
    yield tag("span", f"{ratio:.3g}x {baseline}", class_="ratio good" if ratio >= 1 else "ratio")
    yield tag("span", f"{number(row.gflops)} GFLOPS", class_="quiet")
