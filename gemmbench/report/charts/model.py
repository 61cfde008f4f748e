"""What a chart shows, independent of how it is rendered. Every mark has the text of its tooltip."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Tick:
    """A labelled value of an axis."""

    value: float
    text: str


@dataclass(frozen=True)
class Axis:
    """A range of values, linear or logarithmic."""

    label: str
    low: float
    high: float
    ticks: tuple[Tick, ...]
    log: bool = False

    def position(self, value: float) -> float:
        """Where a value is on the axis: 0 at `low`, 1 at `high`."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Point:
    """A measured value; `low` and `high` are its 95 % interval, NaN if unknown."""

    x: float
    y: float
    tip: str
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Series:
    """Points of one color, marker and dash pattern (styles), in order of x; `joined` by a line."""

    label: str
    points: tuple[Point, ...]
    style: int
    joined: bool = True
    muted: bool = False

    @property
    def emphasized(self) -> bool:
        """The baseline's line is thicker than others."""
        return self.style < 0


@dataclass(frozen=True)
class Limit:
    """A line that no result can cross, from one (x, y) to another."""

    label: str
    start: tuple[float, float]
    end: tuple[float, float]
    tip: str


@dataclass(frozen=True)
class LinePlot:
    """Series over a common axis."""

    x: Axis
    y: Axis
    series: tuple[Series, ...]
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True)
class Chart:
    """A drawing with its words: `description` tells a reader who cannot see it what it shows."""

    title: str
    subtitle: str
    description: str
    plot: LinePlot
    notes: tuple[str, ...] = ()
