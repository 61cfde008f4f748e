"""How much each row of a run differs from a reference, on both sides of zero."""

import pytest

from gemmbench.report.charts.difference_bars import draw_differences
from gemmbench.report.differences.run_differences import compare_runs


@pytest.fixture
def draw(compare, timed):
    """The chart of a run with these speeds of each kernel, compared with 100 GFLOPS of each."""

    def make(speeds, **changed):
        runs = [dict.fromkeys(speeds, 100), speeds]
        comparisons = [
            compare(timed("cublas", 200), *(timed(*pair, **changed) for pair in each.items())) for each in runs
        ]
        return draw_differences(compare_runs(*comparisons))

    return make


def test_bars_begin_at_zero_and_the_whisker_of_a_verdict_lies_outside_the_margin(draw):
    chart = draw({"a": 90, "b": 100.1, "c": 120})
    slower, same, faster = chart.plot.bars
    assert (slower.segments[0].high, faster.segments[0].low) == (0, 0)
    assert slower.segments[0].low == pytest.approx(-10) and faster.segments[0].high == pytest.approx(20)
    assert slower.high < -1 and faster.low > 1
    names = dict(chart.plot.key)
    assert [names[bar.segments[0].style] for bar in chart.plot.bars] == ["slower", "same or inconclusive", "faster"]
    assert same.low < -1 and same.high > 1  # inconclusive
    assert (slower.text[:3], faster.text[:3]) == ("-10", "+20")
    axis = chart.plot.axis
    assert axis.low < slower.low and faster.high < axis.high and 0 in [tick.value for tick in axis.ticks]


def test_of_many_rows_those_that_changed_most_are_drawn(draw):
    chart = draw({f"k{number:02}": 101 + number for number in range(40)})
    assert [bar.label for bar in chart.plot.bars] == [f"k{number:02}" for number in range(8, 40)]
    assert chart.notes == ("Not drawn: 8 more rows, which changed less.",)


def test_without_a_ratio_to_a_common_baseline_there_is_no_chart(draw, compare, timed):
    assert draw({"naive": 90}, status="wrong") is None
    assert draw({}) is None
