"""Axes, with ticks at round numbers."""

import pytest

from gemmbench.report.charts.chart_style import make_linear_axis, make_size_axis


@pytest.mark.parametrize(
    ("highest", "ticks"),
    [
        (66900, ["0", "20,000", "40,000", "60,000"]),
        (100, ["0", "20", "40", "60", "80", "100"]),
        (1.3, ["0", "0.25", "0.5", "0.75", "1", "1.25"]),
    ],
)
def test_a_linear_axis_has_round_ticks_and_room_at_the_top(highest, ticks):
    axis = make_linear_axis("GFLOPS", highest)
    assert [tick.text for tick in axis.ticks] == ticks
    assert axis.low == 0 and axis.position(highest) < 1


def test_sizes_are_on_a_logarithmic_axis_with_ticks_at_powers_of_two():
    axis = make_size_axis("size", [300, 512, 3000, 1024])
    assert [tick.value for tick in axis.ticks] == [512, 1024, 2048]
    assert axis.position(1024) - axis.position(512) == pytest.approx(axis.position(2048) - axis.position(1024))
    assert 0 < axis.position(300) < axis.position(3000) < 1


def test_sizes_between_two_powers_are_ticks_themselves():
    assert [tick.value for tick in make_size_axis("size", [3000, 4000, 5000]).ticks] == [3000, 4000, 5000]
