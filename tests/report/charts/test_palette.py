"""Colors that can be read, and told apart."""

import itertools

import numpy as np
import pytest

from gemmbench.report.charts.chart_style import DARK, LIGHT, choose_styles, contrasting, dash_of, heat_color, marker_of


def luminance(color):
    channels = [int(color[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


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
    channels = np.array([int(color[index : index + 2], 16) / 255 for index in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(np.array(XYZ) @ np.clip(np.array(vision) @ linear, 0, 1) / [0.9505, 1, 1.0888])
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
