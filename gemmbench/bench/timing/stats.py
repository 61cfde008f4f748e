"""Statistics of interleaved rounds: times, paired ratios, intervals and verdicts.

Rounds come in mirrored pairs (a permutation, then its reverse), which cancels drift to first order. All pairs of a
block share the placement of operands and workspaces, the binding and the seed of the permutations, which would differ
in a repetition. Blocks are therefore independent, but samples of the same block are not. Each block counts as one
value, the median of its pair means, and intervals use Student's t on these values (Student, "The probable error of a
mean", Biometrika 6, 1908). Means over blocks are geometric.

Rounds end once an interval is narrow (`rounds`). Some intervals are narrow by luck, so each one is made a fifth wider.
In runs simulated from recorded blocks, the interval then contains the true value in 96 to 97 % of cases. For rows with
the most scattered blocks, it does so in 86 to 96 % (`benchmarks/intervals.py`). Processes also differ in ways that
blocks do not sample. Intervals of a single run do not include this difference, but a comparison of two runs adds it
(`report.repeatability`).
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

MIN_BLOCKS = 2
"""The smallest number of blocks for an interval. With so few, the interval is wide."""
LEVEL = 0.95
"""The confidence level, which is the fraction of intervals that should contain the true value."""
MARGIN = 0.01
WIDENING = 1.2
"""The factor by which intervals are wider than those from Student's t."""
_LEAST_OF_MODE = 3  # samples
_BISECTIONS = 52  # the number of bits in a double


class Round(NamedTuple):
    """A round and the block that it belongs to. Rounds are numbered across all blocks."""

    block: int
    number: int


Samples = Mapping[Round, float]
"""Seconds per launch."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval. With fewer than two blocks, `low` and `high` are NaN.

    `freedom` is the number of degrees of freedom of Student's t. It is infinite if the ends do not come from blocks.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    freedom: float = field(default=math.inf, compare=False)

    @property
    def known(self) -> bool:
        """Whether there were enough blocks for an interval."""
        return not math.isnan(self.low)

    @property
    def half_width(self) -> float:
        """The distance from the value to the farther end; NaN if unknown."""
        return max(self.high - self.value, self.value - self.low) if self.known else math.nan

    @property
    def spread(self) -> float:
        """Half the interval's width relative to the value; NaN if unknown. 0.005 means +- 0.5 %."""
        return (self.high - self.low) / 2 / self.value

    def scale(self, factor: float) -> Interval:
        """Return the estimate in a different unit."""
        return Interval(self.value * factor, self.low * factor, self.high * factor, self.freedom)

    def invert(self) -> Interval:
        """Return the estimate of the reciprocal."""
        return Interval(1 / self.value, 1 / self.high, 1 / self.low, self.freedom)

    def at_level(self, level: float) -> Interval:
        """Return the same positive estimate with an interval at a different level, such as 0.99."""
        power = t_quantile(self.freedom, level) / t_quantile(self.freedom)
        low, high = (self.value * (end / self.value) ** power for end in (self.low, self.high))
        return Interval(self.value, low, high, self.freedom)


def time_interval(samples: Samples) -> Interval:
    """Return the time of the samples, in their unit, with its interval.

    Without a mirrored pair, return their median.
    """
    middle = median(list(samples.values()))  # relative to the first value, so that equal samples have exactly that mean
    values = block_values({round_: sample / middle for round_, sample in samples.items()})
    return _estimate_mean([math.log(value) for value in values]).scale(middle) if values else Interval(middle)


def speed_ratio(samples: Samples, base: Samples) -> Interval:
    """Return the speed relative to `base` from the rounds that both have. 2 means half the time.

    Without a shared mirrored pair, the result is the ratio of the medians and has no interval.
    """
    shared = {round_: base[round_] / samples[round_] for round_ in samples if round_ in base}
    middle = median(list(shared.values()))
    values = block_values({round_: math.log(ratio / middle) for round_, ratio in shared.items()})
    if values:
        return _estimate_mean(values).scale(middle)
    return Interval(median(list(base.values())) / median(list(samples.values())))


def block_values(values: Samples) -> list[float]:
    """Return the median of the pair means of each block, in order. Blocks without a mirrored pair are left out."""
    blocks: dict[int, list[float]] = {}
    for round_ in sorted(values):
        mirror = Round(round_.block, round_.number + 1)
        if round_.number % 2 == 0 and mirror in values:
            blocks.setdefault(round_.block, []).append((values[round_] + values[mirror]) / 2)
    return [statistics.median(pairs) for pairs in blocks.values()]


def spread_of_blocks(samples: Samples) -> float:
    """Return how much longer the slowest block takes than the fastest, as a fraction; NaN for fewer than two blocks."""
    values = block_values(samples)
    return max(values) / min(values) - 1 if len(values) > 1 else math.nan


def _estimate_mean(logs: Sequence[float]) -> Interval:
    """Return the geometric mean of blocks, given their logarithms, with its interval if there are enough blocks."""
    mean, freedom = statistics.fmean(logs), len(logs) - 1
    if len(logs) < MIN_BLOCKS:
        return Interval(math.exp(mean))
    deviation = math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / freedom)
    reach = WIDENING * t_quantile(freedom) * deviation / math.sqrt(len(logs))
    return Interval(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach), freedom)


@functools.cache
def t_quantile(freedom: float, level: float = LEVEL) -> float:
    """Return the two-sided quantile of Student's t, or of the normal distribution if `freedom` is infinite.

    `level` is the probability. The quantile is found by bisection from the sums for whole degrees of freedom (M.
    Abramowitz and I. Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4).
    """
    if math.isinf(freedom):
        return statistics.NormalDist().inv_cdf((1 + level) / 2)
    low, high = 0.0, math.pi / 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _probability_within(middle, int(freedom)) < level else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _probability_within(angle: float, freedom: int) -> float:
    """Return the probability that Student's t lies within +- sqrt(freedom) tan(angle)."""
    sine, cosine, odd = math.sin(angle), math.cos(angle), freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for number in range(2 + odd, freedom - 1, 2):
        term *= cosine**2 * (number - 1) / number
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def unpaired_ratio(value: Interval, base: Interval, deviation: float = 0.0) -> Interval:
    """Return the ratio of `value` to `base`, two positive estimates from independent runs.

    The samples of two runs are not paired, so the two intervals are combined like variances, on logarithms. The
    distance from the ratio to each end is the square root of the sum of the squared distances to the two ends that
    contribute to it (G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a general
    approach", Statistics in Medicine 27, 2008). If the base is known exactly, pass an Interval whose ends equal its
    value. `deviation` is the relative standard deviation of differences between runs that neither interval includes.
    """
    ratio = value.value / base.value
    if not (value.known and base.known):
        return Interval(ratio)
    between = t_quantile(math.inf) * math.sqrt(2) * deviation
    down = math.hypot(math.log(value.value / value.low), math.log(base.high / base.value), between)
    up = math.hypot(math.log(value.high / value.value), math.log(base.value / base.low), between)
    return Interval(ratio, ratio * math.exp(-down), ratio * math.exp(up), min(value.freedom, base.freedom))


def verdict(ratio: Interval, margin: float = MARGIN) -> str:
    """Compare a speed ratio with 1 +- `margin`.

    Returns `faster` or `slower` if the whole interval is outside, `same` if it is inside, and `inconclusive` otherwise.
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
    """Return the values that are not NaN."""
    return [value for value in values if not math.isnan(value)]


def median(values: Sequence[float]) -> float:
    """Return the median, or NaN if there are no values."""
    return statistics.median(values) if values else math.nan


def quartiles(samples: Sequence[float]) -> tuple[float, float, float]:
    """The minimum and the lower and upper quartiles."""
    ordered = sorted(samples)
    return ordered[0], _interpolate(ordered, 0.25), _interpolate(ordered, 0.75)


def _interpolate(ordered: Sequence[float], share: float) -> float:
    """Return a quantile, rounded as in numpy.percentile.

    NumPy is not used because importing it would double the time of `list`.
    """
    position = (len(ordered) - 1) * share
    index = min(int(position), len(ordered) - 2)
    if index < 0:
        return ordered[0]
    step, part = ordered[index + 1] - ordered[index], position - index
    return ordered[index] + step * part if part < 0.5 else ordered[index + 1] - step * (1 - part)


def count_outliers(samples: Sequence[float]) -> int:
    """Return the number of samples more than 1.5 interquartile ranges outside the quartiles (Tukey)."""
    _, low, high = quartiles(samples)
    reach = 1.5 * (high - low)
    return sum(not low - reach <= sample <= high + reach for sample in samples)


def find_modes(samples: Sequence[float]) -> tuple[float, float] | None:
    """Return the medians of two modes if the largest gap between samples exceeds the range on both sides of it.

    A mode has at least three samples. Among sets of normally distributed samples, 2.5 % seem to have two modes if there
    are 10 samples, and 0.1 % if there are 16.
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
