"""What a chart shows, independent of how it is drawn, and what a user may choose of it.

Every mark has the text of its tooltip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gemmbench.bench.record import Result
from gemmbench.report.row import Row


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The choices of all kinds of charts; an empty one leaves the choice to the chart.

    `size` is one as in tables (`4096` or `1024x768x512`), `variants` are those drawn. `x` and `y`
    are parameters. `percent` draws percent of the baseline (or shares) instead of speeds (or
    times), and `highlight` names the variant that stands out.
    """

    size: str = ""
    precision: str = ""
    layout: str = ""
    variants: tuple[str, ...] = ()
    x: str = ""
    y: str = ""
    percent: bool = False
    highlight: str = ""
    title: str = ""

    @property
    def given(self) -> set[str]:
        """The names of the choices that were made."""
        return {name for name in self.__dataclass_fields__ if getattr(self, name)}

    def include(self, record: Result) -> bool:
        """The record is of a chosen variant and problem."""
        problem = record.problem
        return (
            (not self.variants or record.variant in self.variants)
            and self.size in ("", problem.size)
            and self.precision in ("", problem.precision_name)
            and self.layout in ("", problem.layout)
        )

    def mutes(self, row: Row) -> bool:
        """Another variant is highlighted, so that this row steps back, unless it is the baseline's."""
        return self.highlight not in ("", row.record.variant) and row.record.variant != row.environment.baseline


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
class Segment:
    """A part of a bar, in the color of a style."""

    low: float
    high: float
    style: int
    tip: str
    text: str = ""


@dataclass(frozen=True)
class Bar:
    """Segments next to each other. `text` follows the end, `note` is in a column on the right.

    `low` and `high` are a 95 % interval.
    """

    label: str
    segments: tuple[Segment, ...]
    text: str = ""
    note: str = ""
    low: float = math.nan
    high: float = math.nan
    muted: bool = False
    emphasized: bool = False
    group: str = ""


@dataclass(frozen=True)
class Guide:
    """A line across all bars."""

    value: float
    label: str
    tip: str


@dataclass(frozen=True)
class BarPlot:
    """Horizontal bars from top to bottom.

    `key` names the styles of segments, `note_label` what the notes of the bars are.
    """

    axis: Axis
    bars: tuple[Bar, ...]
    guides: tuple[Guide, ...] = ()
    key: tuple[tuple[int, str], ...] = ()
    note_label: str = ""


@dataclass(frozen=True)
class Cell:
    """A value in a column and a row, both counted from 0."""

    column: int
    row: int
    value: float
    text: str
    tip: str
    best: bool = False


@dataclass(frozen=True)
class HeatMap:
    """Cells whose color goes from the least value to the greatest; a missing cell was not measured."""

    x_label: str
    y_label: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[Cell, ...]
    unit: str

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest value."""
        values = [cell.value for cell in self.cells]
        return min(values), max(values)

    @property
    def range_texts(self) -> tuple[str, str]:
        """The texts of the cells with the least and the greatest value."""
        ordered = sorted(self.cells, key=lambda cell: cell.value)
        return ordered[0].text, ordered[-1].text

    def share(self, value: float) -> float:
        """Where a value is between the least, 0, and the greatest, 1."""
        low, high = self.range
        return (value - low) / (high - low) if high > low else 1.0


@dataclass(frozen=True)
class Chart:
    """A drawing with its words: `description` tells a reader who cannot see it what it shows."""

    title: str
    subtitle: str
    description: str
    plot: LinePlot | BarPlot | HeatMap
    notes: tuple[str, ...] = ()
