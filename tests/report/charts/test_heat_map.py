"""Two parameters of a variant; the speed of a configuration is BM + BN + BK."""

import pytest

from gemmbench.errors import UsageError
from gemmbench.report.charts.draw import draw_chart

GRID = [(bm, bn, bk) for bm in (32, 64, 128) for bn in (32, 64) for bk in (8, 16)]


@pytest.fixture
def sweep(compare, timed):
    """All configurations of `tile`, two of `other`, and the baseline."""

    def make(*more, grid=GRID):
        configs = [{"BM": bm, "BN": bn, "BK": bk, "TM": 8} for bm, bn, bk in grid]
        tiles = [timed("tile", sum(config.values()) - 8, config=config) for config in configs]
        others = [timed("other", 50, config={"TILE": size}) for size in (8, 16)]
        return compare(timed("cublas", 500), *tiles, *others, *more)

    return make


def cells_of(chart):
    plot = chart.plot
    return {(plot.columns[cell.column], plot.rows[cell.row]): cell for cell in plot.cells}


def test_a_cell_is_the_best_over_the_other_parameters_and_the_fastest_is_marked(sweep):
    chart = draw_chart("heat-map", [sweep()])
    assert (chart.title, chart.plot.x_label, chart.plot.y_label) == ("tile: BM and BN at 256", "BM", "BN")
    assert (chart.plot.columns, chart.plot.rows) == (("32", "64", "128"), ("64", "32"))
    cells = cells_of(chart)
    assert {key: round(cell.value) for key, cell in cells.items()} == {
        (str(bm), str(bn)): bm + bn + 16 for bm, bn, bk in GRID if bk == 16
    }
    assert cells["64", "32"].text == "112" and "BM=64 BN=32 BK=16 TM=8" in cells["64", "32"].tip
    assert chart.notes == ("Each cell shows the fastest over BK.",)
    assert [key for key, cell in cells.items() if cell.best] == [("128", "64")]


def test_what_ties_with_the_fastest_is_framed_too(sweep, timed):
    tie = timed("tile", 127.9 + 64 + 16, config={"BM": 256, "BN": 64, "BK": 16, "TM": 8})
    chart = draw_chart("heat-map", [sweep(tie)])
    assert [key for key, cell in cells_of(chart).items() if cell.best] == [("128", "64"), ("256", "64")]
    assert "BM=128 BN=64" in chart.description and "BM=256 BN=64" in chart.description


def test_parameters_and_percent_can_be_chosen(sweep):
    chart = draw_chart("heat-map", [sweep()], x="BK", y="BM", percent=True)
    assert (chart.plot.x_label, chart.plot.y_label, chart.plot.unit) == ("BK", "BM", "% of cublas")
    assert cells_of(chart)["8", "128"].value == pytest.approx(100 * (128 + 64 + 8) / 500)
    chart = draw_chart("heat-map", [sweep()], y="BK")  # the other is that with most values
    assert (chart.plot.x_label, chart.plot.y_label) == ("BM", "BK")


def test_a_chosen_parameter_chooses_the_variant_that_has_it(sweep, timed):
    others = [timed("warp", 10 + wm, config={"WM": wm, "WN": wn}) for wm in (16, 32) for wn in (16, 32)]
    assert draw_chart("heat-map", [sweep(*others)], x="WN").title == "warp: WN and WM at 256"


def test_a_combination_that_was_not_measured_has_no_cell(sweep):
    assert ("64", "64") not in cells_of(
        draw_chart("heat-map", [sweep(grid=[each for each in GRID if each[:2] != (64, 64)])])
    )


def test_wrong_configurations_are_not_cells(sweep, timed):
    wrong = timed("tile", 490, config={"BM": 256, "BN": 32, "BK": 8, "TM": 8}, status="wrong")
    chart = draw_chart("heat-map", [sweep(wrong)])
    assert "256" not in chart.plot.columns
    assert chart.notes[1:] == ("Not drawn: 1 row that is not ranked (1 wrong).",)


def test_neither_the_winner_measured_again_nor_another_run_is_compared_with_the_sweep(sweep, compare, timed):
    best = {"config": {"BM": 128, "BN": 64, "BK": 16, "TM": 8}}
    other = compare(timed("tile", 900, **best), run="other")
    again = sweep(timed("tile", 480, **best, phase="final", batch=2))
    assert cells_of(draw_chart("heat-map", [other, again]))["128", "64"].value == pytest.approx(208)


def test_percent_without_a_baseline_is_refused(compare, timed):
    comparison = compare(*(timed("tile", 10, config={"BM": bm, "BN": bn}) for bm in (8, 16) for bn in (8, 16)))
    with pytest.raises(UsageError, match="nothing to draw in percent, because no row was compared with a baseline"):
        draw_chart("heat-map", [comparison], percent=True)


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"variants": ("other",)}, "needs two parameters that vary; for other, this varies: TILE"),
        ({"variants": ("cublas",)}, "for cublas, this varies: none"),
        ({"variants": ("tile", "other")}, "shows one kernel, not 2: tile, other"),
        ({"x": "TM"}, r"'TM' does not vary for tile.*; these parameters vary: BM, BN, BK"),
        ({"x": "BM", "y": "BM"}, "needs two parameters"),
    ],
)
def test_parameters_that_do_not_make_a_map_are_refused(sweep, choices, words):
    with pytest.raises(UsageError, match=words):
        draw_chart("heat-map", [sweep()], **choices)
