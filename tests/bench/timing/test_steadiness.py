"""When the last observations agree."""

import math

import pytest

from gemmbench.bench.timing.blocks import Observation, Steadiness, Tolerance


def is_steady(*observations, tolerance=None):
    steadiness = Steadiness(tolerance)
    for observation in observations:
        steadiness.add(observation)
    return steadiness.is_steady


def observe(time=1.0, clock=1.7e9, power=500.0, temperature=50.0):
    return Observation(time, clock, power, temperature)


def test_three_equal_observations_are_steady_and_two_are_not():
    assert is_steady(*[observe()] * 3)
    assert not is_steady(*[observe()] * 2)


@pytest.mark.parametrize("name, moved, close", [("time", 1.01, 1.004), ("clock", 1.72e9, 1.705e9), ("power", 520, 505)])
def test_each_of_time_clock_and_power_must_agree(name, moved, close):
    assert not is_steady(observe(), observe(), observe(**{name: moved}))
    assert is_steady(observe(), observe(), observe(**{name: close}))


def test_what_came_earlier_does_not_count():
    assert is_steady(observe(time=9.0), *[observe()] * 3)


@pytest.mark.parametrize("name", ["clock", "power", "temperature"])
def test_what_is_unknown_does_not_count(name):
    assert is_steady(observe(), observe(**{name: math.nan}), observe(**{name: 1.0}))


def test_temperature_counts_where_a_tolerance_says_so():
    rising = [observe(temperature=degrees) for degrees in (50.0, 51.0, 52.0)]
    assert is_steady(*rising)
    assert not is_steady(*rising, tolerance=Tolerance(temperature=1.0))
    assert is_steady(*rising, tolerance=Tolerance(temperature=2.0))
