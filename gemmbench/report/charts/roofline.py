"""The roofline: speed over FLOP per byte, bounded by the machine's arithmetic peak and its bandwidth.

Intensity counts the fewest bytes that a launch must move (A and B in, C out), so that all variants of a problem have
the same intensity. The model: S. Williams, A. Waterman, D. Patterson, "Roofline", 2009.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from gemmbench.errors import UsageError
from gemmbench.report.charts.chart_model import Chart, Choices, Limit, LinePlot, Point
from gemmbench.report.charts.chart_rows import (
    Peak,
    SpeedUnit,
    choose_unit,
    describe_rows,
    find_peaks,
    make_series,
    note_unranked,
    pick_fastest,
    row_tip,
    select_rows,
    take_reached_limits,
)
from gemmbench.report.charts.chart_style import format_number, make_log_axis
from gemmbench.report.comparison import Comparison
from gemmbench.report.row import Row

_INTENSITY = "FLOP per byte: A and B read once, C written once"


def draw_roofline(comparisons: Sequence[Comparison], choices: Choices) -> Chart:
    """Draw GFLOPS of each row over its intensity. Raises UsageError if no limit of the device is known."""
    rows = pick_fastest(select_rows(comparisons, choices))
    unit = choose_unit(comparisons)
    peaks = [take_reached_limits(peak, unit) for peak in find_peaks(rows, unit) if peak.bandwidth > 0]
    if not peaks:
        devices = ", ".join(dict.fromkeys(row.environment.device for row in rows))
        raise UsageError(
            f"a roofline needs the peak and the bandwidth of the device; the runs do not have them for {devices}"
        )
    rows = [row for row in rows if not math.isnan(row.percent_of_peak)]
    series = make_series(rows, choices, partial(_make_point, unit), joined=False)
    x, (slowest, highest) = _make_ranges(rows, peaks)
    limits = tuple(limit for peak in peaks for limit in _make_limits(peak, x, unit))
    speeds = make_log_axis(unit.name, slowest / unit.gflops, highest / unit.gflops)
    plot = LinePlot(make_log_axis(_INTENSITY, *x), speeds, series, limits)
    notes = [*dict.fromkeys(map(_explain_limits, peaks)), *note_unranked(comparisons, choices)]
    subtitle = f"{describe_rows(rows)}. Bars: 95 % intervals."
    return Chart(choices.title or _make_title(rows), subtitle, _describe(plot), plot, tuple(notes))


def _explain_limits(peak: Peak) -> str:
    if peak.reached:
        return "The limits were measured just before the run: multiply-adds in registers, and copies in memory."
    return "The limits are theoretical: the arithmetic peak, and the rate of the memory at its highest clock."


def _make_title(rows: Sequence[Row]) -> str:
    sizes = {row.record.problem.size for row in rows}
    return f"Roofline at {sizes.pop()}" if len(sizes) == 1 else "Roofline"


def _make_point(unit: SpeedUnit, label: str, row: Row) -> Point:
    speed, bounds = unit.measure(row), row.roofline
    share = f"{format_number(bounds.percent, 3)} % of what {bounds.bound} allows"
    return Point(bounds.intensity, speed.value, f"{row_tip(label, row, unit)}\n{share}", speed.low, speed.high)


def _make_ranges(rows: Sequence[Row], peaks: Sequence[Peak]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ranges of both axes. They cover all rows and the ridge, where the two limits of a device meet."""
    intensities = [row.roofline.intensity for row in rows] + [peak.ridge for peak in peaks]
    low = min(intensities) / 4
    slowest = min([row.gflops for row in rows] + [peak.bandwidth * low for peak in peaks])
    return (low, 2 * max(intensities)), (slowest / 1.5, 1.6 * max(peak.gflops for peak in peaks))


def _make_limits(peak: Peak, x: tuple[float, float], unit: SpeedUnit) -> list[Limit]:
    arithmetic, memory = peak.gflops / unit.gflops, peak.bandwidth / unit.gflops
    ridge = peak.ridge, arithmetic
    label = f"{peak.bandwidth_label} {format_number(peak.bandwidth / 1000, 3)} TB/s"
    return [
        Limit(label, (x[0], memory * x[0]), ridge, f"Memory bandwidth of {label}"),
        Limit(peak.label, ridge, (x[1], arithmetic), peak.tip),
    ]


def _describe(plot: LinePlot) -> str:
    ends = [f"{each.label} {format_number(each.points[-1].y, 3)} {plot.y.label}" for each in plot.series]
    limits = [limit.label for limit in plot.limits]
    return f"Speed over FLOP per byte, below {' and '.join(limits)}. Rightmost points: {', '.join(ends)}."
