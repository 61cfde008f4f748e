"""The ladder: one bar for each variant in order of the rungs, in percent of the baseline, at one size."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gemmbench.report.charts.chart_model import Bar, BarPlot, Chart, Choices, Guide, Segment
from gemmbench.report.charts.chart_rows import (
    FARTHEST,
    Peak,
    SpeedUnit,
    choose_problem,
    choose_unit,
    describe_rows,
    find_peaks,
    group_series,
    name_baseline,
    note_far_peaks,
    note_other_problems,
    note_unranked,
    pick_fastest,
    row_tip,
    select_rows,
)
from gemmbench.report.charts.chart_style import format_estimate, make_linear_axis
from gemmbench.report.comparison import Comparison
from gemmbench.report.row import Row

_PLAIN, _HIGHLIGHTED, _BASELINE = 0, 1, -1


def draw_ladder(comparisons: Sequence[Comparison], choices: Choices) -> Chart:
    """Draw percent of the baseline at one problem, or GFLOPS if no row has a percentage. Raises UsageError."""
    selected = pick_fastest(select_rows(comparisons, choices))
    rows = choose_problem(selected)
    others = note_other_problems(selected, rows)
    speed_unit = choose_unit(comparisons)
    in_percent = any(not math.isnan(row.percent_of_baseline.value) for row in rows)
    if in_percent:
        rows = [row for row in rows if not math.isnan(row.percent_of_baseline.value)]
    bars = tuple(
        _make_bar(label, row, choices, in_percent, speed_unit) for label, (row, *_) in group_series(rows).items()
    )
    longest = max(max(bar.segments[0].high, bar.high if bar.high > 0 else 0) for bar in bars)
    peaks, fastest = find_peaks(rows, speed_unit), max(row.gflops for row in rows)
    guides = _make_guides(rows, [peak for peak in peaks if peak.gflops <= FARTHEST * fastest], in_percent, speed_unit)
    unit = f"% of {name_baseline(rows)}" if in_percent else speed_unit.name
    axis = make_linear_axis(unit, max([longest, *(guide.value for guide in guides)]))
    plot = BarPlot(axis, bars, guides, note_label=speed_unit.name if in_percent else "")
    subtitle = f"{describe_rows(rows)}. Whiskers: 95 % intervals."
    ends = ", ".join(f"{bar.label} {bar.text}" for bar in bars)
    network, size = rows[0].record.network, rows[0].record.problem.size
    title = choices.title or (network.title if network else f"The ladder at {size}")
    notes = (*note_far_peaks(peaks, fastest, speed_unit), *others, *note_unranked(comparisons, choices))
    return Chart(title, subtitle, f"{title}, {unit}: {ends}.", plot, notes)


def _make_bar(label: str, row: Row, choices: Choices, in_percent: bool, unit: SpeedUnit) -> Bar:
    absolute, variant = unit.measure(row), row.record.variant
    speed = row.percent_of_baseline if in_percent else absolute
    baseline = variant == row.environment.baseline
    style = _BASELINE if baseline else _HIGHLIGHTED if variant == choices.highlight else _PLAIN
    note = format_estimate(absolute)
    return Bar(
        label,
        (Segment(0, speed.value, style, row_tip(label, row, unit)),),
        f"{format_estimate(speed)} %" if in_percent else note,
        note if in_percent else "",
        speed.low,
        speed.high,
        muted=choices.mutes(row),
        emphasized=baseline or variant == choices.highlight,
    )


def _make_guides(rows: Sequence[Row], peaks: Sequence[Peak], in_percent: bool, unit: SpeedUnit) -> tuple[Guide, ...]:
    """Make a guide for the peak if all rows have the same one. It is in percent of the baseline if the bars are."""
    if len(peaks) != 1:
        return ()
    if not in_percent:
        return (Guide(peaks[0].gflops / unit.gflops, peaks[0].label, peaks[0].tip),)
    speeds = [100 * row.gflops / row.percent_of_baseline.value for row in rows if row.percent_of_baseline.value == 100]
    return (Guide(100 * peaks[0].gflops / speeds[0], peaks[0].label, peaks[0].tip),) if len(speeds) == 1 else ()
