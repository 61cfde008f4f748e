"""Speed in percent of the baseline's and of the best library's, and the ratio of clocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from gemmbench.bench.record import Environment, Record
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.report.row import Row, is_too_good


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


_CUBLAS, _CUBLASLT = "cublas", "cublaslt"


def compare_with_best_library(rows: Sequence[Row]) -> list[Row]:
    """The rows of one problem, each with its speed in percent of the better of cuBLAS and cuBLASLt.

    Only if cuBLAS is the baseline, in the same rounds as every row, and cuBLASLt has a right row with the class of its
    precision. Of several algorithms, the one that was measured again after it was chosen counts.
    """
    lt = [row for row in rows if row.record.variant == _CUBLASLT and row.ranked]
    chosen = [row for row in lt if row.record.phase == "final"] or lt
    known = [row for row in chosen if not math.isnan(row.percent_of_baseline.value)]
    if not known or rows[0].environment.baseline != _CUBLAS:
        return list(rows)
    best = max((row.percent_of_baseline for row in known), key=lambda percent: percent.value)
    if best.value <= 100:
        return [replace(row, percent_of_best=row.percent_of_baseline) for row in rows]
    return [replace(row, percent_of_best=_relate(row.percent_of_baseline, best)) for row in rows]


def _relate(percent: Interval, best: Interval) -> Interval:
    """A percentage of the baseline as one of the best library; that of the best one itself is 100."""
    if percent is best:
        return Interval(100.0)
    if percent == Interval(100.0):  # the baseline itself
        return Interval(1e4 / best.value, 1e4 / best.high, 1e4 / best.low)
    return stats.unpaired_ratio(percent, best).scale(100)


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
