"""A chart as SVG: well formed, escaped, described, legible in light and dark."""

import itertools
import re
from dataclasses import replace

import pytest

from gemmbench.report.charts.chart_style import DARK, LIGHT, WIDTH, text_width
from gemmbench.report.charts.draw import draw_chart
from gemmbench.report.charts.svg import render_svg

SVG = "{http://www.w3.org/2000/svg}"


def marks_of(root):
    return [each for each in root.iter(f"{SVG}g") if each.get("class") == "gb-mark"]


def texts_of(root):
    return {each.text: each for each in root.iter(f"{SVG}text")}


def test_the_length_of_a_bar_is_its_value(ladder, parse_svg):
    root = parse_svg(draw_chart("ladder", [ladder()]))
    bars = [mark.find(f"{SVG}rect") for mark in marks_of(root)]
    widths = [float(bar.get("width")) for bar in bars if bar is not None]
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


@pytest.fixture
def parsed_map(compare, timed, parse_svg):
    """The parsed heat map of a tile of these values of BM, and 32 and 64 columns."""

    def make(rows):
        records = [timed("tile", bm + bn, config={"BM": bm, "BN": bn}) for bm in rows for bn in (32, 64)]
        return parse_svg(draw_chart("heat-map", [compare(*records)]))

    return make


def test_cells_have_their_values_and_a_frame_around_the_fastest(parsed_map):
    marks = marks_of(parsed_map((32, 64)))
    assert [mark.find(f"{SVG}text").text for mark in marks] == ["64", "96", "96", "128"]
    assert [mark.find(f"{SVG}rect").get("class") == "gb-stroke-ink" for mark in marks] == [False, False, False, True]
    assert all(mark.get("data-tip").startswith("tile at 256\n") for mark in marks)


def test_many_columns_fit(parsed_map):
    rects = parsed_map(range(8, 136, 8)).iter(f"{SVG}rect")
    assert max(float(rect.get("x", 0)) + float(rect.get("width")) for rect in rects) <= WIDTH


def test_a_chart_has_a_role_a_title_a_description_and_always_the_same_text(ladder, parse_svg):
    root = parse_svg(draw_chart("speed", [ladder()]))
    assert (root.tag, root.get("role"), root.get("aria-label")) == (f"{SVG}svg", "img", "Speed over matrix size")
    assert root.find(f"{SVG}title").text == "Speed over matrix size"
    assert root.find(f"{SVG}desc").text == (
        "GFLOPS at sizes 256 to 1024. At the end of each line: naive 120, tiled 450, cublas 800."
    )
    assert render_svg(draw_chart("speed", [ladder()])) == render_svg(draw_chart("speed", [ladder()]))


def test_names_are_escaped_and_drawn_as_they_are(ladder, timed, parse_svg):
    evil = '<b>&"evil"'
    chart = draw_chart("speed", [ladder(timed(evil, 200, 256), timed(evil, 200, 512))], title="a < b & c")
    assert "<b>" not in render_svg(chart)
    assert {evil, "a < b & c"} <= set(texts_of(parse_svg(chart)))


def test_every_point_has_a_tooltip_for_viewers_and_for_pages(ladder, parse_svg):
    marks = marks_of(parse_svg(draw_chart("speed", [ladder()])))
    assert len(marks) == 3 * 3 + 1  # and the limit
    assert all(mark.get("data-tip") == mark.find(f"{SVG}title").text != "" for mark in marks)
    assert any("tiled at 512\n400 +- 5 GFLOPS" in mark.get("data-tip") for mark in marks)


def test_each_color_has_a_plain_value_and_a_variable_that_a_page_can_set(ladder, parse_svg):
    style = parse_svg(draw_chart("speed", [ladder()])).find(f"{SVG}style").text
    for name, color in LIGHT.items():
        assert f".gb-fill-{name} {{ fill: {color}; fill: var(--gb-own-{name}); }}" in style
        assert f"--gb-own-{name}: var(--gb-{name}, {color});" in style
    dark = style.partition("@media screen and (prefers-color-scheme: dark)")[2]
    assert all(f"--gb-own-{name}: var(--gb-{name}, {color});" in dark for name, color in DARK.items())


def test_every_class_that_is_used_is_defined(ladder):
    text = render_svg(draw_chart("speed", [ladder()]))
    used = {name for value in re.findall(r'class="([^"]*)"', text) for name in value.split()}
    assert {name for name in used if f".{name} " not in text} <= {"gb-mark"}


def label_places(root):
    """The places of the labels at the ends of lines, which begin right of the plot."""
    right = max(float(line.get("x2")) for line in root.iter(f"{SVG}line"))
    found = [(float(text.get("x")), float(text.get("y")), text.text) for text in root.iter(f"{SVG}text")]
    return [(x, y, text) for x, y, text in found if x > right]


def test_labels_of_many_series_do_not_overlap_and_no_two_series_differ_in_color_only(ladder, timed, parse_svg):
    names = [f"a_kernel_with_a_long_name_{index:02}" for index in range(12)]
    close = [timed(name, 400 + index, size) for index, name in enumerate(names) for size in (256, 1024)]
    root = parse_svg(draw_chart("speed", [ladder(*close)]))
    places = label_places(root)
    assert len(places) == 15
    heights = sorted(y for _, y, _ in places)
    assert all(after - before >= 15 for before, after in itertools.pairwise(heights))
    assert all(x + text_width(text) <= WIDTH for x, _, text in places)
    assert heights[0] >= 0 and heights[-1] <= float(root.get("height"))
    looks = [(each.get("class"), each.get("stroke-dasharray")) for each in root.iter(f"{SVG}polyline")]
    assert len(looks) == len(set(looks)) == 15


def test_long_notes_and_a_long_title_are_wrapped(ladder, parse_svg):
    chart = replace(draw_chart("speed", [ladder()], title="a long title " * 12), notes=("words " * 60,))
    texts = [text.text for text in parse_svg(chart).iter(f"{SVG}text")]
    notes = [text for text in texts if text.startswith("words")]
    assert len(notes) > 2 and all(text_width(line, 11) <= WIDTH - 32 for line in notes)
    title = [text for text in texts if "long title" in text]
    assert len(title) > 1 and " ".join(title) == " ".join(["a long title"] * 12)


def test_a_chart_with_long_names_is_wider(ladder, timed, parse_svg):
    long = "a_kernel_with_a_name_that_is_far_too_long_for_eight_hundred_pixels_and_a_plot"
    root = parse_svg(draw_chart("speed", [ladder(timed(long, 700, 256), timed(long, 700, 1024))]))
    (place,) = ((x, text) for x, _, text in label_places(root) if text == long)
    assert place[0] + text_width(long) <= float(root.get("width")) == float(root.get("viewBox").split()[2])
    assert max(float(line.get("x2")) for line in root.iter(f"{SVG}line")) > 440


def test_labels_of_ticks_do_not_overlap(compare, timed, parse_svg):
    sizes = [2**exponent for exponent in range(15)]
    name = "a_kernel_with_a_rather_long_name_of_its_own"
    chart = draw_chart("speed", [compare(*(timed(name, 900, size) for size in sizes))])
    labels = [text for text in parse_svg(chart).iter(f"{SVG}text") if text.text in {str(size) for size in sizes}]
    ends = [(float(text.get("x")), text_width(text.text) / 2) for text in labels]
    assert all(x + half < after - other for (x, half), (after, other) in itertools.pairwise(ends))
