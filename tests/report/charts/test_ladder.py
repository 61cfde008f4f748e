"""A bar for each rung, in percent of the baseline; speeds are those of conftest."""

import pytest

from gemmbench.errors import UsageError
from gemmbench.report.charts.draw import draw_chart


def bars_of(chart):
    return {bar.label: bar for bar in chart.plot.bars}


def test_rungs_are_bars_in_their_order_in_percent_of_the_baseline(ladder):
    chart = draw_chart("ladder", [ladder()])
    assert [bar.label for bar in chart.plot.bars] == ["naive", "tiled", "cublas"]
    assert [bar.segments[0].high for bar in chart.plot.bars] == pytest.approx([15, 56.25, 100])
    assert (chart.title, chart.plot.axis.label) == ("The ladder at 1024", "% of cublas")
    assert (bars_of(chart)["tiled"].text, bars_of(chart)["tiled"].note) == ("56 %", "450")
    assert chart.plot.note_label == "GFLOPS"
    (guide,) = chart.plot.guides
    assert (guide.label, guide.value) == ("peak at 1.00 GHz", pytest.approx(100 * 1000 / 800))


def test_the_size_can_be_chosen_or_is_that_with_the_most_variants(ladder, timed):
    chart = draw_chart("ladder", [ladder()], size="256")
    assert [bar.segments[0].high for bar in chart.plot.bars] == pytest.approx([20, 60, 100])
    assert draw_chart("ladder", [ladder(timed("mine", 10, 512))]).title == "The ladder at 512"


def test_the_problems_that_are_not_drawn_are_named(ladder):
    notes = draw_chart("ladder", [ladder()]).notes
    assert notes == ("Not drawn: 2 other problems (256 nn f32, 512 nn f32).",)
    assert draw_chart("ladder", [ladder()], size="256").notes == ()


def test_a_peak_that_is_far_away_is_a_note_and_no_guide(compare, timed):
    chart = draw_chart("ladder", [compare(timed("naive", 10), timed("cublas", 20))])
    assert chart.plot.guides == () and chart.plot.axis.high < 200
    assert chart.notes == ("Beyond the chart: the peak at 1.00 GHz, 1,000 GFLOPS.",)


def test_without_a_baseline_bars_are_gflops(ladder):
    chart = draw_chart("ladder", [ladder(baseline="openblas")])
    assert chart.plot.axis.label == "GFLOPS"
    assert bars_of(chart)["tiled"].segments[0].high == pytest.approx(450)
    assert chart.plot.guides[0].value == 1000


def test_a_highlighted_rung_stands_out_and_the_baseline_stays(ladder):
    chart = draw_chart("ladder", [ladder()], highlight="tiled")
    assert {label: (bar.emphasized, bar.muted) for label, bar in bars_of(chart).items()} == {
        "naive": (False, True),
        "tiled": (True, False),
        "cublas": (True, False),
    }
    assert len({bar.segments[0].style for bar in chart.plot.bars}) == 3


def test_a_wrong_rung_has_no_bar_is_counted_and_cannot_be_highlighted(ladder, timed):
    comparison = ladder(timed("mine", 900, 1024, status="wrong"))
    chart = draw_chart("ladder", [comparison])
    assert "mine" not in bars_of(chart)
    assert chart.notes[1:] == ("Not drawn: 1 row that is not ranked (1 wrong).",)
    with pytest.raises(UsageError, match="no row of 'mine' to draw"):
        draw_chart("ladder", [comparison], highlight="mine")
