"""The beginning of the page: what ran, on which device, and which variant is fastest at each problem."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from gemmbench.bench.timing import stats
from gemmbench.report.charts.chart_rows import SpeedUnit
from gemmbench.report.charts.chart_style import separate_thousands
from gemmbench.report.comparison import Comparison, ProblemRows, TransferRow
from gemmbench.report.fastest import find_fastest
from gemmbench.report.page.html import Content, Html, tag
from gemmbench.report.row import UNRANKED, Row
from gemmbench.report.text import count_noun, number, number_within
from gemmbench.report.verdicts import find_best_rows

_MOST_CARDS = 12


def label_problem(problem: ProblemRows) -> str:
    """Label a problem such as `4096 nn f32`. A network is labelled by its layers."""
    network = problem.rows[0].record.network
    return network.title if network else str(problem.problem)


def name_box(row: Row) -> str:
    """Return the id of the box that explains a failed row."""
    return f"row-{row.environment.run}-{row.number}"


def list_failed(comparison: Comparison) -> list[Row]:
    """List the rows of kernels that are neither correct nor skipped."""
    return [row for row in comparison.rows if row.status not in ("ok", "skipped", UNRANKED)]


def format_figure(text: str) -> str:
    """Format a figure as `51,640 ± 60`. A narrow column breaks it before the sign."""
    return separate_thousands(text).replace("+- ", "\u00b1\u00a0")


def render_headline(comparison: Comparison, unit: SpeedUnit) -> Html:
    """Render the sweep and device of a run, its rows by status, its failures and, if finished, its fastest rows."""
    environment = comparison.environment
    lead = (
        f"{_count_rows(comparison)}, measured {environment.started[:16].replace('T', ' at ')} UTC{environment.scope}."
    )
    below = tag("p", comparison.run.warning) if comparison.run.ended_early else _render_fastest(comparison, unit)
    failed = _render_failed(list_failed(comparison))
    return tag("header", tag("h1", title_run(comparison)), tag("p", lead, class_="quiet"), failed, below, class_="run")


def title_run(comparison: Comparison) -> str:
    """`sgemm on NVIDIA H200`."""
    return f"{comparison.environment.sweep} on {comparison.environment.device}"


def _count_rows(comparison: Comparison) -> str:
    statuses = [row.status for row in comparison.rows]
    statuses += [row.record.status for problem in comparison.transfers for row in problem.rows]
    counts = Counter(statuses)
    named = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    listed = f" ({named})" if named else ""
    return f"{count_noun(len(statuses), 'row')}{listed} of {count_noun(len(comparison.problems), 'problem')}"


_MOST_FAILED = 6


def _render_failed(rows: Sequence[Row]) -> Html | None:
    """Render a card for each kernel and kind of failure, with the places, the cause, and a link to more."""
    alike: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        alike.setdefault((row.record.variant, row.status, row.record.diagnosis), []).append(row)
    cards = [_render_failure(each) for each in list(alike.values())[:_MOST_FAILED]]
    if left := len(alike) - len(cards):
        cards.append(tag("li", tag("a", f"{left} more in Failed", href="#failures")))
    return tag("ul", cards, class_="fastest failed") if cards else None


def _render_failure(rows: Sequence[Row]) -> Html:
    record, others = rows[0].record, len(rows) - 1
    title = record.network.title if record.network else str(record.problem)
    where = f"{title} and {count_noun(others, 'other row')}" if others else title
    status = tag("a", rows[0].status, href=f"#{name_box(rows[0])}", class_="ratio")
    reason = tag("span", record.reason, class_="reason") if record.reason else None
    return tag("li", tag("span", where, class_="size"), tag("b", record.variant), status, reason)


def _render_fastest(comparison: Comparison, unit: SpeedUnit) -> Content:
    cards = [tag("li", card) for card in (*_list_problems(comparison, unit), *_list_transfers(comparison))]
    first, more = cards[:_MOST_CARDS], cards[_MOST_CARDS:]
    summary = tag("summary", f"{count_noun(len(more), 'more problem')}")
    rest = tag("details", summary, tag("ul", more, class_="fastest")) if more else None
    return [tag("ul", first, class_="fastest"), rest] if cards else None


def _list_problems(comparison: Comparison, unit: SpeedUnit) -> Iterator[Content]:
    """Render a card for each problem: which variant is fastest, and how it compares with the baseline."""
    for problem in comparison.problems:
        fastest, best = find_fastest(problem), list(find_best_rows(problem.rows).values())
        rows = fastest.rows if fastest else best
        if not rows:
            continue
        details = fastest.details if fastest else []
        look = "ratio good" if fastest and fastest.beats_baseline else "ratio level"
        caveat, time = comparison.environment.caveat, f"{number(1e3 * rows[0].time.value)} ms"
        speed = f"{time} {caveat}" if caveat else f"{unit.format(rows[0].gflops)}, {time}"
        yield [
            tag("span", label_problem(problem), class_="size"),
            tag("b", fastest.names if fastest else rows[0].record.variant),
            *(tag("span", format_figure(detail), class_=look) for detail in details),
            tag("span", speed, class_="quiet"),
        ]


def _list_transfers(comparison: Comparison) -> Iterator[Content]:
    """Render a card for each problem: the job that takes the least time, including copies, and those that tie."""
    for problem in comparison.transfers:
        rows = _find_shortest_jobs(problem.rows)
        if not rows:
            continue
        best = rows[0]
        yield [
            tag("span", f"whole job, {problem.problem}", class_="size"),
            tag("b", " or ".join(f"{row.record.variant}, {row.record.mode}" for row in rows)),
            tag("span", f"{number_within(1e3 * best.total.value, best.total)} ms", class_="ratio"),
            tag("span", f"{number_within(best.speedup.value, best.speedup)}x pageable copies", class_="quiet"),
        ]


def _find_shortest_jobs(rows: Sequence[TransferRow]) -> list[TransferRow]:
    """Find the job that takes the least time, and those that do not clearly take longer."""
    timed = sorted((row for row in rows if not math.isnan(row.total.value)), key=lambda row: row.total.value)
    level = 1 - (1 - stats.LEVEL) / max(1, len(timed) - 1)

    def is_slower(row: TransferRow) -> bool:
        ratio = stats.speed_ratio(row.record.by_round, timed[0].record.by_round)
        ratio = ratio if ratio.known else stats.unpaired_ratio(timed[0].total, row.total)
        return not ratio.known or stats.verdict(ratio.at_level(level)) == "slower"

    return [*timed[:1], *(row for row in timed[1:] if not is_slower(row))]
