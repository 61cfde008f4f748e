"""Statistics of interleaved rounds: medians, bootstrap intervals, paired ratios, verdicts.

Rounds come in mirrored pairs (a permutation, then its reverse), which cancels drift to first order.
Therefore pairs are resampled, not samples (B. Efron, "Bootstrap methods: another look at the
jackknife", 1979; percentile intervals).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

MIN_PAIRS = 5
MARGIN = 0.01
_RESAMPLES = 4000
_COVERAGE = (2.5, 97.5)


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval; low and high are NaN with fewer than 5 mirrored pairs."""

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def known(self) -> bool:
        """Whether there were enough pairs for an interval."""
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


def median_interval(samples: Mapping[int, float]) -> Interval:
    """The median of samples by round, in their unit, with its interval."""
    value = float(np.median(list(samples.values())))
    pairs = _mirrored_pairs(samples)
    if len(pairs) < MIN_PAIRS:
        return Interval(value)
    table = np.array([[samples[first], samples[second]] for first, second in pairs])
    drawn = table[_draw_pairs(len(pairs))].reshape(_RESAMPLES, -1)
    low, high = np.percentile(np.median(drawn, axis=1), _COVERAGE)
    return Interval(value, float(low), float(high))


def speed_ratio(samples: Mapping[int, float], base: Mapping[int, float]) -> Interval:
    """The speed relative to `base`, from the rounds of both: 2 means half the time.

    Without a shared mirrored pair it is the ratio of the medians, with no interval.
    """
    shared = {round_: math.log(base[round_] / samples[round_]) for round_ in samples if round_ in base}
    pairs = _mirrored_pairs(shared)
    if not pairs:
        return Interval(float(np.median(list(base.values())) / np.median(list(samples.values()))))
    logs = np.array([(shared[first] + shared[second]) / 2 for first, second in pairs])
    value = math.exp(float(np.median(logs)))
    if len(pairs) < MIN_PAIRS:
        return Interval(value)
    low, high = np.exp(np.percentile(np.median(logs[_draw_pairs(len(pairs))], axis=1), _COVERAGE))
    return Interval(value, float(low), float(high))


def unpaired_ratio(value: Interval, base: Interval) -> Interval:
    """`value` relative to `base`, two positive estimates from independent runs.

    Nothing pairs the samples of two runs, so the two intervals are combined as variances add, on
    logarithms: each end is as far from the ratio as the root of the sum of the squared distances of
    the two ends that push it there (G. Y. Zou and A. Donner, "Construction of confidence limits
    about effect measures: a general approach", Statistics in Medicine 27, 2008). A base known
    exactly is an Interval whose ends are its value. What differs from run to run is not in it.
    """
    ratio = value.value / base.value
    if not (value.known and base.known):
        return Interval(ratio)
    down = math.hypot(math.log(value.value / value.low), math.log(base.high / base.value))
    up = math.hypot(math.log(value.high / value.value), math.log(base.value / base.low))
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


def median(values: Sequence[float]) -> float:
    """The median; NaN if there are no values."""
    return statistics.median(values) if values else math.nan


def quartiles(samples: Sequence[float]) -> tuple[float, float, float]:
    """Minimum, lower and upper quartile."""
    low, high = np.percentile(samples, (25, 75))
    return float(min(samples)), float(low), float(high)


def count_outliers(samples: Sequence[float]) -> int:
    """The number of samples more than 1.5 interquartile ranges outside the quartiles (Tukey)."""
    _, low, high = quartiles(samples)
    reach = 1.5 * (high - low)
    return sum(not low - reach <= sample <= high + reach for sample in samples)


def _mirrored_pairs(samples: Mapping[int, float]) -> list[tuple[int, int]]:
    """The pairs of rounds 2p and 2p + 1 that both have a sample."""
    return [(first, first + 1) for first in sorted(samples) if first % 2 == 0 and first + 1 in samples]


def _draw_pairs(count: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, count, (_RESAMPLES, count))
