"""Bars and heat maps as SVG."""

import pytest

from gemmbench.report.charts.chart_style import WIDTH, text_width
from gemmbench.report.charts.draw import draw_chart
from gemmbench.report.comparison import compare_rows

SVG = "{http://www.w3.org/2000/svg}"


def marks_of(root):
    return [each for each in root.iter(f"{SVG}g") if each.get("class") == "gb-mark"]


def texts_of(root):
    return {each.text: each for each in root.iter(f"{SVG}text")}


def test_the_length_of_a_bar_is_its_value(ladder, parse_svg):
    root = parse_svg(draw_chart("ladder", [ladder()]))
    widths = [
        float(mark.find(f"{SVG}rect").get("width")) for mark in marks_of(root) if mark.find(f"{SVG}rect") is not None
    ]
    assert [width / widths[-1] for width in widths] == pytest.approx([0.15, 0.5625, 1], abs=1e-3)


def test_the_texts_of_bars_are_not_clipped(ladder, timed, parse_svg):
    name = "a_kernel_with_a_very_long_name_indeed"
    root = parse_svg(draw_chart("ladder", [ladder(timed(name, 990, 1024, order=9.0))], size="1024"))
    texts = texts_of(root)
    assert float(texts[name].get("x")) >= text_width(name)
    assert texts["990"].get("text-anchor") == "end"
    assert float(texts["990"].get("x")) <= float(root.get("width")) - 32
    (label,) = (text for text in texts if text.startswith("12") and text.endswith(" %"))  # of cublas' 800
    assert float(texts[label].get("x")) + text_width(label) <= float(texts["990"].get("x")) - text_width("990")


def test_cells_have_their_values_and_a_frame_around_the_fastest(make_run, timed, parse_svg):
    records = [timed("tile", bm + bn, config={"BM": bm, "BN": bn}) for bm in (32, 64) for bn in (32, 64)]
    root = parse_svg(draw_chart("heat-map", [compare_rows(make_run(*records))]))
    marks = marks_of(root)
    assert [mark.find(f"{SVG}text").text for mark in marks] == ["64", "96", "96", "128"]
    assert [mark.find(f"{SVG}rect").get("class") == "gb-stroke-ink" for mark in marks] == [False, False, False, True]
    assert all(mark.get("data-tip").startswith("tile at 256\n") for mark in marks)


def test_many_columns_fit(make_run, timed, parse_svg):
    records = [timed("tile", bm + bn, config={"BM": bm, "BN": bn}) for bm in range(8, 136, 8) for bn in (32, 64)]
    root = parse_svg(draw_chart("heat-map", [compare_rows(make_run(*records))]))
    assert max(float(rect.get("x", 0)) + float(rect.get("width")) for rect in root.iter(f"{SVG}rect")) <= WIDTH
