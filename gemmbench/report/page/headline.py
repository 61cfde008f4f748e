"""What the page says first: what ran, on what, and who is fastest at each problem."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from gemmbench.bench.timing.stats import Interval
from gemmbench.report.charts.chart_style import format_number
from gemmbench.report.comparison import Comparison, ProblemRows
from gemmbench.report.page.html import Content, Html, tag
from gemmbench.report.row import Row
from gemmbench.report.text import count_noun, interval_ends, number, number_within
from gemmbench.report.verdicts import find_best_rows

_MOST_CARDS = 12


def label_problem(problem: ProblemRows) -> str:
    """`4096 nn f32`; for a network its layers."""
    network = problem.rows[0].record.network
    return network.title if network else str(problem.problem)


def find_fastest(problem: ProblemRows, baseline: str) -> Row | None:
    """The fastest right row of a problem besides the baseline; the baseline if it is the only one."""
    ranked = find_best_rows(problem.rows)
    others = [row for variant, row in ranked.items() if variant != baseline]
    return min(others or ranked.values(), key=lambda row: row.time.value, default=None)


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
    cards = [tag("li", card) for card in (*_list_problems(comparison), *_list_transfers(comparison))]
    first, more = cards[:_MOST_CARDS], cards[_MOST_CARDS:]
    summary = tag("summary", f"{count_noun(len(more), 'more problem')}")
    rest = tag("details", summary, tag("ul", more, class_="fastest")) if more else None
    return [tag("ul", first, class_="fastest"), rest] if cards else None


def _list_problems(comparison: Comparison) -> Iterator[Content]:
    """A card for each problem: its fastest kernel, and how that compares with the baseline."""
    baseline = comparison.environment.baseline
    for problem in comparison.problems:
        row = find_fastest(problem, baseline)
        if row is None:
            continue
        percent = row.percent_of_baseline
        known = row.record.variant != baseline and not math.isnan(percent.value)
        speed = f"{format_number(row.gflops)} GFLOPS, {number(1e3 * row.time.value)} ms"
        yield [
            tag("span", label_problem(problem), class_="size"),
            tag("b", row.record.variant),
            _render_ratio(percent, baseline) if known else None,
            tag("span", speed, class_="quiet"),
        ]


def _render_ratio(percent: Interval, baseline: str) -> Html:
    """`1.17x cublas`, `51 % of cublas`, or that the interval holds both faster and slower."""
    if percent.known and percent.low <= 100 <= percent.high:
        low, high = interval_ends(percent.scale(0.01))
        return tag("span", f"level with {baseline} ({low}x to {high}x)", class_="ratio level")
    if percent.value >= 100:
        return tag("span", f"{number_within(percent.value / 100, percent, 3)}x {baseline}", class_="ratio good")
    return tag("span", f"{number_within(percent.value, percent, 3)} % of {baseline}", class_="ratio")


def _list_transfers(comparison: Comparison) -> Iterator[Content]:
    """A card for each problem: the job that takes the least time, copies included."""
    for problem in comparison.transfers:
        timed = [row for row in problem.rows if not math.isnan(row.total.value)]
        if not timed:
            continue
        best = min(timed, key=lambda row: row.total.value)
        yield [
            tag("span", f"whole job, {problem.problem}", class_="size"),
            tag("b", f"{best.record.variant}, {best.record.mode}"),
            tag("span", f"{number(1e3 * best.total.value)} ms", class_="ratio"),
            tag("span", f"{best.speedup.value:.3g}x pageable copies", class_="quiet"),
        ]
