"""Colors that can be told apart, ticks at round numbers, numbers with supported digits, labels moved apart."""

import itertools
import math

import numpy as np
import pytest

from gemmbench.bench.timing.stats import Interval
from gemmbench.report.charts.chart_style import (
    DARK,
    LIGHT,
    choose_styles,
    contrasting,
    dash_of,
    format_estimate,
    format_interval,
    format_number,
    heat_color,
    make_linear_axis,
    make_size_axis,
    marker_of,
    spread,
    text_width,
    wrap_text,
)


@pytest.mark.parametrize(
    ("places", "distance", "spaced"),
    [
        ([10, 90, 50], 16, [10, 90, 50]),  # there is room
        ([50, 50], 16, [42, 58]),  # around their mean
        ([52, 50, 51], 10, [61, 41, 51]),
        ([99, 99, 98], 10, [90, 100, 80]),  # within their range
        ([1, 0], 10, [10, 0]),
    ],
)
def test_labels_that_overlap_move_apart(places, distance, spaced):
    assert spread(places, distance, 0, 100) == spaced


def test_labels_keep_their_order():
    places = spread([30, 31, 33, 70, 72, 29], 12, 0, 120)
    assert sorted(range(6), key=places.__getitem__) == [5, 0, 1, 2, 3, 4]
    ordered = sorted(places)
    assert all(after - before >= 12 - 1e-9 for before, after in itertools.pairwise(ordered))


def test_text_is_wrapped_at_words():
    lines = wrap_text("one two three four five six seven", 80)
    assert " ".join(lines) == "one two three four five six seven" and len(lines) > 1
    assert all(text_width(line) <= 80 for line in lines)


@pytest.mark.parametrize(("wide", "narrow"), [("WWW", "iii"), ("sgemm_tma", "sgemm_t"), ("aa", "a")])
def test_wide_text_is_estimated_as_wider(wide, narrow):
    assert text_width(wide) > text_width(narrow)


@pytest.mark.parametrize(
    ("value", "text"),
    [(51640.4, "51,640"), (1234567, "1,234,567"), (98.349, "98.35"), (0.5, "0.5"), (0, "0"), (100, "100")],
)
def test_numbers_have_separators_and_no_exponent_and_an_unknown_one_is_a_dash(value, text):
    assert format_number(value) == text
    assert format_number(math.nan) == "-"


@pytest.mark.parametrize(
    ("interval", "estimate", "text"),
    [
        (Interval(51641.2, 51601, 51701), "51,600", "51,600 +- 60"),
        (Interval(98.341, 98.31, 98.36), "98.34", "98.34 +- 0.03"),
        (Interval(1234.56789, 1234.5677, 1234.5681), "1,235", "1,234.6 +- 0.0002"),
        (Interval(1234.5), "1,234", "1,234"),
    ],
)
def test_estimates_have_the_digits_that_their_intervals_support(interval, estimate, text):
    assert (format_estimate(interval), format_interval(interval)) == (estimate, text)


def linear_rgb(color):
    channels = np.array([int(color[index : index + 2], 16) / 255 for index in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def luminance(color):
    return linear_rgb(color) @ (0.2126, 0.7152, 0.0722)


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colors", [LIGHT, DARK])
def test_text_has_the_contrast_that_wcag_asks_for(colors):
    assert contrast(colors["ink"], colors["paper"]) > 12
    assert contrast(colors["muted"], colors["paper"]) > 4.5
    for name in (name for name in colors if name.startswith("series-")):
        assert contrast(colors[f"on-{name}"], colors[name]) > 4.5
        assert contrast(colors[name], colors["paper"]) > 2.1


# Linear RGB as each kind of color blindness sees it: G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A
# physiologically-based model for simulation of color vision deficiency", 2009, severity 1.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "deuteranopia": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "tritanopia": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}
XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def seen(color, vision):
    """The color in CIELAB, in which distances are those that people see."""
    x, y, z = np.cbrt(np.array(XYZ) @ np.clip(np.array(vision) @ linear_rgb(color), 0, 1) / [0.9505, 1, 1.0888])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("colors", [LIGHT, DARK])
def test_color_blind_readers_can_tell_the_series_apart(colors, vision):
    names = [*(name for name in colors if name.startswith("series-")), "ink"]
    places = [seen(colors[name], VISION[vision]) for name in names]
    distances = [np.linalg.norm(one - other) for one, other in itertools.combinations(places, 2)]
    assert min(distances) > 12  # 2.3 is just noticeable


@pytest.mark.parametrize("share", [0, 0.2, 0.35, 0.5, 0.65, 0.8, 1])
def test_values_can_be_read_on_every_color_of_a_heat_map(share):
    assert contrast(contrasting(heat_color(share)), heat_color(share)) > 4.5


def test_heat_maps_get_lighter_with_the_value():
    shares = [luminance(heat_color(index / 20)) for index in range(21)]
    assert shares == sorted(shares)
    assert (heat_color(-1), heat_color(2)) == (heat_color(0), heat_color(1))


def test_styles_differ_in_more_than_color(ladder):
    naive, *_, cublas = ladder().rows
    styles = choose_styles([naive] * 24)
    assert len({(marker_of(style), dash_of(style)) for style in styles}) == 24
    assert choose_styles([naive, cublas, naive, cublas]) == [0, -1, 1, -2]


@pytest.mark.parametrize(
    ("highest", "ticks"),
    [
        (66900, ["0", "20,000", "40,000", "60,000"]),
        (100, ["0", "20", "40", "60", "80", "100"]),
        (1.3, ["0", "0.25", "0.5", "0.75", "1", "1.25"]),
    ],
)
def test_a_linear_axis_has_round_ticks_and_room_at_the_top(highest, ticks):
    axis = make_linear_axis("GFLOPS", highest)
    assert [tick.text for tick in axis.ticks] == ticks
    assert axis.low == 0 and axis.position(highest) < 1


def test_sizes_are_on_a_logarithmic_axis_with_ticks_at_powers_of_two():
    axis = make_size_axis("size", [300, 512, 3000, 1024])
    assert [tick.value for tick in axis.ticks] == [512, 1024, 2048]
    assert axis.position(1024) - axis.position(512) == pytest.approx(axis.position(2048) - axis.position(1024))
    assert 0 < axis.position(300) < axis.position(3000) < 1
    # sizes between two powers are ticks themselves
    assert [tick.value for tick in make_size_axis("size", [3000, 4000, 5000]).ticks] == [3000, 4000, 5000]
