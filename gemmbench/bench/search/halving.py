"""Successive halving: which configurations go on to the next heat, and which are as good as the best.

After K. Jamieson and A. Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization"
(AISTATS 2016), with one difference: what ranks in the slower half stays while its interval reaches the best.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from gemmbench.bench.timing.stats import Interval

FINALISTS = 8
DOUBT = 0.05
"""How far a time may be off, as a share, where there are too few blocks for an interval."""

K = TypeVar("K")


def choose_survivors(times: Mapping[K, Interval], least: int = FINALISTS) -> list[K]:
    """What is measured in the next heat, the fastest first: the faster half, and what may be as fast as the best.

    At least `least` stay. `times` are seconds.
    """
    ranked = rank(times)
    if len(ranked) <= least:
        return ranked
    best = _find_high_end(times[ranked[0]])
    half = max(least, (len(ranked) + 1) // 2)
    return ranked[:half] + [key for key in ranked[half:] if _find_low_end(times[key]) <= best]


def rank(times: Mapping[K, Interval]) -> list[K]:
    """The keys, the fastest first."""
    return sorted(times, key=lambda key: times[key].value)


def _find_low_end(time: Interval) -> float:
    return time.low if time.known else time.value * (1 - DOUBT)


def _find_high_end(time: Interval) -> float:
    return time.high if time.known else time.value * (1 + DOUBT)
