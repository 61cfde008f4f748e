"""Numbers in charts: with separated thousands, and the digits that their intervals support."""

from __future__ import annotations

import math
import re

from gemmbench.bench.timing.stats import Interval
from gemmbench.report.text import number_within, with_interval


def format_number(value: float, digits: int = 4) -> str:
    """`51,640`, `98.3`: at most so many significant digits, integers in full; `-` if unknown."""
    if math.isnan(value):
        return "-"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_estimate(interval: Interval) -> str:
    """`51,640`: the value, with the digits that its interval supports, at most four."""
    return separate_thousands(number_within(interval.value, interval, 4))


def format_interval(interval: Interval) -> str:
    """`51,640 +- 60`; the value only, if the interval is unknown."""
    return separate_thousands(with_interval(interval))


def separate_thousands(text: str) -> str:
    """The text with commas in its numbers, not in their decimals."""
    return re.sub(r"(?<![.\d])\d{4,}", lambda found: f"{int(found[0]):,}", text)
