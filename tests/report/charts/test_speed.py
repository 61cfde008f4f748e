"""GFLOPS over size, computed by hand."""

import math

import pytest

from gemmbench.bench.timing.stats import WIDENING
from gemmbench.errors import UsageError
from gemmbench.report.charts.draw import draw_chart


def series_of(chart):
    return {series.label: series for series in chart.plot.series}


def test_each_variant_is_a_line_of_gflops_over_size(ladder):
    chart = draw_chart("speed", [ladder()])
    assert list(series_of(chart)) == ["naive", "tiled", "cublas"]
    tiled = series_of(chart)["tiled"]
    assert [point.x for point in tiled.points] == [256, 512, 1024]
    assert [point.y for point in tiled.points] == pytest.approx([300, 400, 450])
    reach = 1.01 ** (WIDENING * 2.7764451 * (0.625 / 5) ** 0.5)  # Student's t
    assert (tiled.points[1].low, tiled.points[1].high) == pytest.approx((400 / reach, 400 * reach))
    assert tiled.points[1].tip.splitlines() == ["tiled at 512", "400 +- 5 GFLOPS", "57 +- 0.7 % of cublas"]


def test_the_subtitle_names_the_device_the_day_and_the_cache_that_the_run_asked_for(ladder):
    assert draw_chart("speed", [ladder()]).subtitle == "Fake GPU, f32, 2026-01-01. Bars: 95 % intervals."
    chart = draw_chart("speed", [ladder(policy={"cache": "cold"})])
    assert chart.subtitle == "Fake GPU, f32, cold cache, 2026-01-01. Bars: 95 % intervals."


def test_a_chart_of_a_gpu_and_a_cpu_says_which_one_says_nothing_about_a_gpu(ladder):
    runs = [ladder(), ladder(run="second", device="A CPU", gpu=False)]
    said = "A CPU, on the CPU device, which says nothing about a GPU, f32, 2026-01-01. Bars: 95 % intervals."
    assert draw_chart("speed", runs).subtitle == said


def test_the_baseline_is_emphasized_and_the_peak_is_a_limit(ladder):
    chart = draw_chart("speed", [ladder()])
    assert [series.label for series in chart.plot.series if series.emphasized] == ["cublas"]
    (limit,) = chart.plot.limits
    assert (limit.label, limit.start, limit.end) == ("peak at 1.00 GHz", (256, 1000), (1024, 1000))
    assert chart.plot.y.high > 1000


def test_a_peak_that_is_far_away_is_a_note_and_no_limit(compare, timed):
    chart = draw_chart("speed", [compare(*(timed("naive", 100, size) for size in (256, 512)))])
    assert chart.plot.limits == () and chart.plot.y.high < 200
    assert chart.notes == ("Beyond the chart: the peak at 1.00 GHz, 1,000 GFLOPS.",)


def test_the_line_connects_only_the_roundest_of_neighbouring_sizes(compare, timed):
    chart = draw_chart("speed", [compare(*(timed("naive", 100, size) for size in (512, 1023, 1024, 1025, 2048)))])
    (naive,) = chart.plot.series
    assert [point.x for point in naive.points] == [512, 1023, 1024, 1025, 2048]
    assert [point.x for point in naive.line] == [512, 1024, 2048]
    assert chart.notes[-1] == "Points without a line, next to a rounder size: 1023, 1025."


def test_percent_of_the_baseline_has_no_limit(ladder):
    chart = draw_chart("speed", [ladder()], percent=True)
    assert [point.y for point in series_of(chart)["naive"].points] == pytest.approx([20, 100 * 11 / 70, 15])
    assert [point.y for point in series_of(chart)["cublas"].points] == [100, 100, 100]
    assert (chart.title, chart.plot.y.label, chart.plot.limits) == ("Speed relative to cublas", "% of cublas", ())


def test_the_best_configuration_stands_for_a_variant(ladder, timed):
    slow = timed("tiled", 200, 512, config={"TILE": 8})
    fast = timed("tiled", 500, 512, config={"TILE": 32})
    again = timed("tiled", 490, 512, config={"TILE": 32}, phase="final")
    points = series_of(draw_chart("speed", [ladder(slow, fast)]))["tiled"].points
    assert points[1].y == pytest.approx(500) and points[1].tip.endswith("\nTILE=32")
    points = series_of(draw_chart("speed", [ladder(slow, fast, again)]))["tiled"].points
    assert points[1].y == pytest.approx(490)


def test_rows_that_are_not_ranked_are_never_drawn(ladder, timed, make_record):
    wrong = timed("mine", 600, 512, status="wrong", reason="one element")
    too_good = timed("magic", 1100, 512)
    skipped = make_record("other", size=512, status="skipped")
    chart = draw_chart("speed", [ladder(wrong, too_good, skipped)])
    assert list(series_of(chart)) == ["naive", "tiled", "cublas"]
    assert chart.notes == ("Not drawn: 2 rows that are not ranked (1 too good, 1 wrong).",)


def test_a_run_without_a_ranked_row_and_one_of_one_size_are_refused(compare, timed):
    unranked = compare(timed("mine", 10, 256, status="wrong"), timed("mine", 2000, 512))
    with pytest.raises(UsageError, match=r"no row has a correct and plausible result \(1 wrong, 1 too good\)"):
        draw_chart("speed", [unranked])
    with pytest.raises(UsageError, match=r"two or more square sizes, but there is only 256\. Try the kind 'ladder'"):
        draw_chart("speed", [compare(timed("tiled", 100, 256))])


def test_problems_that_are_not_square_are_left_out_and_counted(ladder, timed):
    chart = draw_chart("speed", [ladder(timed("tiled", 100, 512, M=64), timed("cublas", 100, 512, M=64))])
    assert len(series_of(chart)["tiled"].points) == 3
    assert chart.notes == ("Not drawn: 1 problem that is not square.",)


@pytest.mark.parametrize(
    ("changed", "labels"),
    [
        ({"device": "Other GPU"}, ["tiled, Fake GPU", "tiled, Other GPU"]),
        ({"started": "2026-02-03T12:00:00+00:00"}, ["tiled, 2026-01-01", "tiled, 2026-02-03"]),
    ],
)
def test_runs_are_told_apart_by_what_differs_and_by_their_markers(ladder, changed, labels):
    runs = [ladder(), ladder(run="second", **changed)]
    assert list(series_of(draw_chart("speed", runs, variants=("tiled",)))) == labels
    chart = draw_chart("speed", runs)
    assert len({series.style for series in chart.plot.series}) == 6
    if "device" in changed:
        peaks = {"Fake GPU, peak at 1.00 GHz", "Other GPU, peak at 1.00 GHz"}
        assert {limit.label for limit in chart.plot.limits} == peaks


def test_a_highlighted_variant_mutes_the_others_but_the_baseline(ladder):
    chart = draw_chart("speed", [ladder()], highlight="tiled")
    assert [series.label for series in chart.plot.series if series.muted] == ["naive"]


def test_rows_without_intervals_are_points(compare, make_record):
    records = [make_record("tiled", [1e-3, 1e-3], size) for size in (256, 512)]
    chart = draw_chart("speed", [compare(*records, flops_per_cycle={})])
    assert all(math.isnan(point.low) for point in series_of(chart)["tiled"].points)
    assert chart.plot.limits == ()


@pytest.mark.parametrize(
    ("kind", "choices", "words"),
    [
        ("sped", {}, r"unknown chart 'sped' \(did you mean 'speed'\?\)"),
        ("speed", {"x": "BM"}, "the chart 'speed' has no choice 'x'"),
        ("speed", {"variants": ("tield",)}, r"no row of 'tield' to draw \(did you mean 'tiled'\?\)"),
        ("speed", {"highlight": "sgemm"}, "no row of 'sgemm' to draw"),
        ("speed", {"precision": "f64"}, "no row matches the choices; the results contain these problems: 256 nn f32, "),
    ],
)
def test_a_choice_that_does_not_exist_is_refused(ladder, kind, choices, words):
    with pytest.raises(UsageError, match=words):
        draw_chart(kind, [ladder()], **choices)


def test_the_axis_is_logarithmic_if_a_kernel_would_be_a_flat_line_at_0(compare, timed):
    """A line that rises from 0 is legible on a linear axis."""
    for slowest, log in [((1, 8), True), ((1, 40), False)]:
        speeds = {"naive": slowest, "cublas": (500, 800)}
        rows = [timed(name, each[n], size) for name, each in speeds.items() for n, size in enumerate((256, 512))]
        chart = draw_chart("speed", [compare(*rows)])
        assert chart.plot.y.log == log
        assert all(0 <= chart.plot.y.position(point.y) <= 1 for each in chart.plot.series for point in each.points)
    assert draw_chart("speed", [compare(*rows)], axis="log").plot.y.log
