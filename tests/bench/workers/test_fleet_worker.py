"""Batches on the workers of a fleet: each row once, whatever becomes of the workers; searches too."""

import os
import signal
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import replace
from unittest.mock import Mock

import pytest

from gemmbench.backends.devices import DeviceChoice
from gemmbench.backends.fake.backend import FakeCompiler
from gemmbench.backends.fake.entry import describe_fake
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.workers import fleet_tasks
from gemmbench.bench.workers.connection import MOST_LOSSES, WorkersLost
from gemmbench.bench.workers.fleet_machine import FleetMachine
from gemmbench.bench.workers.fleet_tasks import Outcome
from gemmbench.bench.workers.fleet_worker import FleetCompiler, FleetRunner, FleetWorker
from gemmbench.bench.workers.messages import Open
from gemmbench.errors import BuildError, DeviceError
from gemmbench.planning.plans import configurations
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.overrides import SweepOverrides, TimeLimits
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.report.store.recorded_run import Destination
from gemmbench.session import tuning_runs
from gemmbench.session.fleet_machines import open_machines
from gemmbench.session.tuning_runs import TuneRequest, tune_kernels

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


class PaperCluster:
    """Two workers; `answer(batch, workers)` is what becomes of each task."""

    resource = "GPU"

    def __init__(self, answer):
        self.answer, self.done = answer, deque()
        self.workers = {"tcp://one:1": "one", "tcp://two:1": "two"}

    def list_workers(self):
        return self.workers

    def submit_measurement(self, function, task, workers):
        future = Mock()
        self.done.append((future, task.batch, workers))
        self.last = self.done[-1]
        return future

    def submit(self, function, *arguments, workers=None):
        return workers

    def next_done(self, seconds):
        self.current = self.done.popleft()
        return self.current[0]

    def take(self, future):
        return self.answer(*self.current[1:])

    def tell_workers(self, function, *arguments, workers=None):
        return []


@pytest.fixture
def measure_with_losses(make_plan, messages, make_record):
    """The records of a batch of three rows on a cluster with these answers."""

    def run(answer):
        cluster = PaperCluster(answer)
        choice = DeviceChoice("fake")
        machine = FleetMachine(choice, {"fake": describe_fake()}, connection=cluster, members=(), others=frozenset())
        plans = [make_plan(name) for name in ("naive", "tiled", "cublas")]
        batch = make_gemm_batch(plans, [None] * 3, Policy())
        batch = replace(batch, built=(((),) * 3))
        with FleetWorker(machine, Open(machine, ("fake",), True, TimeLimits()), messages.message) as worker:
            return worker.experiment(batch)

    def record_rows(batch):
        faults = dict(batch.faults)
        rows = [(chain.name, faults.get(number)) for number, chain in enumerate(batch.chains)]
        return [make_record(name, status="failed" if fault else "ok", reason=str(fault or "")) for name, fault in rows]

    run.record_rows = record_rows
    return run


def runs_row(batch, name):
    return any(chain.name == name and batch.find_fault(number) is None for number, chain in enumerate(batch.chains))


def test_a_kernel_that_takes_workers_down_is_left_out_and_the_others_are_measured(measure_with_losses, messages):
    def answer(batch, workers):
        if runs_row(batch, "tiled"):
            raise WorkersLost
        return Outcome("tcp://one:1", "card", measure_with_losses.record_rows(batch))

    records = {record.variant: record for record in measure_with_losses(answer)}
    assert {name: record.status for name, record in records.items()} == {
        "naive": "ok",
        "tiled": "failed",
        "cublas": "ok",
    }
    assert records["tiled"].reason == f"left out: {MOST_LOSSES + 1} workers were lost while it ran"
    assert "trying its rows one by one" in messages.texts[0]


def test_workers_that_are_lost_whatever_runs_end_the_run(measure_with_losses):
    def answer(batch, workers):
        if len(batch.faults) < 2:
            raise WorkersLost
        return Outcome("tcp://one:1", "card", measure_with_losses.record_rows(batch))

    with pytest.raises(DeviceError, match="again and again"):
        measure_with_losses(answer)


def test_an_unfit_worker_gets_no_more_batches(measure_with_losses, messages):
    def answer(batch, workers):
        if not workers:
            return Outcome("tcp://one:1", "", fault=DeviceError("worker on one: 3 MiB are left for the cache"))
        assert workers == ("tcp://two:1",)
        return Outcome("tcp://two:1", "card", measure_with_losses.record_rows(batch))

    assert [record.status for record in measure_with_losses(answer)] == ["ok"] * 3
    assert messages.texts == [
        "worker on one: 3 MiB are left for the cache; the worker is left out, and 32x24x16 nn f32 is measured elsewhere"
    ]


def test_without_a_fit_worker_the_run_ends_with_the_fault_of_the_last(measure_with_losses):
    def answer(batch, workers):
        address = workers[0] if workers else "tcp://one:1"
        return Outcome(address, "", fault=DeviceError(f"{address} has no nvcc"))

    with pytest.raises(DeviceError, match="tcp://two:1 has no nvcc"):
        measure_with_losses(answer)


class Hosts(PaperCluster):
    """A cluster whose hosts compile, or not, as `built` says."""

    def __init__(self, **built):
        super().__init__(None)
        self.built = built

    def take(self, future):
        found = self.built[future[0]]
        if isinstance(found, Exception) and not isinstance(found, BuildError):
            raise found
        return found


@pytest.fixture
def compile_on(make_plan):
    """The artifact of `tiled` from hosts that compile so."""

    def run(**built):
        cluster, choice = Hosts(**built), DeviceChoice("fake")
        machine = FleetMachine(choice, {"fake": describe_fake()}, connection=cluster, members=(), others=frozenset())
        return FleetCompiler(machine, 60.0).compile(make_plan("tiled"))

    return run


FULL = DeviceError("worker on one: 3 MiB are left for the cache")


@pytest.mark.parametrize("fault", [FULL, WorkersLost()])
def test_a_host_that_cannot_compile_does_not_end_the_run(compile_on, fault):
    assert compile_on(one=fault, two="artifact") == "artifact"


def test_without_a_host_that_can_compile_the_first_fault_counts(compile_on):
    with pytest.raises(DeviceError, match="3 MiB are left"):
        compile_on(one=FULL, two=WorkersLost())
    with pytest.raises(BuildError, match="line 3"):
        compile_on(one=BuildError("line 3"), two="artifact")


def test_the_loss_of_all_workers_is_told_at_once_and_ends_the_run_later(measure_with_losses, messages, monkeypatch):
    monkeypatch.setattr(PaperCluster, "next_done", lambda cluster, seconds: cluster.workers.clear())
    with pytest.raises(DeviceError, match="no worker is left that has a GPU"):
        measure_with_losses(None)
    assert messages.texts == ["no worker is left that has a GPU; waiting 60 s for another"]


@pytest.fixture
def tune(messages, monkeypatch, tmp_path):
    """Tune `tiled`, which has three configurations."""
    monkeypatch.setattr(tuning_runs, "_FIRST_SHAPE", (7, 5, 3))
    monkeypatch.setattr(configurations, "SHAPES", ((7, 5, 3),))
    monkeypatch.chdir(tmp_path)

    def run(device, fleet, sizes):
        overrides = SweepOverrides(variants=("tiled",), sizes=sizes, cache="hot", rounds=6)
        with open_machines(device, fleet, messages) as (machine,):
            return tune_kernels(TuneRequest(overrides, destination=Destination(tmp_path / "out")), machine, messages)

    return run


def check(result, *sizes):
    assert [(each.variant, each.problem.M, each.tried, each.final) for each in result.winners] == [
        ("tiled", size, 3, True) for size in sizes
    ]
    assert all(record.status == "ok" for record in result.run.run.records)
    for outcome in result.outcomes:
        assert outcome.anchors and len({record.card for record in outcome.finals}) == 1


def test_a_search_runs_on_the_workers_of_a_cluster_and_keeps_its_winners(tune, cluster):
    check(tune("fake", cluster, "24,32"), 24, 32)


def test_a_search_runs_on_workers_that_share_the_cores_of_the_cpu(tune):
    check(tune("cpu", "local:2", "24"), 24)


SMALLEST = 8


@pytest.fixture
def make_batches(make_plan):
    """Batches of these variants, each at a size of its own."""

    def make(count, *names, rounds=2):
        problems = [Problem(*(SMALLEST + number,) * 3) for number in range(count)]
        batches = [[make_plan(name, problem) for name in names] for problem in problems]
        compile_plan, policy = FakeCompiler(Script()).compile, Policy(rounds=rounds, until=0.0, cache="hot")
        return [make_gemm_batch(plans, list(map(compile_plan, plans)), policy) for plans in batches]

    return make


@pytest.fixture
def measure(open_fleet, messages):
    """The records of batches, as they were emitted; `then` is called after each batch with their number."""

    def run(batches, device="fake", then=lambda number, connection: None, **settings):
        emitted = []
        with open_fleet(device) as machine:

            def emit(records):
                emitted.extend(records)
                then(len(emitted), machine.connection)

            request = Open(machine, ("fake",), True, TimeLimits())
            with FleetWorker(machine, request, messages.message) as worker:
                FleetRunner(worker, emit, **settings).run(batches)
        return emitted

    return run


def count_rows(records):
    return Counter((record.problem.M - SMALLEST, record.variant) for record in records)


def test_every_row_is_measured_once_and_names_its_card(measure, make_batches):
    batches = make_batches(4, "naive", "tiled")
    records = measure(batches)
    assert count_rows(records) == {(number, name): 1 for number in range(4) for name in ("naive", "tiled")}
    assert all(record.status == "ok" and record.card.startswith("GPU-") for record in records)
    assert {record.batch_key for record in records} == {batch.key for batch in batches}


def test_what_is_done_is_not_measured_again(measure, make_batches, make_record):
    batches = make_batches(2, "naive")
    records = measure(batches, done={batches[0].key: [make_record()]})
    assert count_rows(records) == {(1, "naive"): 1}


def test_after_an_interruption_nothing_begins(measure, make_batches):
    assert measure(make_batches(2, "naive"), is_interrupted=lambda: True) == []


def find_holder():
    """Whether the run that holds the device of a Dask worker has a gate; None if no run holds it."""
    return fleet_tasks._station._setup and fleet_tasks._station._setup.gate


def await_idle(connection):
    """Wait until the run before has let go of all devices."""
    end = time.monotonic() + 10
    while any(holder is not None for holder in connection.tell_workers(find_holder)) and time.monotonic() < end:
        time.sleep(0.02)


def test_devices_are_opened_before_there_is_a_batch_but_not_taken_from_another_run(open_fleet, messages):
    with open_fleet("fake") as machine:
        await_idle(machine.connection)
        first, second = (Open(machine, ("fake",), gate, TimeLimits()) for gate in (True, False))
        with FleetWorker(machine, first, messages.message):
            assert machine.connection.tell_workers(find_holder) == [True, True]
            with FleetWorker(machine, second, messages.message):
                assert machine.connection.tell_workers(find_holder) == [True, True]


def test_only_workers_that_will_measure_open_a_device_early(open_fleet, messages):
    with open_fleet("fake") as machine:
        await_idle(machine.connection)
        away, *_ = machine.connection.list_workers()
        partly = replace(machine, others=frozenset({away}))
        with FleetWorker(partly, Open(machine, ("fake",), True, TimeLimits()), messages.message):
            assert sorted(map(str, machine.connection.tell_workers(find_holder))) == ["None", "True"]


def test_a_kernel_that_ends_its_process_fails_alone(measure, make_batches, tmp_path):
    script = tmp_path / "script.yaml"
    script.write_text("faults: {tiled: die}\n")
    records = measure(make_batches(1, "naive", "tiled"), f"fake:{script}")
    assert {record.variant: record.status for record in records} == {"naive": "ok", "tiled": "failed"}


def test_no_row_is_lost_or_doubled_while_workers_are_killed(measure, make_batches):
    killed = []

    def kill_worker(number, connection):
        if len(killed) < 2 and number > 4 * len(killed) and (pids := connection.tell_workers(os.getpid)):
            with suppress(ProcessLookupError):
                os.kill(pids[-1], signal.SIGKILL)
                killed.append(pids[-1])

    records = measure(make_batches(12, "naive", rounds=200), then=kill_worker)
    assert len(set(killed)) == 2
    assert count_rows(records) == {(number, "naive"): 1 for number in range(12)}
    assert {record.status for record in records} == {"ok"}
