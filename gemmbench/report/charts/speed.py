"""Speed over size: a line for each variant with its 95 % intervals, and the machine's limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from gemmbench.errors import UsageError
from gemmbench.report.charts.chart_model import Axis, Chart, Choices, Limit, LinePlot, Point, Series
from gemmbench.report.charts.chart_rows import (
    FARTHEST,
    Peak,
    SpeedUnit,
    choose_unit,
    describe_rows,
    find_peaks,
    make_series,
    name_baseline,
    note_far_peaks,
    note_unranked,
    pick_fastest,
    row_tip,
    select_rows,
)
from gemmbench.report.charts.chart_style import format_number, make_linear_axis, make_log_axis, make_size_axis
from gemmbench.report.comparison import Comparison
from gemmbench.report.row import Row
from gemmbench.report.text import count_noun

LINEAR, LOG = "linear", "log"
_WIDEST_RANGE = 30


def draw_speed(comparisons: Sequence[Comparison], choices: Choices) -> Chart:
    """Draw GFLOPS, or percent of the baseline, for square problems. Raises UsageError for fewer than two sizes.

    Unless the choices name one, the axis is logarithmic if a linear axis would show a kernel as a flat line at 0.
    """
    rows = pick_fastest(select_rows(comparisons, choices))
    square = [row for row in rows if _is_square(row)]
    sizes = sorted({row.record.problem.M for row in square})
    if len(sizes) < 2:
        raise UsageError(_explain_too_few(sizes))
    unit = choose_unit(comparisons)
    series = make_series(square, choices, partial(_make_point, choices, unit))
    series = tuple(replace(each, line=_choose_line(each.points)) for each in series)
    peaks = [] if choices.percent else find_peaks(square, unit)
    fastest = max(row.gflops for row in square)
    limits = tuple(_make_limit(peak, sizes, unit) for peak in peaks if peak.gflops <= FARTHEST * fastest)
    label = f"% of {name_baseline(square)}" if choices.percent else unit.name
    speeds = _make_speed_axis(series, limits, label, choices.axis)
    plot = LinePlot(make_size_axis("M = N = K", sizes), speeds, series, limits)
    notes = [*note_far_peaks(peaks, fastest, unit), *note_unranked(comparisons, choices), *_note_left_out(rows, square)]
    notes += _note_unjoined(series)
    title = f"Speed relative to {name_baseline(square)}" if choices.percent else "Speed over matrix size"
    subtitle = f"{describe_rows(square)}. Bars: 95 % intervals."
    return Chart(choices.title or title, subtitle, _describe(plot, sizes), plot, tuple(notes))


def _is_square(row: Row) -> bool:
    """Return whether M, N and K are equal and the row is a GEMM."""
    problem = row.record.problem
    return problem.M == problem.N == problem.K and row.record.network is None


def _explain_too_few(sizes: Sequence[int]) -> str:
    held = f"only {sizes[0]}" if sizes else "none"
    return (
        f"speed over size needs correct results at two or more square sizes, but there is {held}. Try the kind 'ladder'"
    )


def _make_point(choices: Choices, unit: SpeedUnit, label: str, row: Row) -> Point:
    speed = row.percent_of_baseline if choices.percent else unit.measure(row)
    return Point(row.record.problem.M, speed.value, row_tip(label, row, unit), speed.low, speed.high)


_NEIGHBOURS = 1.02


def _choose_line(points: Sequence[Point]) -> tuple[Point, ...]:
    """Choose the points that the line connects: of sizes such as 1023, 1024 and 1025, only the roundest."""
    groups: list[list[Point]] = []
    for point in points:
        if not groups or point.x > _NEIGHBOURS * groups[-1][0].x:
            groups.append([])
        groups[-1].append(point)
    return tuple(max(group, key=lambda point: int(point.x) & -int(point.x)) for group in groups)


def _note_unjoined(series: Sequence[Series]) -> list[str]:
    sizes = sorted({int(point.x) for each in series for point in set(each.points) - set(each.line)})
    return [f"Points without a line, next to a rounder size: {', '.join(map(str, sizes))}."] if sizes else []


def _make_limit(peak: Peak, sizes: Sequence[int], unit: SpeedUnit) -> Limit:
    speed = peak.gflops / unit.gflops
    return Limit(peak.label, (sizes[0], speed), (sizes[-1], speed), peak.tip)


def _make_speed_axis(series: Sequence[Series], limits: Sequence[Limit], label: str, axis: str) -> Axis:
    highest = max(max(point.y, point.high if point.high > point.y else 0) for each in series for point in each.points)
    highest = max([highest, *(limit.end[1] for limit in limits)])
    slowest = min(max(point.y for point in each.points) for each in series)
    if axis == LOG or (not axis and highest > _WIDEST_RANGE * slowest):
        return make_log_axis(label, min(point.y for each in series for point in each.points) / 1.2, highest * 1.2)
    return make_linear_axis(label, highest)


def _note_left_out(rows: Sequence[Row], drawn: Sequence[Row]) -> list[str]:
    problems = {row.record.problem for row in rows} - {row.record.problem for row in drawn}
    if not problems:
        return []
    verb = "is" if len(problems) == 1 else "are"
    return [f"Not drawn: {count_noun(len(problems), 'problem')} that {verb} not square."]


def _describe(plot: LinePlot, sizes: Sequence[int]) -> str:
    ends = [f"{each.label} {format_number(each.points[-1].y, 3)}" for each in plot.series]
    return f"{plot.y.label} at sizes {sizes[0]} to {sizes[-1]}. At the end of each line: {', '.join(ends)}."
