"""The kind that fits the results."""

import pytest

from gemmbench.report.charts.chart_model import Choices
from gemmbench.report.charts.draw import CHARTS, draw_chart, guess_kind


@pytest.fixture
def tiles(compare, timed):
    """A sweep of one variant at one size, and other rows."""

    def make(*others):
        records = [timed("tile", bm + bn, config={"BM": bm, "BN": bn}) for bm in (32, 64) for bn in (32, 64)]
        return compare(*records, *others)

    return make


def test_the_kind_follows_from_the_sizes_the_variants_and_the_choices(tiles, ladder, timed):
    sweep = tiles(timed("cublas", 500))
    assert guess_kind([ladder()]) == "speed"
    assert guess_kind([ladder()], size="512") == guess_kind([ladder()], size="512", highlight="tiled") == "ladder"
    assert guess_kind([sweep]) == guess_kind([sweep], x="BN") == "heat-map"
    assert guess_kind([ladder()], x="BN") == "heat-map"  # which then says what is missing
    assert guess_kind([tiles(*(timed(f"rung_{index}", 100 + index) for index in range(5)))]) == "ladder"


def test_every_kind_takes_only_choices_that_exist(tiles, timed):
    fields = set(type(draw_chart("ladder", [tiles(timed("cublas", 500))])).__dataclass_fields__)
    assert {"title", "notes"} <= fields
    for name, kind in CHARTS.items():
        assert kind.choices <= set(Choices.__dataclass_fields__), name
        assert kind.summary
