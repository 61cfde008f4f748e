"""Helpers for all kinds of charts: the choice of rows, series with names and lines, limits of the machine, tooltips."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from gemmbench.backends.devices import Peaks
from gemmbench.bench.timing.stats import Interval
from gemmbench.errors import UsageError, nearest_or_all
from gemmbench.planning.problems import Problem
from gemmbench.report.charts.chart_model import Choices, Point, Series
from gemmbench.report.charts.chart_style import choose_styles, format_interval, format_number
from gemmbench.report.comparison import Comparison
from gemmbench.report.row import Row, peak_flops
from gemmbench.report.text import count_noun
from gemmbench.report.verdicts import choose_fastest


def _cache(row: Row) -> str:
    """Return the cache that the run asked for, although small operands may have been in the cache anyway."""
    return str(row.environment.policy.get("cache", ""))


_ATTRIBUTES: tuple[Callable[[Row], str], ...] = (
    lambda row: row.record.problem.precision_name,
    lambda row: row.record.problem.layout,
    lambda row: f"alpha {row.record.problem.alpha:g} beta {row.record.problem.beta:g}",
    _cache,
    lambda row: row.environment.device_name(row.record.backend),
    lambda row: row.environment.started[:10],
    lambda row: row.environment.started[11:19],
    lambda row: row.environment.run,
)
"""The attributes in which series of the same variant may differ, in the order in which names mention them."""


def group_series(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Group rows into series, in ladder order. A series has one variant, run and kind of problem."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.record.order, row.record.variant)):
        groups.setdefault((row.record.variant, *(attribute(row) for attribute in _ATTRIBUTES)), []).append(row)
    used = _needed_attributes(list(groups))
    return {", ".join(filter(None, [key[0], *(key[index] for index in used)])): rows for key, rows in groups.items()}


def _needed_attributes(keys: Sequence[tuple[str, ...]]) -> list[int]:
    """Return the first attributes that distinguish the keys of the same variant."""
    used: list[int] = []
    for index in range(1, len(_ATTRIBUTES) + 1):
        if len({(key[0], *(key[each] for each in used)) for key in keys}) == len(keys):
            break
        if len({(key[0], *(key[each] for each in [*used, index])) for key in keys}) > len(
            {(key[0], *(key[each] for each in used)) for key in keys}
        ):
            used.append(index)
    return used


def describe_rows(rows: Sequence[Row]) -> str:
    """Describe what all rows have in common, as in `NVIDIA H200, f32, cold cache, 2026-11-22`.

    The text also says if some rows ran on the CPU.
    """
    devices = {row.environment.device + row.environment.scope: row.environment for row in rows}
    shown = [name for name, each in devices.items() if len(devices) == 1 or each.caveat]
    texts = (
        {row.record.problem.precision_name for row in rows},
        {"" if row.record.problem.layout == "nn" else row.record.problem.layout for row in rows},
        {f"{_cache(row)} cache" if _cache(row) else "" for row in rows},
        {row.environment.started[:10] for row in rows},
    )
    return ", ".join([*shown, *(value for values in texts if len(values) == 1 for value in values if value)])


def name_baseline(rows: Sequence[Row]) -> str:
    """Return the variant to which percentages refer, or `the baseline` if the runs have different ones."""
    names = {row.environment.baseline for row in rows}
    return names.pop() if len(names) == 1 else "the baseline"


FARTHEST = 4
"""A peak is drawn only if it is at most this many times as high as the fastest row."""


@dataclass(frozen=True)
class Peak:
    """The limits of a device in one precision.

    `gflops` is the arithmetic peak at the highest clock of any row. `bandwidth` is the rate of the memory at its
    highest clock in GB/s, or 0 if unknown. `reached` is the best that copies and f32 multiply-adds reached, if the run
    measured that.
    """

    label: str
    gflops: float
    tip: str
    bandwidth: float
    bandwidth_label: str
    precision: str
    reached: Peaks | None = None

    @property
    def ridge(self) -> float:
        """The intensity in FLOP per byte above which arithmetic, not memory, limits a kernel."""
        return self.gflops / self.bandwidth


def note_far_peaks(peaks: Sequence[Peak], fastest: float, unit: SpeedUnit) -> list[str]:
    """Return a sentence for each peak that is too far above the fastest row (in GFLOPS) to be drawn."""
    far = [peak for peak in peaks if peak.gflops > FARTHEST * fastest]
    return [f"Beyond the chart: the {peak.label}, {unit.format(peak.gflops)}." for peak in far]


def find_peaks(rows: Sequence[Row], unit: SpeedUnit) -> list[Peak]:
    """Find the known peaks of all devices and precisions of these rows."""
    fastest: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = row.environment.device_name(row.record.backend), row.record.problem.precision_name
        if not math.isnan(_peak(row)) and (key not in fastest or row.clock_hz > fastest[key].clock_hz):
            fastest[key] = row
    devices, precisions = {device for device, _ in fastest}, {precision for _, precision in fastest}
    return [
        _make_peak(row, [device] * (len(devices) > 1) + [precision] * (len(precisions) > 1), unit)
        for (device, precision), row in fastest.items()
    ]


def _peak(row: Row) -> float:
    return peak_flops(row.environment, row.record, row.clock_hz)


def _make_peak(row: Row, names: Sequence[str], unit: SpeedUnit) -> Peak:
    gflops, clock = _peak(row) / 1e9, f"{row.clock_hz / 1e9:.2f} GHz"
    label = f"{', '.join([*names, 'peak'])} at {clock}"
    device = row.environment.device_name(row.record.backend)
    speed = f"{unit.format(gflops)} in {row.record.problem.precision_name} at {clock}"
    memory = ", ".join([*(name for name in names if name == device), "DRAM"])
    tip, precision = f"Arithmetic peak of {device}\n{speed}", row.record.problem.precision_name
    bandwidth, reached = row.environment.bandwidth / 1e9, row.environment.peaks
    return Peak(label, gflops, tip, bandwidth, memory, precision, reached)


def take_reached_limits(peak: Peak, unit: SpeedUnit) -> Peak:
    """Replace the limits of a peak by those that the run measured, if it did."""
    if peak.reached is None:
        return peak
    bandwidth = peak.reached.copy / 1e9
    if peak.precision != "f32":
        return replace(peak, bandwidth=bandwidth)
    gflops = peak.reached.fma / 1e9
    tip = f"Multiply-adds in registers, measured\n{unit.format(gflops)}"
    return replace(peak, label=peak.label.replace("peak at", "FFMA at"), gflops=gflops, tip=tip, bandwidth=bandwidth)


def select_rows(comparisons: Sequence[Comparison], choices: Choices) -> list[Row]:
    """Select the ranked rows that match the choices. For a chart in percent, they must have a percentage.

    Raises UsageError if no row is left.
    """
    rows = [row for comparison in comparisons for row in comparison.rows]
    _require_known(choices.variants, {row.record.variant for row in rows})
    chosen = [row for row in rows if choices.include(row.record)]
    ranked = [row for row in chosen if row.ranked]
    if not ranked:
        raise UsageError(_explain_nothing(rows, chosen))
    _require_known([choices.highlight] if choices.highlight else [], {row.record.variant for row in ranked})
    drawn = [row for row in ranked if not choices.percent or not math.isnan(row.percent_of_baseline.value)]
    if not drawn:
        raise UsageError("nothing to draw in percent, because no row was compared with a baseline; leave out percent")
    return drawn


def _require_known(names: Iterable[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            held = nearest_or_all(name, sorted(known), "the results contain:", "gemmbench show")
            raise UsageError(f"no row of '{name}' to draw{held}")


def _explain_nothing(rows: Sequence[Row], chosen: Sequence[Row]) -> str:
    if not rows:
        return "nothing to draw: the results contain no rows of kernels"
    if not chosen:
        held = ", ".join(dict.fromkeys(str(row.record.problem) for row in rows))
        return f"nothing to draw: no row matches the choices; the results contain these problems: {held}"
    return f"nothing to draw: no row has a correct and plausible result ({_count_statuses(chosen)})"


def _count_statuses(rows: Sequence[Row]) -> str:
    counts = Counter(row.status if row.record.samples or row.status != "ok" else "not timed" for row in rows)
    return ", ".join(f"{count} {status}" for status, count in counts.items())


def note_unranked(comparisons: Sequence[Comparison], choices: Choices) -> list[str]:
    """Describe in a sentence the rows that ran but are not drawn because they are not ranked, if there are any."""
    rows = [row for comparison in comparisons for row in comparison.rows if choices.include(row.record)]
    unranked = [row for row in rows if not row.ranked and row.record.status != "skipped"]
    if not unranked:
        return []
    verb = "is" if len(unranked) == 1 else "are"
    return [f"Not drawn: {count_noun(len(unranked), 'row')} that {verb} not ranked ({_count_statuses(unranked)})."]


def pick_fastest(rows: Iterable[Row]) -> list[Row]:
    """Pick one row for each run, variant and problem: the winner that was measured again, or else the fastest."""
    alike: dict[tuple[str, str, Problem], list[Row]] = {}
    for row in rows:
        alike.setdefault((row.environment.run, row.record.variant, row.record.problem), []).append(row)
    return [best for each in alike.values() if (best := choose_fastest(each))]


def choose_problem(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the problem with the most variants or, among several, of the largest such problem."""
    problems: dict[Problem, list[Row]] = {}
    for row in rows:
        problems.setdefault(row.record.problem, []).append(row)
    return max(problems.values(), key=lambda rows: (len({row.record.variant for row in rows}), rows[0].record.flops))


def note_other_problems(rows: Sequence[Row], drawn: Sequence[Row]) -> list[str]:
    """Count in a sentence the problems of `rows` that are not drawn, and name the first, if there are any."""
    shown = {row.record.problem for row in drawn}
    others = [problem for problem in dict.fromkeys(row.record.problem for row in rows) if problem not in shown]
    if not others:
        return []
    named = ", ".join(map(str, others[:_MOST_NAMED]))
    count = count_noun(len(others), "other problem")
    return [f"Not drawn: {count} ({named}{', ...' if len(others) > _MOST_NAMED else ''})."]


_MOST_NAMED = 3


def make_series(
    rows: Sequence[Row], choices: Choices, make_point: Callable[[str, Row], Point], joined: bool = True
) -> tuple[Series, ...]:
    """Make styled series with a point for each row, from left to right. `make_point` receives the label and the row."""
    groups = group_series(rows)
    styles = choose_styles([members[0] for members in groups.values()])
    return tuple(
        Series(
            label,
            tuple(sorted((make_point(label, row) for row in members), key=lambda point: point.x)),
            style,
            joined=joined,
            muted=choices.mutes(members[0]),
        )
        for style, (label, members) in zip(styles, groups.items(), strict=True)
    )


@dataclass(frozen=True)
class SpeedUnit:
    """GFLOPS or TFLOPS. All speeds on a chart or page use the same unit."""

    name: str
    gflops: float

    def measure(self, row: Row) -> Interval:
        """Return the speed of a row. Its low end comes from the high end of the time."""
        work = row.record.flops / 1e9 / self.gflops
        return Interval(work / row.time.value, work / row.time.high, work / row.time.low)

    def format(self, gflops: float, digits: int = 4) -> str:
        """Format a speed such as `60.63 TFLOPS`."""
        return f"{format_number(gflops / self.gflops, digits)} {self.name}"


GFLOPS, TFLOPS = SpeedUnit("GFLOPS", 1), SpeedUnit("TFLOPS", 1000)
_MOST_GFLOPS = 10_000


def choose_unit(comparisons: Sequence[Comparison]) -> SpeedUnit:
    """Choose TFLOPS if a row of these runs reaches 10,000 GFLOPS, otherwise GFLOPS."""
    speeds = (row.gflops for comparison in comparisons for row in comparison.rows if row.ranked)
    return TFLOPS if max(speeds, default=0) >= _MOST_GFLOPS else GFLOPS


def row_tip(label: str, row: Row, unit: SpeedUnit) -> str:
    """Return lines for the row, its speed, its percentage of the baseline, and its configuration."""
    percent, baseline = row.percent_of_baseline, row.environment.baseline
    lines = [f"{label} at {row.record.problem.size}", f"{format_interval(unit.measure(row))} {unit.name}"]
    if not math.isnan(percent.value) and row.record.variant != baseline:
        lines.append(f"{format_interval(percent)} % of {baseline}")
    return "\n".join([*lines, *([row.record.configuration] if row.record.configuration else [])])
