"""Which color, marker and dash pattern a series has: no two series differ in color only."""

from __future__ import annotations

from collections.abc import Sequence

from gemmbench.report.row import Row

COLORS = 6
MARKERS = ("circle", "square", "triangle", "diamond", "wedge", "pentagon", "star")
DASHES = ("", "6 3", "2 2.5", "9 3 2 3")


def choose_styles(rows: Sequence[Row]) -> list[int]:
    """A style for each series, given its first row: -1, -2 ... for baselines, 0, 1 ... for others."""
    styles: list[int] = []
    for row in rows:
        below = row.record.variant == row.environment.baseline
        count = sum((style < 0) == below for style in styles)
        styles.append(-1 - count if below else count)
    return styles


def color_of(style: int) -> int:
    """The index of the color, from 0; -1 for the color of text, which baselines have."""
    return style % COLORS if style >= 0 else -1


def marker_of(style: int) -> str:
    """The shape of the points."""
    return MARKERS[_index(style) % len(MARKERS)]


def dash_of(style: int) -> str:
    """The dash pattern as in SVG, `none` for a solid line."""
    return DASHES[(style // COLORS if style >= 0 else _index(style)) % len(DASHES)] or "none"


def _index(style: int) -> int:
    return style if style >= 0 else -1 - style
