"""Numbers and names as text."""

import math

import pytest

from gemmbench.bench.timing.stats import Interval
from gemmbench.report.text import (
    count_noun,
    format_duration,
    number,
    number_within,
    percent,
    with_interval,
)


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


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(51.13, 51.09, 51.19), "51.1 +- 0.06"),
        (Interval(51.13, 51.07, 51.17), "51.1 +- 0.06"),
        (Interval(0.7458, 0.5685, 1.1), "0.75 +- 0.4"),
        (Interval(5.2462, 5.2449, 5.2471), "5.246 +- 0.001"),
        (Interval(9.996, 9.9, 10.1), "10.0 +- 0.1"),
        (Interval(51231.0, 51100.0, 51300.0), "51200 +- 100"),
        (Interval(0.0004123, 0.0004111, 0.0004134), "0.000412 +- 0.000001"),
        (Interval(3.0, 0.1, 9.0), "0.10 to 9.0"),
        (Interval(50.0, 49.9999999, 50.0000001), "50.000 +- 0"),
        (Interval(50.0, 50.0, 50.0), "50.00 +- 0"),
        (Interval(98.312), "98.3"),
        (Interval(math.nan), "-"),
    ],
)
def test_the_digits_of_an_estimate_follow_its_interval(interval, text):
    assert with_interval(interval) == text


@pytest.mark.parametrize("half_width", [0.001, 0.0049, 0.0051, 0.03, 0.4, 0.99])
def test_rounding_stays_inside_the_interval(half_width):
    value = 51.23456
    shown = with_interval(Interval(value, value - half_width, value + half_width))
    assert abs(float(shown.partition(" ")[0]) - value) <= half_width


def test_a_derived_number_has_the_digits_that_its_source_supports():
    time = Interval(2.0, 1.99, 2.01)
    assert number_within(26197.0, time) == "26200"
    assert number_within(39.17, time) == "39.2"
    assert number_within(39.17, Interval(2.0)) == "39.2" and number_within(math.nan, time) == "-"
    assert number_within(1.1673, Interval(2.0, 1.9999, 2.0001), most=3) == "1.17"


def test_shares_and_counts_have_no_more_digits_than_they_need():
    assert (percent(0.754), percent(None)) == ("75 %", "-")
    assert [count_noun(count, "row") for count in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (100, "1 min 40 s"), (7500, "2 h 5 min")]
)
def test_durations(seconds, said):
    assert format_duration(seconds) == said
