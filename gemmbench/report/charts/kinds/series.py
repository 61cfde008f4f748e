"""The lines of a chart: one for each variant, run and kind of problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gemmbench.report.charts.choices import Choices
from gemmbench.report.charts.kinds.labels import group_series
from gemmbench.report.charts.model import Point, Series
from gemmbench.report.charts.styles import choose_styles
from gemmbench.report.row import Row


def make_series(
    rows: Sequence[Row], choices: Choices, make_point: Callable[[str, Row], Point], joined: bool = True
) -> tuple[Series, ...]:
    """Styled series with a point per row, from left to right; `make_point` gets the label and the row."""
    groups = group_series(rows)
    styles = choose_styles([members[0] for members in groups.values()])
    return tuple(
        Series(
            label,
            tuple(sorted((make_point(label, row) for row in members), key=lambda point: point.x)),
            style,
            joined=joined,
            muted=choices.mutes(members[0]),
        )
        for style, (label, members) in zip(styles, groups.items(), strict=True)
    )
