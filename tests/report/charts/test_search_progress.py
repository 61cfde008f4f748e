"""The chart of a search."""

import pytest

from gemmbench.errors import UsageError
from gemmbench.report.charts.draw import draw_chart


@pytest.fixture
def search(compare, make_record):
    def make(*seconds):
        records = [
            make_record("tiled", [each] * 2, phase="ranking", config={"T": number}, batch_key=f"key{number}")
            for number, each in enumerate(seconds)
        ]
        return compare(*records, make_record("cublas", [1e-3] * 2, phase="ranking"))

    return make


def test_it_has_a_point_for_each_configuration_and_the_best_so_far(search):
    chart = draw_chart("search", [search(4e-3, 2e-3, 8e-3)])
    tried, best = chart.plot.series
    assert [point.x for point in tried.points] == [1, 2, 3]
    assert [round(point.y / tried.points[0].y, 3) for point in tried.points] == [1, 2, 0.5]
    corners = [(point.x, round(point.y / tried.points[0].y, 3)) for point in best.points]
    assert corners == [(1, 1), (2, 1), (2, 2), (3, 2)]
    assert best.points[-1].tip.startswith("T=1") and not tried.joined and best.joined
    assert chart.title == "Search of tiled at 64 nn f32"


def test_the_search_with_the_most_configurations_is_drawn(search):
    chart = draw_chart("search", [search(1e-3), search(1e-3, 2e-3)])
    assert len(chart.plot.series[0].points) == 2


def test_without_a_search_it_says_what_makes_one(compare, make_record):
    with pytest.raises(UsageError, match="gemmbench tune makes one"):
        draw_chart("search", [compare(make_record("tiled", [1e-3] * 2))])
