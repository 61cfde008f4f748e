"""What becomes of a batch whose workers are lost or unfit, with a cluster that exists on paper."""

from collections import deque
from dataclasses import replace
from unittest.mock import Mock

import pytest

from gemmbench.backends.devices import DeviceChoice
from gemmbench.backends.fake.entry import describe_fake
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.workers.connection import MOST_LOSSES, WorkersLost
from gemmbench.bench.workers.fleet_machine import FleetMachine
from gemmbench.bench.workers.fleet_tasks import Outcome
from gemmbench.bench.workers.fleet_worker import FleetCompiler, FleetWorker
from gemmbench.bench.workers.messages import Open
from gemmbench.errors import BuildError, DeviceError
from gemmbench.planning.sweeps.overrides import TimeLimits
from gemmbench.planning.sweeps.policy import Policy


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
def measure(make_plan, messages, make_record):
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


def test_a_kernel_that_takes_workers_down_is_left_out_and_the_others_are_measured(measure, messages):
    def answer(batch, workers):
        if runs_row(batch, "tiled"):
            raise WorkersLost
        return Outcome("tcp://one:1", "card", measure.record_rows(batch))

    records = {record.variant: record for record in measure(answer)}
    assert {name: record.status for name, record in records.items()} == {
        "naive": "ok",
        "tiled": "failed",
        "cublas": "ok",
    }
    assert records["tiled"].reason == f"left out: {MOST_LOSSES + 1} workers were lost while it ran"
    assert "trying its rows one by one" in messages.texts[0]


def test_workers_that_are_lost_whatever_runs_end_the_run(measure):
    def answer(batch, workers):
        if len(batch.faults) < 2:
            raise WorkersLost
        return Outcome("tcp://one:1", "card", measure.record_rows(batch))

    with pytest.raises(DeviceError, match="again and again"):
        measure(answer)


def test_an_unfit_worker_gets_no_more_batches(measure, messages):
    def answer(batch, workers):
        if not workers:
            return Outcome("tcp://one:1", "", fault=DeviceError("worker on one: 3 MiB are left for the cache"))
        assert workers == ("tcp://two:1",)
        return Outcome("tcp://two:1", "card", measure.record_rows(batch))

    assert [record.status for record in measure(answer)] == ["ok"] * 3
    assert messages.texts == [
        "worker on one: 3 MiB are left for the cache; the worker is left out, and 32x24x16 nn f32 is measured elsewhere"
    ]


def test_without_a_fit_worker_the_run_ends_with_the_fault_of_the_last(measure):
    def answer(batch, workers):
        address = workers[0] if workers else "tcp://one:1"
        return Outcome(address, "", fault=DeviceError(f"{address} has no nvcc"))

    with pytest.raises(DeviceError, match="tcp://two:1 has no nvcc"):
        measure(answer)


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


def test_the_loss_of_all_workers_is_told_at_once_and_ends_the_run_later(measure, messages, monkeypatch):
    monkeypatch.setattr(PaperCluster, "next_done", lambda cluster, seconds: cluster.workers.clear())
    with pytest.raises(DeviceError, match="no worker is left that has a GPU"):
        measure(None)
    assert messages.texts == ["no worker is left that has a GPU; waiting 60 s for another"]
