"""The kind that fits the results."""

import pytest

from gemmbench.report.charts.draw import CHARTS, draw_chart, guess_kind
from gemmbench.report.comparison import compare_rows


@pytest.fixture
def tiles(make_run, timed):
    """A sweep of one variant at one size."""
    records = [timed("tile", bm + bn, config={"BM": bm, "BN": bn}) for bm in (32, 64) for bn in (32, 64)]
    return compare_rows(make_run(*records, timed("cublas", 500)))


def test_several_sizes_are_drawn_as_speed(ladder):
    assert guess_kind([ladder()]) == "speed"


def test_a_sweep_of_one_variant_is_drawn_as_a_heat_map(tiles):
    assert guess_kind([tiles]) == "heat-map"


def test_one_size_is_drawn_as_a_ladder(ladder):
    assert guess_kind([ladder()], size="512") == "ladder"
    assert guess_kind([ladder()], size="512", highlight="tiled") == "ladder"


def test_a_sweep_of_many_variants_is_drawn_as_a_ladder(make_run, timed):
    records = [timed("tile", bm + bn, config={"BM": bm, "BN": bn}) for bm in (32, 64) for bn in (32, 64)]
    others = [timed(f"rung_{index}", 100 + index) for index in range(5)]
    assert guess_kind([compare_rows(make_run(*records, *others))]) == "ladder"


def test_parameters_ask_for_a_heat_map(tiles, ladder):
    assert guess_kind([tiles], x="BN") == "heat-map"
    assert guess_kind([ladder()], x="BN") == "heat-map"  # which then says what is missing


def test_every_kind_takes_only_choices_that_exist(tiles):
    fields = set(type(draw_chart("ladder", [tiles])).__dataclass_fields__)
    assert {"title", "notes"} <= fields
    from gemmbench.report.charts.chart_model import Choices

    for name, kind in CHARTS.items():
        assert kind.choices <= set(Choices.__dataclass_fields__), name
        assert kind.summary
