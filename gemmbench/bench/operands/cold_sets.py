"""How many operand sets keep every launch cold."""

from __future__ import annotations

from gemmbench.planning.plans.plan import Target

CACHE_FACTOR = 4
"""Operand sets that take this many times the last-level cache keep every launch cold."""
LEAST_SETS = 2
MOST_SETS = 1024
_SHARE_OF_MEMORY = 0.8
_MOST_ON_HOST = 512 << 20
"""Bytes of operand sets on a CPU: a virtual machine may see a host's cache of hundreds of MB."""


def find_room(target: Target) -> int:
    """Bytes that the operand sets of a batch may take on a device."""
    room = int(target.memory * _SHARE_OF_MEMORY)
    return room if target.is_gpu else min(room, _MOST_ON_HOST)


def count_cold_sets(touched: int, set_bytes: int, last_level_cache: int, room: int) -> tuple[int, bool]:
    """The number of operand sets, and whether they keep every launch cold.

    A launch uses `touched` bytes of a set of `set_bytes`, and `room` is bytes available. The sets
    together are at least 4 times the last-level cache: at 2 times, random replacement still hits
    one time in five.
    """
    wanted = max(LEAST_SETS, -(-CACHE_FACTOR * last_level_cache // touched))
    possible = max(1, room // set_bytes)
    count = min(wanted, possible, MOST_SETS)
    return count, count * touched >= CACHE_FACTOR * last_level_cache
