"""What a user may choose of a chart."""

from __future__ import annotations

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
