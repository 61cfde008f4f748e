"""Labels moved apart."""

from __future__ import annotations

from collections.abc import Sequence


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions at least `gap` apart within low to high (if they fit), moved as little as possible.

    Neighbors that would overlap form a block around the mean of what they want (pool adjacent
    violators).
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    blocks: list[list[float]] = []  # what the members want, less their offset in the block
    for rank, index in enumerate(order):
        blocks.append([wanted[index] - rank * gap])
        while len(blocks) > 1 and _mean(blocks[-2]) > _mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    free = [_mean(block) for block in blocks for _ in block]
    placed = [min(max(start, low), max(low, high - (len(order) - 1) * gap)) for start in free]
    positions = [0.0] * len(wanted)
    for rank, index in enumerate(order):
        positions[index] = placed[rank] + rank * gap
    return positions


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
