"""Rows below the machine's limits: 1,000 GFLOPS at 1 GHz and 1 TB/s, so that the ridge is at 1 FLOP/B."""

import pytest

from gemmbench.backends.devices import Peaks
from gemmbench.errors import UsageError
from gemmbench.report.charts.draw import draw_chart


def test_points_have_the_intensity_of_the_least_traffic(ladder):
    chart = draw_chart("roofline", [ladder()])
    naive = next(series for series in chart.plot.series if series.label == "naive")
    # 2 n^3 operations on 3 n^2 elements of 4 bytes
    assert [point.x for point in naive.points] == pytest.approx([size / 6 for size in (256, 512, 1024)])
    assert [point.y for point in naive.points] == pytest.approx([100, 110, 120])
    assert not naive.joined
    assert naive.points[0].tip.endswith("\n10 % of what compute allows")


def test_the_limits_meet_at_the_ridge_and_everything_is_inside_the_axes(ladder):
    plot = draw_chart("roofline", [ladder()]).plot
    memory, arithmetic = plot.limits
    assert memory.end == arithmetic.start == (pytest.approx(1), 1000)
    assert memory.start[1] == pytest.approx(1000 * memory.start[0])
    assert (memory.label, arithmetic.label) == ("DRAM 1 TB/s", "peak at 1.00 GHz")
    points = [(point.x, point.y) for series in plot.series for point in series.points]
    points += [end for limit in plot.limits for end in (limit.start, limit.end)]
    assert all(0 <= plot.x.position(x) <= 1 and 0 <= plot.y.position(y) <= 1 for x, y in points)


def test_a_size_and_some_variants_can_be_chosen(ladder):
    assert draw_chart("roofline", [ladder()]).title == "Roofline"
    assert draw_chart("roofline", [ladder()], size="512").title == "Roofline at 512"
    chart = draw_chart("roofline", [ladder()], variants=("tiled", "cublas"))
    assert [series.label for series in chart.plot.series] == ["tiled", "cublas"]


@pytest.mark.parametrize("unknown", [{"flops_per_cycle": {}}, {"bandwidth": 0.0}])
def test_a_device_with_unknown_limits_is_refused(ladder, unknown):
    with pytest.raises(
        UsageError, match="needs the peak and the bandwidth of the device; the runs do not have them for Fake"
    ):
        draw_chart("roofline", [ladder(**unknown)])


def test_limits_that_were_measured_replace_those_in_theory(ladder):
    peaks = Peaks(copy=0.9e12, fma=0.95e12, clock_hz=1e9, launch=1e-6, ungated=1e-6)
    chart = draw_chart("roofline", [ladder(peaks=peaks)])
    memory, arithmetic = chart.plot.limits
    assert memory.end == arithmetic.start == (pytest.approx(950 / 900), pytest.approx(950))
    assert (memory.label, arithmetic.label) == ("DRAM 0.9 TB/s", "FFMA at 1.00 GHz")
    assert "measured just before the run" in chart.notes[0]
    assert "theoretical" in draw_chart("roofline", [ladder()]).notes[0]
