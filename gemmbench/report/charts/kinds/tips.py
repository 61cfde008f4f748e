"""The text of tooltips: what a row measured, with its interval."""

from __future__ import annotations

import math

from gemmbench.bench.timing.stats import Interval
from gemmbench.report.charts.numbers import format_interval
from gemmbench.report.row import Row


def gflops_interval(row: Row) -> Interval:
    """The speed in GFLOPS; the low end belongs to the high end of the time."""
    work = row.record.flops / 1e9
    return Interval(row.gflops, work / row.time.high, work / row.time.low)


def row_tip(label: str, row: Row) -> str:
    """A line each for the row, its speed, its percent of the baseline and its configuration."""
    percent, baseline = row.percent_of_baseline, row.environment.baseline
    lines = [f"{label} at {row.record.problem.size}", f"{format_interval(gflops_interval(row))} GFLOPS"]
    if not math.isnan(percent.value) and row.record.variant != baseline:
        lines.append(f"{format_interval(percent)} % of {baseline}")
    return "\n".join([*lines, *([row.record.configuration] if row.record.configuration else [])])
