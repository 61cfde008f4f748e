"""Numbers as text, for tables and sentences."""

from __future__ import annotations

import math

from gemmbench.bench.timing.stats import Interval


def number(value: float | None) -> str:
    """Four significant digits without an exponent; `-` for a number that does not exist."""
    if value is None or math.isnan(value):
        return "-"
    if value == 0:
        return "0"
    exponent = int(f"{value:.3e}".partition("e")[2])  # of the rounded number: 99.996 is 100.0
    return f"{value:.{max(0, 3 - exponent)}f}"


def with_interval(interval: Interval) -> str:
    """`98.31 [98.02, 98.60]`; the value only, if the interval is unknown."""
    if not interval.known:
        return number(interval.value)
    return f"{number(interval.value)} [{number(interval.low)}, {number(interval.high)}]"


def percent(share: float | None) -> str:
    """A share as `75 %`; `-` if unknown."""
    return "-" if share is None else f"{100 * share:.0f} %"


def count_noun(count: int, noun: str) -> str:
    """`1 panel`, `8 panels`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
