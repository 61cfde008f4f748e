"""Warming up, on a made-up device whose clock and power take their time, until observations agree."""

import math

import pytest

from gemmbench.backends.base import Reading, Window
from gemmbench.bench.timing.blocks import Observation, Steadiness, Tolerance, WarmUp


def is_steady(*observations, tolerance=None):
    steadiness = Steadiness(tolerance)
    for observation in observations:
        steadiness.add(observation)
    return steadiness.is_steady


def observe(time=1.0, clock=1.7e9, power=500.0, temperature=50.0):
    return Observation(time, clock, power, temperature)


def test_the_last_three_observations_count_and_two_are_too_few():
    assert is_steady(*[observe()] * 3) and is_steady(observe(time=9.0), *[observe()] * 3)
    assert not is_steady(*[observe()] * 2)


@pytest.mark.parametrize("name, moved, close", [("time", 1.01, 1.004), ("clock", 1.72e9, 1.705e9), ("power", 520, 505)])
def test_each_of_time_clock_and_power_must_agree(name, moved, close):
    assert not is_steady(observe(), observe(), observe(**{name: moved}))
    assert is_steady(observe(), observe(), observe(**{name: close}))


def test_what_is_unknown_does_not_count_and_temperature_only_where_a_tolerance_says_so():
    for name in ("clock", "power", "temperature"):
        assert is_steady(observe(), observe(**{name: math.nan}), observe(**{name: 1.0}))
    rising = [observe(temperature=degrees) for degrees in (50.0, 51.0, 52.0)]
    assert is_steady(*rising)
    assert not is_steady(*rising, tolerance=Tolerance(temperature=1.0))
    assert is_steady(*rising, tolerance=Tolerance(temperature=2.0))


class Device:
    """Kernels by index; each time, clock and power is a function of the seconds so far. Its own monitor."""

    def __init__(self, *times, clock=lambda now: 0.0, power=lambda now: math.nan, host_seconds=0.0):
        self.times, self.clock, self.power, self.host_seconds = times, clock, power, host_seconds
        self.now, self.windows = 0.0, []

    def time_window(self, index):
        seconds = self.times[index](self.now)
        self.now += seconds + self.host_seconds
        self.windows.append(index)
        return Window(seconds, 1, self.clock(self.now))

    def read(self):
        return Reading(power=self.power(self.now))

    def warm_up(self, limit=3.0, is_interrupted=lambda: False):
        WarmUp(self.time_window, is_interrupted, self, now=lambda: self.now).run(range(len(self.times)), limit)
        return self.now


def ramp(start, end, until):
    return lambda now: start + (end - start) * min(1.0, now / until)


def constant(seconds):
    return lambda now: seconds


def test_a_steady_device_is_warm_after_three_stretches_of_50_ms_or_shorter_ones_under_a_short_limit():
    assert Device(constant(4e-3)).warm_up() == pytest.approx(0.15, abs=0.02)
    assert Device(constant(1e-3)).warm_up(limit=0.3) == pytest.approx(0.015, abs=0.005)


@pytest.mark.parametrize(
    "device",
    [
        Device(ramp(5e-3, 4e-3, 1.0)),
        Device(constant(4e-3), clock=ramp(1.98e9, 1.7e9, 1.0)),
        Device(constant(4e-3), power=ramp(100, 600, 1.0)),
    ],
    ids=["time", "clock", "power"],
)
def test_it_lasts_until_time_clock_and_power_are_steady(device):
    assert 0.9 < device.warm_up() < 1.5


@pytest.mark.parametrize(
    "device",
    [Device(ramp(1e-3, 9e-3, 10.0)), Device(ramp(1e-6, 9e-6, 10.0), host_seconds=2e-3)],
    ids=["kernels", "host"],
)
def test_it_ends_at_its_limit_which_the_host_may_need_for_short_windows(device):
    assert device.warm_up(limit=1.0) == pytest.approx(1.0, abs=0.06)


def test_the_longest_kernel_does_not_hide_the_others():
    assert Device(constant(50e-3), ramp(1e-3, 2e-3, 1.0)).warm_up() > 0.9


def test_what_has_long_windows_runs_once_and_what_fails_drops_out():
    device, asked = Device(constant(1e-3), constant(0.25)), []
    device.warm_up()
    assert device.windows.count(1) == 1 and device.windows.count(0) > 100
    WarmUp(asked.append, lambda: False).run([0, 1], 3.0)
    assert asked == [0, 1]


def test_an_interruption_ends_it():
    device = Device(ramp(1e-3, 9e-3, 10.0))
    device.warm_up(is_interrupted=lambda: len(device.windows) >= 3)
    assert len(device.windows) == 3
