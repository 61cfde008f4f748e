"""One block of a steady load, on a made-up device."""

import itertools
import math

import pytest

from gemmbench.backends.base import Reading, Window
from gemmbench.bench.experiments.steady_loads import LoadSensors, measure_load


class Device:
    """A kernel of 1 ms at full clock; power, temperature and clock are functions of the time. Its own monitor."""

    def __init__(self, power=lambda now: 500.0, temperature=lambda now: 50.0, clock=lambda now: 2e9, slowed=()):
        self.power, self.temperature, self.clock, self.slowed = power, temperature, clock, slowed
        self.seconds, self.joules, self.shown, self.closed = 0.0, 0.0, 0.0, False

    def sustain(self, launches, watch):
        try:
            while True:
                clock = self.clock(self.seconds)
                seconds = launches * 1e-3 * 2e9 / clock
                for _ in range(20):
                    self._work(seconds / 20)
                    watch()
                yield Window(seconds, launches, clock)
        finally:
            self.closed = True

    def _work(self, seconds):
        before = int(self.seconds / 0.1)
        self.joules += self.power(self.seconds) * seconds
        self.seconds += seconds
        if int(self.seconds / 0.1) > before:
            self.shown = self.joules

    def now(self):
        return self.seconds

    def energy(self):
        return self.shown

    def read(self):
        now = self.seconds
        slowed = {name for name, until in self.slowed if now < until}
        return Reading(self.power(now), self.temperature(now), self.clock(now), math.nan, frozenset(slowed))

    def measure(self, seconds=1.0, is_interrupted=lambda: False):
        return measure_load(self, 25, seconds, LoadSensors(self), is_interrupted)


def falling(start, end, until):
    return lambda now: start + (end - start) * min(1.0, now / until)


def test_a_steady_kernel_counts_after_three_stretches():
    load = Device().measure()
    assert load.settled and load.seconds == pytest.approx(0.85, abs=0.03)
    assert load.time == pytest.approx(1e-3) and load.clock_hz == pytest.approx(2e9)
    assert load.joules / load.joules_seconds == pytest.approx(500, rel=0.01)
    assert 0.6 <= load.joules_seconds <= 0.85


@pytest.mark.parametrize(
    "device",
    [
        Device(clock=falling(2e9, 1.6e9, 0.2)),
        Device(power=falling(100.0, 500.0, 0.2)),
        Device(temperature=falling(30.0, 50.0, 0.2)),
    ],
    ids=["clock", "power", "temperature"],
)
def test_counting_begins_when_clock_power_and_temperature_are_steady(device):
    load = device.measure()
    assert load.settled and load.seconds < 0.7
    assert load.clock_hz == pytest.approx(device.clock(1.0))
    assert load.joules / load.joules_seconds == pytest.approx(500, rel=0.02)


def test_a_device_that_does_not_settle_counts_for_half_of_the_block_and_says_so():
    load = Device(temperature=falling(30.0, 90.0, 1.0)).measure()
    assert not load.settled and load.seconds == pytest.approx(0.5, abs=0.06)
    assert load.temperature == pytest.approx(90, abs=3)


def test_what_held_the_clock_down_counts_only_after_settling():
    load = Device(slowed=[("power cap", 9.0), ("thermal slowdown by software", 0.1)]).measure()
    assert load.slowed_by == ["power cap"]


def test_an_interruption_ends_the_load_and_leaves_nothing():
    device, calls = Device(), itertools.count()
    assert device.measure(is_interrupted=lambda: next(calls) > 10) is None
    assert device.closed and device.seconds < 0.5


def test_the_load_is_closed_when_it_is_over():
    device = Device()
    device.measure()
    assert device.closed


def test_without_sensors_there_is_a_speed_and_no_power():
    load = measure_load(Device(), 25, 1.0, LoadSensors(None), lambda: False)
    assert load.time == pytest.approx(1e-3)
    assert (load.joules, load.temperature, load.slowed_by) == (None, None, [])
