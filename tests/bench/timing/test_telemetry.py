"""Which looks at the device a row may claim; times by hand."""

import math
import threading

import pytest

from gemmbench.backends.base import Window
from gemmbench.backends.fake.monitor import FakeMonitor
from gemmbench.backends.monitor import Reading
from gemmbench.bench.timing.telemetry import Look, Span, Watch, telemetry


def look(start, *slowed, end=None, **seen):
    return Look(start, start + 0.001 if end is None else end, Reading(**seen, slowed=frozenset(slowed)))


def test_temperature_and_reasons_come_from_the_first_window_to_the_last():
    looks = [
        look(0.90, "sync boost", temperature=90.0),  # before
        look(1.05, "power cap", temperature=50.0),
        look(2.00, "power brake", temperature=52.0, sm_clock=1.9e9, memory_clock=3e9),  # between its windows
        look(3.20, "hardware slowdown", temperature=95.0),  # after
    ]
    seen = telemetry(looks, [Span(1.0, 1.1), Span(3.0, 3.1)], [0, 2])
    assert (seen.readings, seen.temperature, seen.slowed_by) == (2, 52.0, ["power brake", "power cap"])
    assert (seen.sm_clock_hz, seen.memory_clock_hz, seen.other_processes) == (1.9e9, 3e9, 2)


def test_a_row_of_short_windows_still_gets_the_looks_20_ms_around_them():
    around = [look(0.985, temperature=40.0), look(1.015, temperature=41.0)]
    seen = telemetry(around, [Span(1.0, 1.001)], [])
    assert (seen.readings, seen.temperature, seen.other_processes) == (2, 41.0, None)


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
    seen = telemetry([look(start, end=end, power=300.0)], [Span(1.0, 1.2), Span(1.4, 1.401)], [])
    assert seen.power == power


def test_power_is_the_median_of_what_is_known():
    looks = [look(0.06 + 0.01 * number, power=value) for number, value in enumerate((300, 100, math.nan, 320))]
    assert telemetry(looks, [Span(0.0, 1.0)], []).power == 300


class Timed:
    """An executable of so many seconds on a made-up clock."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds = clock, seconds

    def time(self, launches):
        self.clock[0] += self.seconds
        return Window(self.seconds, launches)


def test_only_the_windows_that_were_samples_count():
    clock, monitor = [0.0], FakeMonitor({"temperature": 40})
    with Watch(monitor, lambda: clock[0]) as watch:
        marked = [watch.marked(Timed(clock, seconds)) for seconds in (1.0, 0.5)]
        for executable in (marked[0], marked[1], marked[1]):  # a warm-up, then a round
            executable.time(1)
    watch._looks = [look(0.5, temperature=80.0), look(1.2, temperature=60.0), look(1.7, temperature=50.0)]
    assert watch.telemetry(1, 1).temperature == 50
    assert watch.telemetry(1, 2).temperature == 60
    assert watch.telemetry(0, 1).temperature == 80
    assert watch.telemetry(0, 0) is None


def test_looking_ends_with_the_block_even_when_it_fails():
    before = threading.active_count()
    with pytest.raises(KeyError), Watch(FakeMonitor({"others": 3})):
        assert threading.active_count() == before + 1
        raise KeyError
    assert threading.active_count() == before


def test_without_a_monitor_nothing_is_wrapped_or_started():
    executable, before = Timed([0.0], 1.0), threading.active_count()
    with Watch(None) as watch:
        assert watch.marked(executable) is executable
        assert threading.active_count() == before
    assert watch.telemetry(0, 3) is None
