"""Warming up, on a made-up device whose clock and power take their time."""

import math

import pytest

from gemmbench.backends.base import Reading, Window
from gemmbench.bench.timing.blocks import WarmUp


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


def test_a_steady_device_is_warm_after_three_stretches_of_50_ms():
    assert Device(constant(4e-3)).warm_up() == pytest.approx(0.15, abs=0.02)


def test_short_limits_have_short_stretches():
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


def test_it_ends_at_its_limit():
    assert Device(ramp(1e-3, 9e-3, 10.0)).warm_up(limit=1.0) == pytest.approx(1.0, abs=0.06)


def test_the_time_that_windows_cost_the_host_counts_too():
    assert Device(ramp(1e-6, 9e-6, 10.0), host_seconds=2e-3).warm_up(limit=1.0) == pytest.approx(1.0, abs=0.06)


def test_the_longest_kernel_does_not_hide_the_others():
    assert Device(constant(50e-3), ramp(1e-3, 2e-3, 1.0)).warm_up() > 0.9


def test_what_has_long_windows_runs_once():
    device = Device(constant(1e-3), constant(0.25))
    device.warm_up()
    assert device.windows.count(1) == 1 and device.windows.count(0) > 100


def test_what_fails_drops_out():
    asked = []
    WarmUp(asked.append, lambda: False).run([0, 1], 3.0)
    assert asked == [0, 1]


def test_an_interruption_ends_it():
    device = Device(ramp(1e-3, 9e-3, 10.0))
    device.warm_up(is_interrupted=lambda: len(device.windows) >= 3)
    assert len(device.windows) == 3
