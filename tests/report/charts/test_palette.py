"""Colors that can be read, and told apart."""

import pytest

from gemmbench.report.charts.palette import DARK, LIGHT, contrasting, heat_color
from gemmbench.report.charts.styles import choose_styles, dash_of, marker_of


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
