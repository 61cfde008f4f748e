"""How much ratios and times of the same code differ between processes and runs, which no interval contains."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval

RUN_TO_RUN = 0.005
"""How much the ratio of the same code to a library differs between runs at most, where both take over 100 us."""
TIME_TO_TIME = 0.1
"""How much a time of the same code differs between runs at most."""


@dataclass(frozen=True)
class SpeedClass:
    """Rows of which the kernel or the baseline, whichever is faster, takes less than `limit` seconds.

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
    """The class of a row by its time or the baseline's, whichever is shorter."""
    return next((each for each in SPEED_CLASSES if seconds < each.limit), SPEED_CLASSES[-1])


def explain_process_deviation(shortest: Iterable[float]) -> list[str]:
    """One line on what differs between processes, for rows with these seconds; none without rows."""
    found = {find_speed_class(seconds) for seconds in shortest}
    classes = [each for each in SPEED_CLASSES if each in found]
    words = [
        f"{each.name} {'by' if index else 'vary by another'} {100 * each.deviation:g} %"
        for index, each in enumerate(classes)
    ]
    line = f"Between processes, ratios of kernels {', '.join(words)} (one standard deviation)."
    return [line] if classes else []


def compare_ratios(value: Interval, base: Interval, seconds: float) -> Interval:
    """`value` relative to `base`: ratios of two rows to their baselines, measured in separate processes.

    The interval covers what differs between processes; `seconds` is the shortest time of a kernel or baseline.
    """
    return stats.unpaired_ratio(value, base, find_speed_class(seconds).deviation)


def widen(ratio: Interval, share: float) -> Interval:
    """The ratio with both ends moved outwards by a share."""
    return Interval(ratio.value, ratio.low * (1 - share), ratio.high * (1 + share), ratio.freedom)
