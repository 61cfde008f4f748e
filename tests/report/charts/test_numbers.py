"""Numbers with separators, and the digits that their intervals support."""

import math

import pytest

from gemmbench.bench.timing.stats import Interval
from gemmbench.report.charts.chart_style import format_estimate, format_interval, format_number


@pytest.mark.parametrize(
    ("value", "text"),
    [(51640.4, "51,640"), (1234567, "1,234,567"), (98.349, "98.35"), (0.5, "0.5"), (0, "0"), (100, "100")],
)
def test_numbers_have_separators_and_no_exponent(value, text):
    assert format_number(value) == text


def test_an_unknown_number_is_a_dash():
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
