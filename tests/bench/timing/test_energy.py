"""Energy of a launch; a made-up device that draws 500 W while it works and 100 W while it waits."""

import math

import pytest

from gemmbench.backends.base import Window
from gemmbench.bench.record import Telemetry
from gemmbench.bench.timing.energy import measure_energy, with_energy


class Device:
    """A kernel of `seconds`, with `idle` seconds before each window; its own monitor and its own clock."""

    def __init__(self, seconds, idle=0.0, unknown=False):
        self.seconds, self.idle, self.unknown = seconds, idle, unknown
        self.now = self.joules = 0.0
        self.windows = []

    def time(self, launches):
        busy = launches * self.seconds
        self.now += self.idle + busy
        self.joules += 100 * self.idle + 500 * busy
        self.windows.append(launches)
        return Window(busy, launches)

    def energy(self):
        return math.nan if self.unknown else self.joules

    def measure(self, seconds=1.0, most=512, is_interrupted=lambda: False):
        return measure_energy(self, self, seconds, most, is_interrupted, clock=lambda: self.now)


def test_joules_are_power_times_the_time_of_a_launch():
    found = Device(1e-3).measure()
    assert found.joules == pytest.approx(0.5)
    assert found.watts == pytest.approx(500)
    assert 1.0 <= found.seconds < 1.11


def test_the_load_begins_a_quarter_before_it_counts_in_windows_of_a_tenth_of_a_second():
    device = Device(1e-3)
    device.measure(2.0)
    assert device.windows == [1] + [100] * 25


def test_idle_time_between_windows_is_in_the_joules():
    found = Device(1e-3, idle=5e-3).measure()
    assert found.joules == pytest.approx(0.505)


def test_a_device_that_waits_too_long_between_windows_has_no_energy():
    assert Device(1e-5, idle=1e-3).measure(most=512) is None


@pytest.mark.parametrize("device", [Device(1e-3, unknown=True), Device(0.01)])
def test_an_unknown_counter_or_too_little_load_has_no_energy(device):
    assert device.measure(seconds=0.05) is None


def test_a_slow_kernel_takes_one_window():
    device = Device(3.0)
    assert device.measure().joules == pytest.approx(1500)
    assert device.windows == [1, 1, 1]


def test_an_interruption_ends_the_load():
    device = Device(1e-3)
    assert device.measure(is_interrupted=lambda: len(device.windows) > 3) is None
    assert len(device.windows) <= 5


def test_energy_joins_what_else_was_seen():
    seen = Telemetry(readings=3, temperature=50.0)
    assert with_energy(seen, None) is seen
    both = with_energy(seen, Device(1e-3).measure())
    assert (both.temperature, both.energy, both.energy_power) == (50.0, pytest.approx(0.5), pytest.approx(500))
