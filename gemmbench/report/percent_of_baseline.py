"""Speeds as a percentage of the baseline and of the best library, and the ratio of clocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from gemmbench.bench.record import Environment, Record
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.report.row import Row, is_too_good


def is_valid_baseline(environment: Environment, record: Record) -> bool:
    """Return whether this is the baseline's record, may be ranked, and has a time that is possible on the device."""
    if record.variant != environment.baseline or not record.ranked or not record.samples:
        return False
    return not is_too_good(environment, record, stats.median(record.samples))


def percent_of_baseline(record: Record, baseline: Record) -> Interval:
    """Return the speed of a record with its 95 % interval, which is unknown if the two shared no rounds."""
    if record is baseline:
        return Interval(100.0)
    ratio = stats.speed_ratio(record.by_round, baseline.by_round)
    if baseline.backend != record.backend:
        return Interval(100 * ratio.value)  # not measured in the same rounds
    return ratio.scale(100)


_CUBLAS, _CUBLASLT, _GROUPED = "cublas", "cublaslt", "cublas_grouped"


def compare_with_best_library(rows: Sequence[Row]) -> list[Row]:
    """Add to each row of a problem its speed as a percentage of the better of cuBLAS and cuBLASLt.

    Nothing is added unless cuBLAS is the baseline and cuBLASLt has a correct, ranked row that shares rounds with it. If
    an algorithm of cuBLASLt was measured again after it was chosen, only that measurement counts. Of groups, the call
    of cuBLAS for all groups counts as well.
    """
    lt = [row for row in rows if row.record.variant == _CUBLASLT and row.ranked]
    chosen = [row for row in lt if row.record.phase == "final"] or lt
    chosen += [row for row in rows if row.record.variant == _GROUPED and row.ranked]
    known = [row for row in chosen if not math.isnan(row.percent_of_baseline.value)]
    if not known or rows[0].environment.baseline != _CUBLAS:
        return list(rows)
    best = max((row.percent_of_baseline for row in known), key=lambda percent: percent.value)
    if best.value <= 100:
        return [replace(row, percent_of_best=row.percent_of_baseline) for row in rows]
    return [replace(row, percent_of_best=_relate(row.percent_of_baseline, best)) for row in rows]


def _relate(percent: Interval, best: Interval) -> Interval:
    """Convert a percentage of the baseline to one of the best library. The best library itself gets 100."""
    if percent is best:
        return Interval(100.0)
    if percent == Interval(100.0):  # the baseline itself
        return Interval(1e4 / best.value, 1e4 / best.high, 1e4 / best.low)
    return stats.unpaired_ratio(percent, best).scale(100)


def clock_ratio(record: Record, baseline: Record) -> float:
    """Return the median ratio of the SM clock to that of the baseline in the same rounds; NaN if a clock is unknown."""
    if record.backend != baseline.backend:
        return math.nan
    clocks, base = _clocks_by_round(record), _clocks_by_round(baseline)
    return stats.median([clocks[round_] / base[round_] for round_ in clocks if round_ in base])


def _clocks_by_round(record: Record) -> dict[int, float]:
    """Return the clock of each round. If one is unknown, return none, since the others cannot be assigned to rounds."""
    known = len(record.clocks_hz) == len(record.rounds)
    return dict(zip(record.rounds, record.clocks_hz, strict=True)) if known else {}
