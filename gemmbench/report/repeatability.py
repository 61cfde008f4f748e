"""How much ratios and times of the same code differ between processes and runs, which no interval covers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval

RUN_TO_RUN = 0.005
"""The most that the ratio of the same code to a library differs between runs, if both take over 100 us."""
TIME_TO_TIME = 0.1
"""The most that a time of the same code differs between runs."""


@dataclass(frozen=True)
class SpeedClass:
    """A class of rows: the faster of the kernel and the baseline takes less than `limit` seconds.

    `deviation` is the standard deviation of their ratio between processes on one card, as a share
    (`benchmarks/intervals.py`).
    """

    name: str
    limit: float
    deviation: float


SPEED_CLASSES = (
    SpeedClass("under 100 us", 100e-6, 0.002),
    SpeedClass("from 100 us to 1 ms", 1e-3, 0.001),
    SpeedClass("over 1 ms", math.inf, 0.0005),
)


def find_speed_class(seconds: float) -> SpeedClass:
    """Find the class of a row by its own time or that of the baseline, whichever is shorter."""
    return next((each for each in SPEED_CLASSES if seconds < each.limit), SPEED_CLASSES[-1])


def explain_process_deviation(shortest: Iterable[float]) -> list[str]:
    """Explain in one line how much ratios differ between processes at these times; an empty list without times."""
    found = {find_speed_class(seconds) for seconds in shortest}
    classes = [each for each in SPEED_CLASSES if each in found]
    words = [
        f"{each.name} {'by' if index else 'vary by another'} {100 * each.deviation:g} %"
        for index, each in enumerate(classes)
    ]
    line = f"Between processes, ratios of kernels {', '.join(words)} (one standard deviation)."
    return [line] if classes else []


def compare_ratios(value: Interval, base: Interval, seconds: float) -> Interval:
    """Return `value` divided by `base`, two ratios to a baseline that were measured in separate processes.

    The interval covers the differences between processes. `seconds` is the shortest time of a kernel or baseline.
    """
    return stats.unpaired_ratio(value, base, find_speed_class(seconds).deviation)


def widen(ratio: Interval, share: float) -> Interval:
    """Widen the interval of a ratio by a share at both ends."""
    return Interval(ratio.value, ratio.low * (1 - share), ratio.high * (1 + share), ratio.freedom)
