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
from gemmbench.bench.workers.fleet_tasks import Outcome
from gemmbench.bench.workers.fleet_worker import FleetCompiler, FleetMachine, FleetRunner, FleetWorker
from gemmbench.bench.workers.messages import Open
from gemmbench.errors import BuildError, DeviceError
from gemmbench.planning.plans import configurations
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import Destination, TimeLimits, make_request
from gemmbench.session.machine import open_machines
from gemmbench.session.tuning_runs import tune_kernels

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
ONE, TWO = "tcp://one:1", "tcp://two:1"
FULL = DeviceError("worker on one: 3 MiB are left for the cache")


class PaperCluster:
    """Two workers; `answer(batch, workers)` is what becomes of each batch, `built` of a plan on each host."""

    resource = "GPU"

    def __init__(self, answer=None, **built):
        self.answer, self.built, self.done = answer, built, deque()
        self.workers = {ONE: "one", TWO: "two"}
        choice = DeviceChoice("fake")
        self.machine = FleetMachine(choice, {"fake": describe_fake()}, connection=self, members=(), others=frozenset())

    def list_workers(self):
        return self.workers

    def submit_measurement(self, function, task, workers):
        self.done.append((Mock(), task.batch, workers))
        return self.done[-1][0]

    def next_done(self, seconds):
        future, *self.current = self.done.popleft()
        return future

    def submit(self, function, *arguments, workers):
        return workers[0]

    def take(self, task):
        found = self.built[task] if self.built else self.answer(*self.current)
        if isinstance(found, DeviceError):
            raise found
        return found

    def tell_workers(self, function, *arguments, workers=None):
        return []


@pytest.fixture
def measure_on_paper(make_plan, messages):
    """The records, by name, of a batch of three rows on a cluster with these answers."""

    def run(answer):
        machine = PaperCluster(answer).machine
        batch = make_gemm_batch([make_plan(name) for name in ("naive", "tiled", "cublas")], [None] * 3, Policy())
        batch = replace(batch, built=((),) * 3)
        with FleetWorker(machine, Open(machine, ("fake",), True, TimeLimits()), messages.message) as worker:
            return {record.variant: record for record in worker.experiment(batch)}

    return run


@pytest.fixture
def succeed(make_record):
    """What a worker makes of a batch: rows that were blamed before have failed."""

    def answer(batch, worker=ONE):
        faults = [batch.find_fault(number) for number in range(len(batch.chains))]
        records = [
            make_record(chain.name, status="failed" if fault else "ok", reason=str(fault or ""))
            for chain, fault in zip(batch.chains, faults, strict=True)
        ]
        return Outcome(worker, "card", records)

    return answer


def test_a_kernel_that_takes_workers_down_is_left_out_and_the_others_are_measured(measure_on_paper, succeed, messages):
    def answer(batch, workers):
        return succeed(batch) if batch.find_fault(1) else WorkersLost()

    records = measure_on_paper(answer)
    statuses = {name: record.status for name, record in records.items()}
    assert statuses == {"naive": "ok", "tiled": "failed", "cublas": "ok"}
    assert records["tiled"].reason == f"left out: {MOST_LOSSES + 1} workers were lost while it ran"
    assert "trying its rows one by one" in messages.texts[0]


def test_workers_that_are_lost_whatever_runs_end_the_run(measure_on_paper, succeed):
    with pytest.raises(DeviceError, match="repeatedly"):
        measure_on_paper(lambda batch, workers: WorkersLost() if len(batch.faults) < 2 else succeed(batch))


def test_an_unfit_worker_gets_no_more_batches(measure_on_paper, succeed, messages):
    def answer(batch, workers):
        if not workers:
            return Outcome(ONE, "", fault=FULL)
        assert workers == (TWO,)
        return succeed(batch, TWO)

    assert {record.status for record in measure_on_paper(answer).values()} == {"ok"}
    assert messages.texts == [f"{FULL}; leaving out the worker and measuring 32x24x16 nn f32 elsewhere"]


def test_without_a_fit_worker_the_run_ends_with_the_fault_of_the_last(measure_on_paper):
    def answer(batch, workers):
        address = workers[0] if workers else ONE
        return Outcome(address, "", fault=DeviceError(f"{address} has no nvcc"))

    with pytest.raises(DeviceError, match=f"{TWO} has no nvcc"):
        measure_on_paper(answer)


def test_the_loss_of_all_workers_is_told_at_once_and_ends_the_run_later(measure_on_paper, messages, monkeypatch):
    monkeypatch.setattr(PaperCluster, "next_done", lambda cluster, seconds: cluster.workers.clear())
    with pytest.raises(DeviceError, match="no worker is left that has a GPU"):
        measure_on_paper(None)
    assert messages.texts == ["no worker is left that has a GPU; waiting 60 s for another one"]


@pytest.fixture
def compile_on(make_plan):
    """The artifact of `tiled` from hosts that compile so."""
    return lambda **built: FleetCompiler(PaperCluster(**built).machine, 60.0).compile(make_plan("tiled"))


def test_a_host_that_cannot_compile_does_not_end_the_run_and_without_one_that_can_the_first_fault_counts(compile_on):
    for fault in (FULL, WorkersLost()):
        assert compile_on(one=fault, two="artifact") == "artifact"
    with pytest.raises(DeviceError, match="3 MiB are left"):
        compile_on(one=FULL, two=WorkersLost())
    with pytest.raises(BuildError, match="line 3"):
        compile_on(one=BuildError("line 3"), two="artifact")


@pytest.fixture
def tune(messages, monkeypatch, tmp_path):
    """Tune `tiled`, which has three configurations, at these sizes on the workers of a fleet."""
    monkeypatch.setattr(configurations, "AWKWARD", (7, 5, 3))
    monkeypatch.setattr(configurations, "SHAPES", ((7, 5, 3),))
    monkeypatch.chdir(tmp_path)

    def run(device, fleet, *sizes):
        destination = Destination(tmp_path / "out")
        request = make_request(destination=destination, variants=("tiled",), sizes=sizes, cache="hot", rounds=6)
        with open_machines(device, fleet, messages) as (machine,):
            result = tune_kernels(request, machine, messages)
        found = [(each.variant, each.problem.M, each.tried) for each in result.winners]
        assert found == [("tiled", size, 3) for size in sizes]
        assert all(record.status == "ok" for record in result.run.run.records)
        for outcome in result.outcomes:
            assert outcome.anchors and len({record.card for record in outcome.finals}) == 1

    return run


def test_a_search_runs_on_the_workers_of_a_cluster_and_keeps_its_winners(tune, cluster):
    tune("fake", cluster, 24, 32)


def test_a_search_runs_on_workers_that_share_the_cores_of_the_cpu(tune):
    tune("cpu", "local:2", 24)


SMALLEST = 8


@pytest.fixture
def make_batches(make_plan):
    """Batches of these variants, each at a size of its own."""

    def make(count, *names, rounds=2):
        compile_plan, policy = FakeCompiler(Script()).compile, Policy(rounds=rounds, until=0.0, cache="hot")
        for size in range(SMALLEST, SMALLEST + count):
            plans = [make_plan(name, Problem(size, size, size)) for name in names]
            yield make_gemm_batch(plans, list(map(compile_plan, plans)), policy)

    return lambda *arguments, **options: list(make(*arguments, **options))


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


def test_every_row_that_is_not_done_is_measured_once_and_names_its_card(measure, make_batches, make_record):
    done, *batches = make_batches(5, "naive", "tiled")
    records = measure([done, *batches], done={done.key: [make_record()]})
    assert count_rows(records) == {(number, name): 1 for number in range(1, 5) for name in ("naive", "tiled")}
    assert all(record.status == "ok" and record.card.startswith("GPU-") for record in records)
    assert {record.batch_key for record in records} == {batch.key for batch in batches}


def test_after_an_interruption_nothing_begins(measure, make_batches):
    assert measure(make_batches(2, "naive"), is_interrupted=lambda: True) == []


def find_holder():
    """Whether the run that holds the device of a Dask worker has a gate; None if no run holds it."""
    return fleet_tasks._station._setup and fleet_tasks._station._setup.gate


def test_devices_are_opened_early_by_workers_that_will_measure_and_not_taken_from_another_run(open_fleet, messages):
    with open_fleet("fake") as machine:

        def list_holders():
            return Counter(machine.connection.tell_workers(find_holder))

        end = time.monotonic() + 10
        while list_holders() != {None: 2} and time.monotonic() < end:  # the run before lets go of all devices
            time.sleep(0.02)
        partly = replace(machine, others=frozenset(list(machine.connection.list_workers())[:1]))
        first, second = (Open(machine, ("fake",), gate, TimeLimits()) for gate in (True, False))
        with FleetWorker(partly, first, messages.message):
            assert list_holders() == {None: 1, True: 1}
            with FleetWorker(machine, second, messages.message):
                assert list_holders() == {False: 1, True: 1}


def test_a_kernel_that_ends_its_process_fails_alone(measure, make_batches, tmp_path):
    script = tmp_path / "script.yaml"
    script.write_text("faults: {tiled: die}\n")
    records = measure(make_batches(1, "naive", "tiled"), f"fake:{script}")
    assert {record.variant: record.status for record in records} == {"naive": "ok", "tiled": "failed"}


def test_no_row_is_lost_or_doubled_while_workers_are_killed(measure, make_batches):
    killed = []

    def kill_worker(number, connection):
        if len(killed) < 2 and number > 3 * len(killed) and (pids := connection.tell_workers(os.getpid)):
            with suppress(ProcessLookupError):
                os.kill(pids[-1], signal.SIGKILL)
                killed.append(pids[-1])

    records = measure(make_batches(8, "naive", rounds=200), then=kill_worker)
    assert len(set(killed)) == 2
    assert count_rows(records) == {(number, "naive"): 1 for number in range(8)}
    assert {record.status for record in records} == {"ok"}
