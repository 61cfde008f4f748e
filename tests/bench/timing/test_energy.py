"""Energy from tick to tick, of a made-up device whose counter grows every 0.1 s."""

import math

import pytest

from gemmbench.bench.timing.telemetry import EnergyCounter


class Counter:
    """Draws `watts`; its counter shows the energy at the last tick. Its own clock."""

    def __init__(self, watts=500.0, tick=0.1):
        self.watts, self.tick, self.seconds = watts, tick, 0.03

    def now(self):
        return self.seconds

    def energy(self):
        return self.watts * self.tick * math.floor(self.seconds / self.tick)

    def watch(self, seconds, step=0.002):
        """A counter that was polled all the time."""
        found = EnergyCounter(self)
        while self.seconds < seconds:
            self.seconds += step
            found.poll()
        return found


def test_energy_is_counted_from_tick_to_tick():
    found = Counter().watch(2.0).count(0.25, 1.05)
    assert (found.joules, found.seconds) == (pytest.approx(350), pytest.approx(0.7, abs=0.004))


@pytest.mark.parametrize("start", [0.21, 0.25, 0.29])
@pytest.mark.parametrize("length", [0.35, 0.4, 0.45])
def test_the_power_does_not_depend_on_where_the_ticks_are(start, length):
    found = Counter().watch(2.0).count(start, start + length)
    assert found.joules / found.seconds == pytest.approx(500, rel=0.01)


def test_one_tick_is_not_enough():
    assert Counter().watch(2.0).count(0.25, 0.35) is None


def test_a_counter_that_is_unknown_has_no_energy():
    assert Counter(watts=math.nan).watch(2.0).count(0.0, 2.0) is None
