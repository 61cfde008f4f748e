"""Formats numbers and names as text, for tables and sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gemmbench.bench.timing.stats import Interval

_KIB = 1024
_DIGITS, _DIGITS_ALONE, _LEAST, _MOST, _FINEST = 4, 3, 2, 5, 8
"""Significant digits: of exact figures, estimates without an interval, the fewest and most of others, and of widths."""


def number(value: float | None, digits: int = _DIGITS) -> str:
    """Format with significant digits and no exponent; integers in full. `-` stands for a missing or infinite number."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:.{max(0, _count_decimals(value, digits))}f}" if value else "0"


def with_interval(interval: Interval) -> str:
    """Format as `51.1 +- 0.06`: the digits that the interval supports, and the larger half of its width.

    An estimate without an interval has three digits. A width smaller than the eighth digit is shown as 0. A positive
    interval that is wider than its value is given by its ends, such as `0.4 to 7.2`.
    """
    if not interval.known:
        return number(interval.value, _DIGITS_ALONE)
    if interval.low > 0 and 2 * interval.half_width > interval.value:
        return f"{number(interval.low, _LEAST)} to {number(interval.high, _LEAST)}"
    half, decimals = interval.half_width, _count_decimals(interval.value, _FINEST)
    shown = _round(half, min(_count_decimals(half, 1), decimals)) if 2 * half > 10**-decimals else "0"
    return f"{number_within(interval.value, interval)} +- {shown}"


def interval_ends(interval: Interval) -> tuple[str, str]:
    """Format both ends of a known interval with as many decimals as its value."""
    decimals = _supported_decimals(interval.value, interval, _MOST)
    return _round(interval.low, decimals), _round(interval.high, decimals)


def number_within(value: float, source: Interval, most: int = _MOST) -> str:
    """Format a number that is proportional to the estimate `source` with the digits that its interval supports.

    The unit of the last digit is the largest power of ten that does not exceed the interval, so rounding stays inside
    it. There are at least two digits and at most `most`.
    """
    if not value or not math.isfinite(value) or not source.known:
        return number(value, _DIGITS_ALONE)
    return _round(value, _supported_decimals(value, source, most))


def _supported_decimals(value: float, source: Interval, most: int) -> int:
    width = abs(2 * source.half_width * value / source.value)
    supported = -math.floor(math.log10(width)) if width else _count_decimals(value, _DIGITS)
    return min(max(supported, _count_decimals(value, _LEAST)), _count_decimals(value, most))


def _round(value: float, decimals: int) -> str:
    """Round to a number of decimals. A negative number of decimals rounds to tens, hundreds and so on."""
    return f"{round(value, decimals):.{max(0, decimals)}f}"


def _count_decimals(value: float, digits: int) -> int:
    """Count the decimals of a number after rounding to significant digits.

    99.996 becomes 100.0, so it has one decimal. The count is negative for 1235 in two digits.
    """
    return digits - 1 - int(f"{value:.{digits - 1}e}".partition("e")[2])


def percent(share: float | None) -> str:
    """Format a share such as `75 %`; `-` if unknown."""
    return "-" if share is None else f"{100 * share:.0f} %"


def format_share(share: float) -> str:
    """Format a share in percent with one decimal if that is not zero: `5.1 %`, `3 %`."""
    percent = f"{100 * share + 0.0:.1f}".removesuffix(".0")
    return "0 %" if percent == "-0" else f"{percent} %"


def count_noun(count: int, noun: str) -> str:
    """`1 panel`, `8 panels`, `2 launches`."""
    ending = "" if count == 1 else "es" if noun.endswith(("ch", "s", "x")) else "s"
    return f"{count} {noun}{ending}"


def format_bytes(count: float) -> str:
    """`512 bytes`, `98.2 MiB`, `2 GiB`."""
    if count < _KIB:
        return f"{count:.0f} bytes"
    units = ("KiB", "MiB", "GiB", "TiB")
    power = min(int(math.log(count, _KIB)), len(units))
    value = count / _KIB**power
    return f"{number(value, 3) if value % 1 else f'{value:.0f}'} {units[power - 1]}"


def format_duration(seconds: float) -> str:
    """`8 s`, `1 min 40 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
