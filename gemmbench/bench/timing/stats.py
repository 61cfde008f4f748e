"""Statistics of interleaved rounds: times, paired ratios, their intervals, verdicts.

Rounds come in mirrored pairs (a permutation, then its reverse), which cancels drift to first order.
A block of pairs shares what a repetition would change: where the operands lie, the binding and the
seed of the permutations. Blocks are independent, samples of one block are not. So a block counts as
one value, the median of its pair means, and an interval is that of Student's t on these values
(Student, "The probable error of a mean", Biometrika 6, 1908). The mean of blocks is that of their logarithms.

Rounds end once an interval is narrow (`stopping`), so some of those that end are narrow by luck. Where
blocks are normally distributed, intervals of t then hold the truth in only 92.5 to 95.0 % of runs
(`benchmarks/early_ends.py`). So each interval is made a fifth wider; then identical code is covered in
96.0 to 97.7 % of simulated runs. Something differs between processes that blocks do not sample; a
comparison of two runs adds it (`report.differences.run_differences`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

MIN_BLOCKS = 5
"""Blocks that an interval needs."""
MARGIN = 0.01
_T = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)
"""The 97.5 % quantiles of Student's t with 1 to 10 degrees of freedom."""
_NORMAL = 1.959964
WIDENING = 1.2
"""How much wider intervals are than those of Student's t."""
_LEAST_OF_MODE = 3  # samples


class Round(NamedTuple):
    """A round and the block that it belongs to; rounds are numbered over all blocks."""

    block: int
    number: int


Samples = Mapping[Round, float]
"""Seconds per launch."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval; low and high are NaN with fewer than 5 blocks."""

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def known(self) -> bool:
        """Whether there were enough blocks for an interval."""
        return not math.isnan(self.low)

    @property
    def half_width(self) -> float:
        """The larger distance from the value to an end; NaN if unknown."""
        return max(self.high - self.value, self.value - self.low) if self.known else math.nan

    @property
    def spread(self) -> float:
        """Half the interval's width relative to the value: 0.005 is +- 0.5 %; NaN if unknown."""
        return (self.high - self.low) / 2 / self.value

    def scale(self, factor: float) -> Interval:
        """The same estimate in another unit."""
        return Interval(self.value * factor, self.low * factor, self.high * factor)


def time_interval(samples: Samples) -> Interval:
    """The time of samples, in their unit, with its interval. Without a mirrored pair it is their median."""
    middle = median(list(samples.values()))  # relative to it, so that equal samples have exactly that mean
    values = block_values({round_: sample / middle for round_, sample in samples.items()})
    return _estimate_mean([math.log(value) for value in values]).scale(middle) if values else Interval(middle)


def speed_ratio(samples: Samples, base: Samples) -> Interval:
    """The speed relative to `base`, from the rounds of both: 2 means half the time.

    Without a shared mirrored pair it is the ratio of the medians, with no interval.
    """
    shared = {round_: base[round_] / samples[round_] for round_ in samples if round_ in base}
    middle = median(list(shared.values()))
    values = block_values({round_: math.log(ratio / middle) for round_, ratio in shared.items()})
    if values:
        return _estimate_mean(values).scale(middle)
    return Interval(median(list(base.values())) / median(list(samples.values())))


def block_values(values: Samples) -> list[float]:
    """The median of the pair means of each block, in order; none for a block without a mirrored pair."""
    blocks: dict[int, list[float]] = {}
    for round_ in sorted(values):
        mirror = Round(round_.block, round_.number + 1)
        if round_.number % 2 == 0 and mirror in values:
            blocks.setdefault(round_.block, []).append((values[round_] + values[mirror]) / 2)
    return [statistics.median(pairs) for pairs in blocks.values()]


def spread_of_blocks(samples: Samples) -> float:
    """How much longer the slowest block takes than the fastest, as a share; NaN with fewer than two blocks."""
    values = block_values(samples)
    return max(values) / min(values) - 1 if len(values) > 1 else math.nan


def _estimate_mean(logs: Sequence[float]) -> Interval:
    """The exponential of the mean of blocks, with the interval of Student's t if there are enough."""
    mean = statistics.fmean(logs)
    if len(logs) < MIN_BLOCKS:
        return Interval(math.exp(mean))
    deviation = math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / (len(logs) - 1))
    reach = WIDENING * t_quantile(len(logs) - 1) * deviation / math.sqrt(len(logs))
    return Interval(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach))


def t_quantile(freedom: int) -> float:
    """The 97.5 % quantile of Student's t, to four digits.

    Above 10 degrees of freedom by the expansion of Cornish and Fisher (M. Abramowitz and I. Stegun,
    "Handbook of Mathematical Functions", 26.7.5).
    """
    if freedom <= len(_T):
        return _T[freedom - 1]
    z, n = _NORMAL, freedom
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / n + second / n**2 + third / n**3


def unpaired_ratio(value: Interval, base: Interval, deviation: float = 0.0) -> Interval:
    """`value` relative to `base`, two positive estimates from independent runs.

    Nothing pairs the samples of two runs, so the two intervals are combined as variances add, on
    logarithms: each end is as far from the ratio as the root of the sum of the squared distances of
    the two ends that push it there (G. Y. Zou and A. Donner, "Construction of confidence limits
    about effect measures: a general approach", Statistics in Medicine 27, 2008). A base known
    exactly is an Interval whose ends are its value. `deviation` is the standard deviation, as a share,
    of what differs between runs and is in neither interval.
    """
    ratio = value.value / base.value
    if not (value.known and base.known):
        return Interval(ratio)
    between = _NORMAL * math.sqrt(2) * deviation
    down = math.hypot(math.log(value.value / value.low), math.log(base.high / base.value), between)
    up = math.hypot(math.log(value.high / value.value), math.log(base.value / base.low), between)
    return Interval(ratio, ratio * math.exp(-down), ratio * math.exp(up))


def verdict(ratio: Interval, margin: float = MARGIN) -> str:
    """How a speed ratio compares with 1 +- `margin`.

    `faster` or `slower` if the whole interval is outside, `same` if it is inside, otherwise
    `inconclusive`.
    """
    if not ratio.known:
        return "inconclusive"
    if ratio.low > 1 + margin:
        return "faster"
    if ratio.high < 1 - margin:
        return "slower"
    inside = ratio.low >= 1 - margin and ratio.high <= 1 + margin
    return "same" if inside else "inconclusive"


def drop_unknown(values: Iterable[float]) -> list[float]:
    """The values that are not NaN."""
    return [value for value in values if not math.isnan(value)]


def median(values: Sequence[float]) -> float:
    """The median; NaN if there are no values."""
    return statistics.median(values) if values else math.nan


def quartiles(samples: Sequence[float]) -> tuple[float, float, float]:
    """Minimum, lower and upper quartile."""
    ordered = sorted(samples)
    return ordered[0], _interpolate(ordered, 0.25), _interpolate(ordered, 0.75)


def _interpolate(ordered: Sequence[float], share: float) -> float:
    """The quantile, with the rounding of numpy.percentile; importing NumPy would double the time of `list`."""
    position = (len(ordered) - 1) * share
    index = min(int(position), len(ordered) - 2)
    if index < 0:
        return ordered[0]
    step, part = ordered[index + 1] - ordered[index], position - index
    return ordered[index] + step * part if part < 0.5 else ordered[index + 1] - step * (1 - part)


def count_outliers(samples: Sequence[float]) -> int:
    """The number of samples more than 1.5 interquartile ranges outside the quartiles (Tukey)."""
    _, low, high = quartiles(samples)
    reach = 1.5 * (high - low)
    return sum(not low - reach <= sample <= high + reach for sample in samples)


def find_modes(samples: Sequence[float]) -> tuple[float, float] | None:
    """The medians of two modes, if the samples have two: the largest gap exceeds the range of either mode.

    A mode has at least three samples. Of normally distributed samples, 2.5 % seem to have two modes
    with 10 of them, 0.1 % with 16.
    """
    ordered = sorted(samples)
    splits = range(_LEAST_OF_MODE, len(ordered) - _LEAST_OF_MODE + 1)
    split = max(splits, key=lambda number: ordered[number] - ordered[number - 1], default=0)
    if not split:
        return None
    low, high = ordered[:split], ordered[split:]
    gap = high[0] - low[-1]
    two = gap > max(low[-1] - low[0], high[-1] - high[0])
    return (statistics.median(low), statistics.median(high)) if two else None
