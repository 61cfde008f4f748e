"""Shows where the time of a whole job goes: copies to the device, the kernel, and copies back."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gemmbench.errors import UsageError
from gemmbench.report.charts.chart_model import Bar, BarPlot, Chart, Choices, Segment
from gemmbench.report.charts.chart_style import format_estimate, format_number, make_linear_axis
from gemmbench.report.comparison import Comparison, TransferRow

_UPLOAD, _KERNEL, _DOWNLOAD, _TOGETHER = 4, 0, 5, 2
_KEY = ((_UPLOAD, "upload"), (_KERNEL, "kernel"), (_DOWNLOAD, "download"))
_OVERLAP = (_TOGETHER, "copies and kernel overlapped")


def draw_transfers(comparisons: Sequence[Comparison], choices: Choices) -> Chart:
    """Draw a bar for each kernel and mode, in ms or in percent of its time. Raises UsageError."""
    rows = _select(comparisons, choices)
    problem = max((row.record.problem for row in rows), key=lambda problem: problem.flops)
    rows = [row for row in rows if row.record.problem == problem]
    groups = _name_groups(rows)
    bars = tuple(_make_bar(row, choices.percent, groups[row.environment.run, row.record.variant]) for row in rows)
    longest = max(bar.segments[-1].high for bar in bars)
    axis = make_linear_axis("% of the job's time" if choices.percent else "ms per job", longest)
    overlapped = any(segment.style == _TOGETHER for bar in bars for segment in bar.segments)
    plot = BarPlot(axis, bars, key=(*_KEY, _OVERLAP) if overlapped else _KEY)
    devices = ", ".join(dict.fromkeys(row.environment.device for row in rows))
    words = "; ".join(f"{bar.group} {bar.label} {bar.text}" for bar in bars)
    return Chart(
        choices.title or f"Copies and kernel at {problem.size}",
        f"{devices}, {problem.precision_name}. Percentages are shares of the job's time.",
        f"Time of a whole job with its copies: {words}.",
        plot,
    )


def _select(comparisons: Sequence[Comparison], choices: Choices) -> list[TransferRow]:
    rows = [row for each in comparisons for problem in each.transfers for row in problem.rows]
    if not rows:
        raise UsageError("nothing to draw: the results contain no transfers; measure them with run --with-transfers")
    chosen = [row for row in rows if choices.include(row.record) and row.record.status == "ok" and row.record.samples]
    if not chosen:
        names = (f"{row.record.variant} at {row.record.problem} ({row.record.status})" for row in rows)
        held = ", ".join(dict.fromkeys(names))
        raise UsageError(f"nothing to draw: no correct transfer matches the choices; the results contain {held}")
    return chosen


def _name_groups(rows: Sequence[TransferRow]) -> dict[tuple[str, str], str]:
    """Name the bars of each run and variant. If there are several runs, the name includes device and date."""
    several = len({row.environment.run for row in rows}) > 1
    return {
        (row.environment.run, row.record.variant): row.record.variant
        + (f", {row.environment.device}, {row.environment.started[:10]}" if several else "")
        for row in rows
    }


def _make_bar(row: TransferRow, percent: bool, group: str) -> Bar:
    unit = 100 / row.total.value if percent else 1e3
    segments, start = [], 0.0
    for style, name, seconds in _list_parts(row):
        end = start + seconds
        share = "" if style == _TOGETHER else f"{100 * seconds / row.total.value:.0f} %"
        segments.append(Segment(start * unit, end * unit, style, _tip(row, name, seconds, share), share))
        start = end
    low, high = (math.nan, math.nan) if percent else (row.total.low * unit, row.total.high * unit)
    return Bar(row.record.mode, tuple(segments), f"{_format_total(row)} ms", "", low, high, group=group)


def _tip(row: TransferRow, name: str, seconds: float, share: str) -> str:
    job = f"{row.record.variant}, {row.record.mode}: {_format_total(row)} ms"
    return f"{job}\n{name}: {_milliseconds(seconds)} ms{', ' * bool(share)}{share}"


def _format_total(row: TransferRow) -> str:
    return format_estimate(row.total.scale(1e3))


def _milliseconds(seconds: float) -> str:
    return format_number(1e3 * seconds, 3)


def _list_parts(row: TransferRow) -> list[tuple[int, str, float]]:
    """List the style, name and seconds of each part. If copies and kernel overlap, there is only one part."""
    parts = row.parts
    if math.isnan(parts.h2d + parts.kernel + parts.d2h):
        return [(*_OVERLAP, row.total.value)]
    return [(*key, seconds) for key, seconds in zip(_KEY, (parts.h2d, parts.kernel, parts.d2h), strict=True)]
