"""The content of a chart, independent of how it is drawn, and the choices that a user can make.

Every mark carries the text of its tooltip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gemmbench.bench.record import Result
from gemmbench.report.row import Row


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The choices for all kinds of charts. An empty one leaves the decision to the chart.

    `size` is written as in tables (`4096` or `1024x768x512`). `variants` are the ones to draw. `x` and `y` are
    parameters. `percent` draws percent of the baseline (or shares) instead of speeds (or times). `highlight` names the
    variant to emphasize. `axis` is `linear` or `log`, for speeds.
    """

    size: str = ""
    precision: str = ""
    layout: str = ""
    variants: tuple[str, ...] = ()
    x: str = ""
    y: str = ""
    percent: bool = False
    highlight: str = ""
    axis: str = ""
    title: str = ""

    @property
    def given(self) -> set[str]:
        """The names of the choices that the user made."""
        return {name for name in self.__dataclass_fields__ if getattr(self, name)}

    def include(self, record: Result) -> bool:
        """Return whether a record is of a chosen variant and problem."""
        problem = record.problem
        return (
            (not self.variants or record.variant in self.variants)
            and self.size in ("", problem.shape.size, problem.size)
            and self.precision in ("", problem.precision_name)
            and self.layout in ("", problem.layout)
        )

    def mutes(self, row: Row) -> bool:
        """Return whether a row is drawn muted because another variant is highlighted. The baseline's rows never are."""
        return self.highlight not in ("", row.record.variant) and row.record.variant != row.environment.baseline


@dataclass(frozen=True)
class Tick:
    """A labelled value on an axis."""

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
        """Return the position of a value on the axis, from 0 at `low` to 1 at `high`.

        A value beyond a logarithmic axis is at its end.
        """
        if self.log:
            return math.log(min(max(value, self.low), self.high) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Point:
    """A measured value. `low` and `high` are the ends of its 95 % interval; NaN if unknown."""

    x: float
    y: float
    tip: str
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Series:
    """Points of one style (color, marker and dash pattern), in order of x. If `joined`, a line connects them.

    `line` holds the points that it connects, if it leaves some out.
    """

    label: str
    points: tuple[Point, ...]
    style: int
    joined: bool = True
    muted: bool = False
    line: tuple[Point, ...] = ()

    @property
    def emphasized(self) -> bool:
        """Whether the line is thicker than others, as the baseline's is."""
        return self.style < 0


@dataclass(frozen=True)
class Limit:
    """A line from one (x, y) to another that no result can cross."""

    label: str
    start: tuple[float, float]
    end: tuple[float, float]
    tip: str


@dataclass(frozen=True)
class LinePlot:
    """Several series on common axes."""

    x: Axis
    y: Axis
    series: tuple[Series, ...]
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True)
class Segment:
    """A part of a bar, in the color of its style."""

    low: float
    high: float
    style: int
    tip: str
    text: str = ""


@dataclass(frozen=True)
class Bar:
    """Segments side by side. `text` follows the end of the bar, and `note` is in a column on the right.

    `low` and `high` are the ends of a 95 % interval.
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

    `key` names the styles of segments. `note_label` is the heading of the bars' notes.
    """

    axis: Axis
    bars: tuple[Bar, ...]
    guides: tuple[Guide, ...] = ()
    key: tuple[tuple[int, str], ...] = ()
    note_label: str = ""


@dataclass(frozen=True)
class Cell:
    """A value in a column and a row, which are both counted from 0."""

    column: int
    row: int
    value: float
    text: str
    tip: str
    best: bool = False


@dataclass(frozen=True)
class HeatMap:
    """Cells colored by value, from the lowest to the highest. A missing cell was not measured."""

    x_label: str
    y_label: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[Cell, ...]
    unit: str

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest value."""
        values = [cell.value for cell in self.cells]
        return min(values), max(values)

    @property
    def range_texts(self) -> tuple[str, str]:
        """The texts of the cells with the lowest and the highest value."""
        ordered = sorted(self.cells, key=lambda cell: cell.value)
        return ordered[0].text, ordered[-1].text

    def share(self, value: float) -> float:
        """Return where a value lies between the lowest (0) and the highest (1)."""
        low, high = self.range
        return (value - low) / (high - low) if high > low else 1.0


@dataclass(frozen=True)
class Chart:
    """A drawing and its text. `description` tells readers who cannot see it what it shows."""

    title: str
    subtitle: str
    description: str
    plot: LinePlot | BarPlot | HeatMap
    notes: tuple[str, ...] = ()
