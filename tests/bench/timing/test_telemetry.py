"""Which readings of the device belong to a row, and energy from tick to tick; times by hand."""

import math
import threading

import pytest

from gemmbench.backends.base import Reading, Window
from gemmbench.backends.fake.script import FakeMonitor
from gemmbench.bench.timing.telemetry import EnergyCounter, Span, TelemetrySampler, TimedReading, summarize_readings


def read_at(start, *slowed, end=None, **seen):
    return TimedReading(start, start + 0.001 if end is None else end, Reading(**seen, slowed=frozenset(slowed)))


def test_temperature_and_clocks_come_from_the_first_window_to_the_last_and_20_ms_around_them():
    readings = [
        read_at(0.90, temperature=90.0),  # before
        read_at(1.05, temperature=50.0),
        read_at(2.00, temperature=52.0, sm_clock=1.9e9, memory_clock=3e9),  # between its windows
        read_at(3.20, temperature=95.0),  # after
    ]
    seen = summarize_readings(readings, [Span(1.0, 1.1), Span(3.0, 3.1)], [0, 2])
    assert (seen.readings, seen.temperature) == (2, 52.0)
    assert (seen.sm_clock_hz, seen.memory_clock_hz, seen.other_processes) == (1.9e9, 3e9, 2)
    around = [read_at(0.985, temperature=40.0), read_at(1.015, temperature=41.0)]  # a short window
    seen = summarize_readings(around, [Span(1.0, 1.001)], [])
    assert (seen.readings, seen.temperature, seen.other_processes) == (2, 41.0, None)


def test_a_row_is_throttled_by_what_was_read_in_its_own_windows():
    readings = [
        read_at(1.05, "power cap"),
        read_at(1.50, "power brake"),  # in a window of its neighbour
        read_at(1.995, "hardware slowdown", end=2.01),  # began in that window
        read_at(2.05, "sync boost"),
    ]
    own, neighbour = [Span(1.0, 1.1), Span(2.0, 2.1)], [Span(1.2, 1.999)]
    assert summarize_readings(readings, own, []).slowed_by == ["power cap", "sync boost"]
    assert summarize_readings(readings, neighbour, []).slowed_by == ["power brake"]


@pytest.mark.parametrize(
    ("start", "end", "power"),
    [
        (1.06, 1.07, 300.0),
        (1.04, 1.05, None),  # the sensor still averages over what ran before
        (1.19, 1.21, None),  # the window ended while it was asked
        (0.99, 1.30, None),
    ],
)
def test_power_comes_from_inside_a_window_of_its_own_that_is_long_enough(start, end, power):
    spans = [Span(1.0, 1.2), Span(1.4, 1.401)]
    assert summarize_readings([read_at(start, end=end, power=300.0)], spans, []).power == power


def test_power_is_the_median_of_what_is_known():
    readings = [read_at(0.06 + 0.01 * number, power=value) for number, value in enumerate((300, 100, math.nan, 320))]
    assert summarize_readings(readings, [Span(0.0, 1.0)], []).power == 300


class Timed:
    """An executable of so many seconds on a made-up clock."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds = clock, seconds

    def time(self, launches):
        self.clock[0] += self.seconds
        return Window(self.seconds, launches)


def test_only_the_windows_that_were_samples_count():
    clock, monitor = [0.0], FakeMonitor({"temperature": 40})
    with TelemetrySampler(monitor, lambda: clock[0]) as sampler:
        marked = [sampler.track(Timed(clock, seconds)) for seconds in (1.0, 0.5)]
        for executable in (marked[0], marked[1], marked[1]):  # a warm-up, then a round
            executable.time(1)
    sampler._readings = [read_at(0.5, temperature=80.0), read_at(1.2, temperature=60.0), read_at(1.7, temperature=50.0)]
    assert sampler.summarize(1, 1).temperature == 50
    assert sampler.summarize(1, 2).temperature == 60
    assert sampler.summarize(0, 1).temperature == 80
    assert sampler.summarize(0, 0) is None


def test_sampling_ends_with_the_block_even_when_it_fails():
    before = threading.active_count()
    with pytest.raises(KeyError), TelemetrySampler(FakeMonitor({"others": 3})):
        assert threading.active_count() == before + 1
        raise KeyError
    assert threading.active_count() == before


def test_without_a_monitor_nothing_is_wrapped_or_started():
    executable, before = Timed([0.0], 1.0), threading.active_count()
    with TelemetrySampler(None) as sampler:
        assert sampler.track(executable) is executable
        assert threading.active_count() == before
    assert sampler.summarize(0, 3) is None


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


def test_one_tick_is_not_enough_and_a_counter_that_is_unknown_has_no_energy():
    assert Counter().watch(2.0).count(0.25, 0.35) is None
    assert Counter(watts=math.nan).watch(2.0).count(0.0, 2.0) is None
