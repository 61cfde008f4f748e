"""How much faster or slower each row of a run is than in a reference: bars on both sides of zero."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from gemmbench.report.charts.chart_model import Axis, Bar, BarPlot, Chart, Guide, Segment, Tick
from gemmbench.report.charts.chart_style import format_number, make_linear_axis
from gemmbench.report.differences.run_differences import Difference, RunDifferences
from gemmbench.report.repeatability import RUN_TO_RUN
from gemmbench.report.text import format_share

_STYLES = {"faster": 2, "slower": 1}
_OTHER = 5
_KEY = ((2, "faster"), (1, "slower"), (_OTHER, "same or inconclusive"))
_MOST_BARS = 32


def draw_differences(differences: RunDifferences) -> Chart | None:
    """Draw how much the ratio of each row to the baseline changed, in percent. Returns None if no row has a ratio.

    Of many rows, those that changed most are drawn. A row that was measured again is drawn once.
    """
    again = {each.row.record.kernel_key for each in differences.rows if each.row.record.phase == "final"}
    known = [
        each
        for each in differences.rows
        if each.verdict
        and each.judged_speed.known
        and (each.row.record.phase == "final" or each.row.record.kernel_key not in again)
    ]
    if not known:
        return None
    largest = sorted(known, key=lambda each: abs(math.log(each.judged_speed.value)), reverse=True)[:_MOST_BARS]
    drawn = [each for each in known if each in largest]
    several = Counter((each.row.record.problem, each.row.record.variant) for each in drawn)
    bars = tuple(_make_bar(each, several[each.row.record.problem, each.row.record.variant] > 1) for each in drawn)
    baseline, margin = differences.run.environment.baseline, 100 * differences.margin
    axis = _make_axis(f"% change of the ratio to {baseline}", bars, margin)
    guides = (
        Guide(-margin, "", f"Margin of {margin:g} %"),
        Guide(margin, f"margin of {margin:g} %", f"Margin of {margin:g} %"),
    )
    words = ", ".join(
        f"{bar.label} at {each.row.record.problem.size} {bar.text}" for each, bar in zip(drawn, bars, strict=True)
    )
    left = len(known) - len(drawn)
    notes = (f"Not drawn: {left} more rows, which changed less.",) if left else ()
    subtitle = (
        f"Whiskers: 95 % intervals, with the {format_share(RUN_TO_RUN)} that differ between runs. Faster or slower: "
        f"the whisker lies outside the margin of {format_share(differences.margin)}; same: inside."
    )
    title = "Speed, compared with the reference"
    return Chart(title, subtitle, f"{axis.label}: {words}.", BarPlot(axis, bars, guides, _KEY), notes)


def _make_axis(label: str, bars: Sequence[Bar], margin: float) -> Axis:
    """Make an axis from the lowest whisker to the highest, with both margins and zero in between."""
    ends = [-margin, margin, *(end for bar in bars for end in (bar.low, bar.high))]
    low, high = min(ends), max(ends)
    step, room = make_linear_axis(label, high - low).ticks[1].value, 0.03 * (high - low)
    ticks = [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return Axis(label, low - room, high + room, tuple(Tick(value, format_number(value)) for value in ticks))


def _make_bar(difference: Difference, is_configured: bool) -> Bar:
    record, ratio = difference.row.record, difference.judged_speed
    value, low, high = (100 * (each - 1) for each in (ratio.value, ratio.low, ratio.high))
    decimals = min(max(1, -math.floor(math.log10(high - low))), 2)
    label = f"{record.variant} {record.configuration}".strip() if is_configured else record.variant
    text = f"{value:+.{decimals}f} %"
    tip = f"{label} at {record.problem}\n{text} ({low:+.{decimals}f} to {high:+.{decimals}f}): {difference.verdict}"
    style = _STYLES.get(difference.verdict, _OTHER)
    segment = Segment(min(value, 0), max(value, 0), style, tip)
    return Bar(label, (segment,), text, low=low, high=high, group=str(record.problem))
