"""The factors by which operand sets differ: A of set i is the first set's A times factor i.

Factors are powers of two, so that results differ by them exactly, and the signs and exponents that
decide how much power a multiplication takes stay as they are.
"""

from __future__ import annotations

import random
from functools import cache

_FACTORS = (1.0, -1.0, 2.0, -2.0)


@cache
def list_set_factors(count: int) -> tuple[float, ...]:
    """The factors of `count` sets: 1, then a fixed sequence without a period; neighbours differ."""
    chosen, rng = [1.0], random.Random(0)
    while len(chosen) < count:
        chosen.append(rng.choice([factor for factor in _FACTORS if factor != chosen[-1]]))
    return tuple(chosen)
