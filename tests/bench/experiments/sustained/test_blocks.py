"""Kernel, baseline, baseline, kernel: who runs when, and what a row gets from it."""

from dataclasses import replace

import pytest

from gemmbench.backends.fake.backend import FakeBackend, FakeExecutable
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.errors import LaunchError
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy
from tests.bench.conftest import CODE

pytestmark = pytest.mark.usefixtures("few_sets")

SMALL = Problem(33, 17, 19)
ASKED = Policy(rounds=2, sustained=4.0)
TIMES = {"naive": 2e-3, "tiled": 1e-3, "base": 1e-3}


@pytest.fixture
def measure(make_plan):
    """Records of a batch with a steady load, by name; `base` is the baseline."""

    def run(*names, policy=ASKED, problem=SMALL, repeated=(), rivals=(), interrupted=lambda: False, **script):
        plans = tuple(make_plan(name, problem) for name in names)
        batch = make_gemm_batch(plans, (CODE,) * len(plans), policy, anchors=("base", *rivals))
        worker = LocalWorker({"fake": FakeBackend(Script(**{"times": TIMES, **script}))}, is_interrupted=interrupted)
        return {record.variant: record for record in worker.experiment(replace(batch, repeated=repeated))}

    return run


@pytest.fixture
def loads(monkeypatch):
    """The names of the kernels under load, in order."""
    seen, bind, sustain = [], FakeBackend.bind, FakeExecutable.sustain

    def bound(self, name, *rest, **options):
        executable = bind(self, name, *rest, **options)
        executable.name = name
        return executable

    def noted(self, *arguments):
        seen.append(self.name)
        return sustain(self, *arguments)

    monkeypatch.setattr(FakeBackend, "bind", bound)
    monkeypatch.setattr(FakeExecutable, "sustain", noted)
    return seen


def test_the_baseline_runs_twice_between_two_loads_of_a_kernel(measure, loads):
    measure("naive", "tiled", "base")
    heating, *rows = loads
    assert heating == "base"
    assert rows == ["naive", "naive", "base", "base", "naive", "tiled", "tiled", "base", "base", "tiled"]


def test_windows_are_long_however_short_a_launch_is(measure, monkeypatch):
    """The host has the time of a window for queueing the next one; graphs fit more launches into a queue."""
    seen, sustain = set(), FakeExecutable.sustain

    def noted(self, launches, watch):
        seen.add(launches)
        return sustain(self, launches, watch)

    monkeypatch.setattr(FakeExecutable, "sustain", noted)
    measure("tiled", "base", times={"tiled": 1e-5, "base": 1e-5})
    assert seen == {2500} and FakeBackend.max_launches < 2500


def test_two_graphs_fill_a_window(measure, monkeypatch):
    """With two windows in the queue no more than four graphs wait, and none is launched again meanwhile."""
    units, sustain = set(), FakeExecutable.sustain

    def noted(self, launches, watch):
        units.add((launches, self.unit))
        return sustain(self, launches, watch)

    monkeypatch.setattr(FakeExecutable, "sustain", noted)
    found = measure("tiled", "base", times={"tiled": 1e-5, "base": 1e-5})
    assert found["tiled"].graph
    assert all(0.4 < unit / launches <= 0.5 for launches, unit in units)


def test_a_longer_load_has_more_blocks(measure, loads):
    found = measure("tiled", "base", policy=replace(ASKED, sustained=8.0))
    assert loads[1:] == ["tiled", *["tiled", "base", "base", "tiled"] * 2]
    assert len(found["tiled"].sustained.own) == len(found["tiled"].sustained.baseline) == 4


def test_a_row_has_speed_power_and_energy_next_to_its_burst(measure):
    watch = {"temperature": 61, "watts": {"tiled": 700, "base": 500}, "slowed": ["power cap"]}
    found = measure("tiled", "base", sustained={"tiled": 1.25e-3}, watch=watch)
    tiled, base = found["tiled"], found["base"]
    assert tiled.samples == pytest.approx([1e-3] * 2) and tiled.sustained.time == pytest.approx(1.25e-3)
    assert tiled.sustained.speed_ratio == pytest.approx(0.8)
    assert tiled.sustained.watts == pytest.approx(700) and tiled.sustained.joules == pytest.approx(0.875)
    assert (tiled.sustained.clock_hz, tiled.sustained.temperature) == (pytest.approx(1e9), 61)
    assert tiled.sustained.slowed_by == ["power cap"] and tiled.sustained.settled
    assert base.sustained.own == tiled.sustained.baseline and base.sustained.baseline == []
    assert base.sustained.watts == pytest.approx(500)


def test_the_baseline_alone_is_loaded_too(measure, loads):
    found = measure("base")
    assert loads == ["base"] * 3 and len(found["base"].sustained.own) == 2


def test_no_rival_takes_the_place_of_a_baseline_that_is_wrong(measure, loads):
    found = measure("naive", "tiled", "base", rivals=("naive", "tiled"), faults={"base": "zero"})
    assert loads == ["naive"] * 3 + ["tiled"] * 3
    assert [found[name].sustained.baseline for name in ("naive", "tiled")] == [[], []]


def test_a_row_takes_no_more_than_its_seconds(measure):
    load = measure("tiled", "base")["tiled"].sustained
    assert sum(each.seconds for each in [*load.own, *load.baseline]) <= 4.1


@pytest.mark.parametrize(("precision", "loaded"), [("f32", False), ("f16", True), ("bf16", True), ("tf32", True)])
def test_it_is_the_default_where_products_run_on_tensor_cores(measure, loads, precision, loaded):
    found = measure("tiled", "base", policy=Policy(rounds=2), problem=replace(SMALL, precision_name=precision))
    assert {bool(record.sustained) for record in found.values()} == {loaded} == {bool(loads)}
    measure("tiled", "base", policy=Policy(rounds=2, sustained=0.0), problem=replace(SMALL, precision_name=precision))
    assert len(loads) == (6 if loaded else 0)


def test_configurations_that_are_measured_again_are_not_loaded_yet(measure, loads):
    found = measure("naive", "tiled", "base", repeated=("naive",))
    assert "naive" not in loads and found["naive"].sustained is None and found["tiled"].sustained
    assert measure("naive", "base", repeated=("naive", "base"))["base"].sustained is None


def test_a_kernel_with_long_launches_has_no_load(measure):
    found = measure("naive", "base", times={"naive": 0.2, "base": 1e-3})
    assert found["naive"].sustained is None and found["naive"].status == "ok"


def test_a_kernel_that_fails_under_load_fails_alone(measure, monkeypatch):
    sustain = FakeExecutable.sustain

    def crash(self, *arguments):
        self.fault = self.fault and "crash"
        return sustain(self, *arguments)

    monkeypatch.setattr(FakeExecutable, "sustain", crash)
    found = measure("naive", "tiled", "base", faults={"naive": "print"})
    assert (found["naive"].status, found["naive"].reason) == ("failed", "crashed, as scripted")
    assert found["tiled"].sustained and found["tiled"].status == "ok"


def test_a_kernel_that_fails_in_the_audit_after_its_load_fails_alone(measure, monkeypatch):
    sustain, time = FakeExecutable.sustain, FakeExecutable.time

    def load(self, *arguments):
        self.loaded = True
        return sustain(self, *arguments)

    def crash(self, launches):
        if self.fault and hasattr(self, "loaded"):
            raise LaunchError("crashed in the audit")
        return time(self, launches)

    monkeypatch.setattr(FakeExecutable, "sustain", load)
    monkeypatch.setattr(FakeExecutable, "time", crash)
    found = measure("naive", "tiled", "base", faults={"naive": "print"})
    assert (found["naive"].status, found["naive"].reason) == ("failed", "crashed in the audit")
    assert [found[name].status for name in ("tiled", "base")] == ["ok", "ok"]


def test_what_computes_wrongly_under_load_is_wrong(measure, monkeypatch):
    sustain = FakeExecutable.sustain

    def spoil(self, *arguments):
        for step in self.steps:
            step.fault = step.fault and "unwritten"
        return sustain(self, *arguments)

    monkeypatch.setattr(FakeExecutable, "sustain", spoil)
    assert measure("tiled", "base", faults={"tiled": "print"})["tiled"].status == "wrong"


@pytest.mark.parametrize("culprit", ["tiled", "base"])
def test_who_writes_over_operands_under_load_is_named(measure, loads, monkeypatch, culprit):
    sustain = FakeExecutable.sustain

    def overwrite(self, *arguments):
        windows = sustain(self, *arguments)
        self.memory.bytes[self.sets[0][0].A] ^= self.name == culprit
        return windows

    monkeypatch.setattr(FakeExecutable, "sustain", overwrite)
    found = measure("naive", "tiled", "base")
    assert {name for name, record in found.items() if record.status == "wrong"} == {culprit}
    assert found[culprit].reason == "guard check: something wrote over A, B or the guard zones"
    assert found["naive"].status == "ok" and bool(found["naive"].sustained.baseline) == (culprit == "tiled")


def test_an_interruption_leaves_rows_without_a_load(measure, loads):
    found = measure("tiled", "base", interrupted=lambda: len(loads) > 2)
    assert [record.sustained for record in found.values()] == [None, None]
    assert all(record.samples for record in found.values())
