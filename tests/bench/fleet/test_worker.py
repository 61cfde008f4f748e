"""Batches on the workers of a fleet: each row once, whatever becomes of the workers."""

import os
import signal
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest

from gemmbench.backends.fake.backend import FakeCompiler
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.workers import fleet_tasks
from gemmbench.bench.workers.fleet_worker import FleetRunner, FleetWorker
from gemmbench.bench.workers.messages import Open
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.overrides import TimeLimits
from gemmbench.planning.sweeps.policy import Policy

SMALLEST = 8
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)  # Dask leaves sockets to the garbage collector


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
