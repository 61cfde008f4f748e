"""Axes, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gemmbench.report.charts.model import Axis, Tick
from gemmbench.report.charts.numbers import format_number

_STEPS = (1, 2, 2.5, 5, 10)


def make_linear_axis(label: str, highest: float, count: int = 6) -> Axis:
    """From 0 to a little above `highest`, with about `count` ticks."""
    step = _round_step(highest / count)
    ticks = [index * step for index in range(math.floor(highest / step * (1 + 1e-9)) + 1)]
    return Axis(label, 0, highest * 1.07, tuple(Tick(value, format_number(value)) for value in ticks))


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in _STEPS if step * power >= least * (1 - 1e-9))


def make_log_axis(label: str, low: float, high: float) -> Axis:
    """Logarithmic, with ticks at powers of ten, and at 2 and 5 times these if there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1,) if last - first > 4 else (1, 2, 5)
    values = [step * 10.0**exponent for exponent in range(first, last + 1) for step in steps]
    ticks = tuple(Tick(value, format_number(value)) for value in values if low <= value <= high)
    return Axis(label, low, high, ticks, log=True)


def make_size_axis(label: str, sizes: Sequence[int]) -> Axis:
    """Logarithmic, with ticks at the powers of two, or at the sizes if these hold fewer than two powers."""
    low, high = min(sizes), max(sizes)
    powers = [2**exponent for exponent in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)]
    shown = powers if len(powers) > 1 else sorted(set(sizes))
    room = (high / low) ** 0.03
    return Axis(label, low / room, high * room, tuple(Tick(value, str(value)) for value in shown), log=True)
