"""Speed in percent of the baseline's, such as percent of cuBLAS, and the ratio of clocks; both paired by rounds."""

from __future__ import annotations

import math

from gemmbench.bench.record import Environment, Record
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.report.row import is_too_good


def is_valid_baseline(environment: Environment, record: Record) -> bool:
    """The record is the baseline's, may be ranked, and has a time that the device can reach."""
    if record.variant != environment.baseline or not record.ranked or not record.samples:
        return False
    return not is_too_good(environment, record, stats.median(record.samples))


def percent_of_baseline(record: Record, baseline: Record) -> Interval:
    """The speed of a record with its 95 % interval; the interval is unknown if the two shared no rounds."""
    if record is baseline:
        return Interval(100.0)
    ratio = stats.speed_ratio(record.by_round, baseline.by_round)
    if baseline.backend != record.backend:
        return Interval(100 * ratio.value)  # not measured in the same rounds
    return ratio.scale(100)


def clock_ratio(record: Record, baseline: Record) -> float:
    """The SM clock relative to the baseline's: the median over the rounds of both; NaN if a clock is unknown."""
    if record.backend != baseline.backend:
        return math.nan
    clocks, base = _clocks_by_round(record), _clocks_by_round(baseline)
    return stats.median([clocks[round_] / base[round_] for round_ in clocks if round_ in base])


def _clocks_by_round(record: Record) -> dict[int, float]:
    """Nothing if the clock of a round is unknown: then the others cannot be assigned to theirs."""
    known = len(record.clocks_hz) == len(record.rounds)
    return dict(zip(record.rounds, record.clocks_hz, strict=True)) if known else {}
