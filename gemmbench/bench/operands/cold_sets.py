"""How many operand sets keep every launch cold."""

from __future__ import annotations

_LEAST_SETS, _MOST_SETS, _CACHE_FACTOR = 2, 1024, 4


def count_cold_sets(touched: int, set_bytes: int, last_level_cache: int, room: int) -> tuple[int, bool]:
    """The number of operand sets, and whether they keep every launch cold.

    A launch uses `touched` bytes of a set of `set_bytes`, and `room` is bytes available. The sets
    together are at least 4 times the last-level cache: at 2 times, random replacement still hits
    one time in five.
    """
    wanted = max(_LEAST_SETS, -(-_CACHE_FACTOR * last_level_cache // touched))
    possible = max(1, room // set_bytes)
    count = min(wanted, possible, _MOST_SETS)
    return count, count >= wanted
