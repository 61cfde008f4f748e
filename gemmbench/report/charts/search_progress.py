"""A search of `tune`: the speed of every configuration in the order of trying, and the best so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from gemmbench.bench.record import Record
from gemmbench.bench.timing import stats
from gemmbench.errors import UsageError
from gemmbench.report.charts.chart_model import Chart, Choices, LinePlot, Point, Series
from gemmbench.report.charts.chart_rows import choose_unit
from gemmbench.report.charts.chart_style import format_number, make_linear_axis
from gemmbench.report.comparison import Comparison

_TRIED, _BEST = 0, -1
"""Styles for the points of configurations and for the line of the best so far."""


def draw_search(comparisons: Sequence[Comparison], choices: Choices) -> Chart:
    """Draw GFLOPS over the configurations of the search that tried the most. Raises UsageError if there is none."""
    search = _choose_search(comparisons, choices)
    unit = choose_unit(comparisons)
    speeds = [(record, _find_gflops(record)) for record in search]
    tried = [
        Point(number, speed / unit.gflops, f"{record.configuration}\n{unit.format(speed, 3)}")
        for number, (record, speed) in enumerate(speeds, 1)
    ]
    best = _find_best(tried)
    count, first = len(tried), search[0]
    x = make_linear_axis("configurations tried", count)
    series = (Series("tried", tuple(tried), _TRIED, joined=False), Series("best so far", tuple(best), _BEST))
    plot = LinePlot(x, make_linear_axis(unit.name, max(point.y for point in tried)), series)
    title = choices.title or f"Search of {first.variant} at {first.problem}"
    end = f"The best of {count} reaches {format_number(best[-1].y, 3)} {unit.name}: {best[-1].tip.splitlines()[0]}."
    environment = next(each.environment for each in comparisons if first in each.run.records)
    subtitle = (
        f"{environment.device}{environment.scope}. These are the first short rounds of each configuration, not the "
        "finals."
    )
    return Chart(title, subtitle, end, plot)


def _find_best(tried: Sequence[Point]) -> list[Point]:
    """Find the corners of the line of the best so far."""
    corners = [tried[0]]
    for point in tried[1:]:
        if point.y > corners[-1].y:
            corners += [replace(corners[-1], x=point.x), point]
    return [*corners, replace(corners[-1], x=tried[-1].x)]


def _choose_search(comparisons: Sequence[Comparison], choices: Choices) -> list[Record]:
    """Return the first short load of each configuration, in order, from the search with the most."""
    searches: dict[tuple[object, ...], dict[tuple[object, ...], Record]] = {}
    for number, comparison in enumerate(comparisons):
        for record in comparison.run.records:
            timed = record.is_short_load and record.status == "ok" and record.samples and record.config
            if timed and record.variant != comparison.environment.baseline and choices.include(record):
                mine = searches.setdefault((number, record.variant, record.problem), {})
                mine.setdefault(tuple(sorted(record.config.items())), record)
    if not searches:
        raise UsageError("these results contain no search; gemmbench tune makes one")
    return list(max(searches.values(), key=len).values())


def _find_gflops(record: Record) -> float:
    seconds = stats.time_interval(record.by_round).value
    return record.flops / seconds / 1e9 if seconds else math.nan
