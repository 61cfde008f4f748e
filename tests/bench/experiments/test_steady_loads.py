"""Steady loads: who runs when, what a row gets from it, and a simulated GPU at its power limit.

There a steady load shows what a hungry kernel costs, which interleaved windows hide: power is
100 W + k (f / f0)^3, a governor moves the clock f so that the average power stays at 700 W, and kernel A is
3 % faster than B at equal clocks and draws 12 % more power.
"""

import itertools
import math
from dataclasses import replace

import pytest

from gemmbench.backends.base import Reading, Window
from gemmbench.backends.fake.backend import FakeBackend, FakeExecutable
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.steady_loads import LoadSensors, measure_load
from gemmbench.bench.record import Sustained
from gemmbench.planning.sweeps.policy import Policy
from tests.bench.conftest import ODD

ASKED = Policy(rounds=2, sustained=4.0)
TIMES = {"naive": 2e-3, "tiled": 1e-3, "base": 1e-3}
SHORT = {"tiled": 1e-5, "base": 1e-5}


@pytest.fixture
def measure(experiment):
    """Records of a batch with a steady load, by name; `base` is the baseline."""

    def run(*names, policy=ASKED, problem=ODD, repeated=(), rivals=(), interrupted=lambda: False, **script):
        backend = FakeBackend(Script(**{"times": TIMES, **script}))
        changes = {"anchors": ("base", *rivals), "repeated": repeated}
        options = {"policy": policy, "problem": problem, "changes": changes, "is_interrupted": interrupted}
        return {record.variant: record for record in experiment(*names, backend=backend, **options)}

    return run


@pytest.fixture
def loads(monkeypatch, watch_calls):
    """The names of the kernels under load, in order."""
    seen, bind = [], FakeBackend.bind

    def bound(self, name, *rest, **options):
        executable = bind(self, name, *rest, **options)
        executable.name = name
        return executable

    monkeypatch.setattr(FakeBackend, "bind", bound)
    watch_calls(FakeExecutable, "sustain", lambda self, *_: seen.append(self.name))
    return seen


def test_the_baseline_runs_twice_between_two_loads_of_a_kernel(measure, loads):
    measure("naive", "tiled", "base")
    heating, *rows = loads
    assert heating == "base"
    assert rows == ["naive", "naive", "base", "base", "naive", "tiled", "tiled", "base", "base", "tiled"]


def test_windows_are_long_however_short_a_launch_is_and_hold_two_graphs(measure, watch_calls):
    """The host has the time of a window for queueing the next one; graphs fit more launches into a queue.

    With two windows in the queue no more than four graphs wait, and none is launched again meanwhile.
    """
    seen = set()
    watch_calls(FakeExecutable, "sustain", lambda self, launches, watch: seen.add((launches, self.unit)))
    assert measure("tiled", "base", times=SHORT)["tiled"].graph
    assert {launches for launches, _ in seen} == {2500} and FakeBackend.max_launches < 2500
    assert all(0.4 < unit / launches <= 0.5 for launches, unit in seen)


def test_the_baseline_alone_is_loaded_too_and_a_longer_load_has_more_blocks(measure, loads):
    assert len(measure("base")["base"].sustained.own) == 2 and loads == ["base"] * 3
    loads.clear()
    found = measure("tiled", "base", policy=replace(ASKED, sustained=8.0))
    assert loads[1:] == ["tiled", *["tiled", "base", "base", "tiled"] * 2]
    assert len(found["tiled"].sustained.own) == len(found["tiled"].sustained.baseline) == 4


def test_a_row_has_speed_power_and_energy_next_to_its_burst_in_no_more_than_its_seconds(measure):
    watch = {"temperature": 61, "watts": {"tiled": 700, "base": 500}, "slowed": ["power cap"]}
    found = measure("tiled", "base", sustained={"tiled": 1.25e-3}, watch=watch)
    tiled, base = found["tiled"].sustained, found["base"].sustained
    assert found["tiled"].samples == pytest.approx([1e-3] * 2) and tiled.time == pytest.approx(1.25e-3)
    assert tiled.speed_ratio == pytest.approx(0.8)
    assert tiled.watts == pytest.approx(700) and tiled.joules == pytest.approx(0.875)
    assert (tiled.clock_hz, tiled.temperature) == (pytest.approx(1e9), 61)
    assert tiled.slowed_by == ["power cap"] and tiled.settled
    assert base.own == tiled.baseline and base.baseline == []
    assert base.watts == pytest.approx(500)
    assert sum(each.seconds for each in [*tiled.own, *tiled.baseline]) <= 4.1


def test_no_rival_takes_the_place_of_a_baseline_that_is_wrong(measure, loads):
    found = measure("naive", "tiled", "base", rivals=("naive", "tiled"), faults={"base": "zero"})
    assert loads == ["naive"] * 3 + ["tiled"] * 3
    assert [found[name].sustained.baseline for name in ("naive", "tiled")] == [[], []]


@pytest.mark.parametrize(("precision", "loaded"), [("f32", False), ("f16", True), ("bf16", True), ("tf32", True)])
def test_it_is_the_default_where_products_run_on_tensor_cores(measure, loads, precision, loaded):
    problem = replace(ODD, precision_name=precision)
    found = measure("tiled", "base", policy=Policy(rounds=2), problem=problem)
    assert {bool(record.sustained) for record in found.values()} == {loaded} == {bool(loads)}
    measure("tiled", "base", policy=Policy(rounds=2, sustained=0.0), problem=problem)
    assert len(loads) == (6 if loaded else 0)


def test_configurations_that_are_measured_again_and_kernels_with_long_launches_are_not_loaded(measure, loads):
    found = measure("naive", "tiled", "base", repeated=("naive",))
    assert "naive" not in loads and found["naive"].sustained is None and found["tiled"].sustained
    assert measure("naive", "base", repeated=("naive", "base"))["base"].sustained is None
    slow = measure("naive", "base", times={"naive": 0.2, "base": 1e-3})["naive"]
    assert (slow.sustained, slow.status) == (None, "ok")


@pytest.mark.parametrize("method", ["sustain", "time"], ids=["under load", "in the audit"])
def test_a_kernel_that_fails_under_load_or_in_the_audit_after_it_fails_alone(measure, loads, watch_calls, method):
    def crash(self, *_):
        if self.name == "naive" and (method == "sustain" or "naive" in loads):
            self.fault = "crash"

    watch_calls(FakeExecutable, method, crash)
    found = measure("naive", "tiled", "base")
    assert (found["naive"].status, found["naive"].reason) == ("failed", "crashed, as scripted")
    assert [(found[name].status, bool(found[name].sustained)) for name in ("tiled", "base")] == [("ok", True)] * 2


def test_what_computes_wrongly_under_load_is_wrong(measure, loads, watch_calls):
    def spoil(self, *_):
        for step in self.steps:
            step.fault = "unwritten" if self.name == "tiled" else ""

    watch_calls(FakeExecutable, "sustain", spoil)
    assert measure("tiled", "base")["tiled"].status == "wrong"


@pytest.mark.parametrize("culprit", ["tiled", "base"])
def test_who_writes_over_operands_under_load_is_named(measure, loads, watch_calls, culprit):
    def overwrite(self, *_):
        self.memory.bytes[self.sets[0][0]["A"]] ^= self.name == culprit

    watch_calls(FakeExecutable, "sustain", overwrite)
    found = measure("naive", "tiled", "base")
    assert {name for name, record in found.items() if record.status == "wrong"} == {culprit}
    assert found[culprit].reason == "guard check: something wrote over A, B or the guard zones"
    assert found["naive"].status == "ok" and bool(found["naive"].sustained.baseline) == (culprit == "tiled")


def test_an_interruption_leaves_rows_without_a_load(measure, loads):
    found = measure("tiled", "base", interrupted=lambda: len(loads) > 2)
    assert [record.sustained for record in found.values()] == [None, None]
    assert all(record.samples for record in found.values())


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


def test_a_steady_kernel_counts_after_three_stretches_and_the_load_is_closed_when_it_is_over():
    device = Device()
    load = device.measure()
    assert device.closed and load.settled and load.seconds == pytest.approx(0.85, abs=0.03)
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
    assert load.clock_hz == pytest.approx(device.clock(1.0)) and load.time == pytest.approx(2e6 / load.clock_hz)
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


def test_without_sensors_there_is_a_speed_and_no_power():
    load = measure_load(Device(), 25, 1.0, LoadSensors(None), lambda: False)
    assert load.time == pytest.approx(1e-3)
    assert (load.joules, load.temperature, load.slowed_by) == (None, None, [])


LIMIT, SETTLING, STEP = 700.0, 0.02, 1e-3


class Gpu:
    """The clock and the average power of a device; its own monitor."""

    def __init__(self):
        self.clock, self.average, self.seconds, self.joules = 1.0, 100.0, 0.0, 0.0

    def run(self, seconds, k):
        power = 100.0 + k * self.clock**3
        share = 1 - math.exp(-seconds / SETTLING)
        self.average += share * (power - self.average)
        self.clock = min(1.0, max(0.4, self.clock * (1 + 0.3 * share * (LIMIT - self.average) / LIMIT)))
        self.seconds, self.joules = self.seconds + seconds, self.joules + power * seconds

    def now(self):
        return self.seconds

    def energy(self):
        return self.joules

    def read(self):
        return Reading(self.average, 50.0)


class Kernel:
    """A launch of `work` seconds at the full clock, with the power factor k."""

    def __init__(self, gpu, work, k):
        self.gpu, self.work, self.k = gpu, work, k

    def sustain(self, launches, watch):
        while True:
            left, seconds, cycles = self.work * launches, 0.0, 0.0
            while left > 1e-12:
                step = min(STEP, left / self.gpu.clock)
                left, seconds, cycles = left - step * self.gpu.clock, seconds + step, cycles + step * self.gpu.clock
                self.gpu.run(step, self.k)
            yield Window(seconds, launches, 2e9 * cycles / seconds)
            watch()


def test_a_steady_load_shows_the_hungry_kernel_to_be_slower():
    gpu = Gpu()
    a, b = Kernel(gpu, 2e-4 / 1.03, 1000.0), Kernel(gpu, 2e-4, 1000.0 / 1.12)
    loads = [measure_load(each, 100, 1.0, LoadSensors(gpu), lambda: False) for each in (a, b, b, a)]
    found = Sustained(own=[loads[0], loads[3]], baseline=[loads[1], loads[2]])
    assert found.speed_ratio == pytest.approx(1.03 / 1.12 ** (1 / 3), abs=0.005)  # 0.992
    assert found.watts == pytest.approx(LIMIT, rel=0.01) and found.settled
