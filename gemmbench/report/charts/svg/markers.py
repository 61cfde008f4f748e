"""The shapes of points."""

from __future__ import annotations

import math


def marker_path(name: str, x: float, y: float, radius: float = 4.2) -> str:
    """A closed path around (x, y); shapes have about the same area."""
    if name == "circle":
        arc = f"a{radius:g},{radius:g} 0 1 0"
        return f"M{x - radius:.2f},{y:.2f} {arc} {2 * radius:g},0 {arc} {-2 * radius:g},0 Z"
    points = [_corner(x, y, radius * reach, turn) for turn, reach in _CORNERS[name]]
    return f"M{' L'.join(points)} Z"


def _corner(x: float, y: float, reach: float, turn: float) -> str:
    """At a share of a turn, clockwise from the top."""
    angle = 2 * math.pi * turn
    return f"{x + reach * math.sin(angle):.2f},{y - reach * math.cos(angle):.2f}"


def _polygon(count: int, reach: float, turn: float = 0.0) -> list[tuple[float, float]]:
    return [(turn + index / count, reach) for index in range(count)]


_CORNERS = {
    "square": _polygon(4, 1.25, 0.125),
    "triangle": _polygon(3, 1.45),
    "diamond": _polygon(4, 1.35),
    "wedge": _polygon(3, 1.45, 0.5),
    "pentagon": _polygon(5, 1.2),
    "star": [(index / 10, 1.6 if index % 2 == 0 else 0.7) for index in range(10)],
}
