"""Numbers as text."""

import math

import pytest

from gemmbench.bench.timing.stats import Interval
from gemmbench.report.text import count_noun, number, percent, with_interval


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (math.nan, "-"),
        (0, "0"),
        (1, "1.000"),
        (12.3456, "12.35"),
        (123.456, "123.5"),
        (1234.56, "1235"),
        (51234567.0, "51234567"),
        (0.123456, "0.1235"),
        (0.00123456, "0.001235"),
        (0.0000123456, "0.00001235"),
        (-12.3456, "-12.35"),
        (99.994, "99.99"),
        (99.996, "100.0"),
        (9.9996, "10.00"),
        (999.96, "1000"),
        (0.99999, "1.000"),
    ],
)
def test_a_number_has_four_digits_and_no_exponent(value, text):
    assert number(value) == text


def test_an_interval_follows_its_value_in_brackets():
    assert with_interval(Interval(98.312, 98.02, 98.604)) == "98.31 [98.02, 98.60]"
    assert with_interval(Interval(98.312)) == "98.31"
    assert with_interval(Interval(math.nan)) == "-"


def test_shares_and_counts():
    assert (percent(0.754), percent(None)) == ("75 %", "-")
    assert (count_noun(0, "row"), count_noun(1, "row"), count_noun(2, "row")) == ("0 rows", "1 row", "2 rows")
