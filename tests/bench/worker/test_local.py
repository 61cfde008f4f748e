"""The experiment: what is verified, timed, kept and given back."""

import itertools
from collections import Counter
from dataclasses import replace

import pytest

from gemmbench.backends.base import Artifact, Build, Window
from gemmbench.backends.fake.backend import FakeBackend, FakeExecutable
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.errors import LaunchError, OutOfMemory
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

ODD = Problem(33, 17, 19)
CODE = Artifact("code", "", Build())
QUICK = Policy(rounds=2)


def test_operands_that_do_not_fit_end_every_row_of_the_batch(experiment, monkeypatch):
    def full(self, nbytes):
        raise OutOfMemory(f"{nbytes} bytes do not fit")

    monkeypatch.setattr(FakeBackend, "allocate", full)
    records = experiment("naive", "tiled")
    assert {record.status for record in records} == {"out of memory"}
    assert all("bytes do not fit" in record.reason for record in records)


def test_memory_is_given_back_whatever_happens(experiment, monkeypatch):
    kept = []
    allocate = FakeBackend.allocate
    monkeypatch.setattr(FakeBackend, "allocate", lambda self, size: kept.append(allocate(self, size)) or kept[-1])
    experiment("naive", "bad", faults={"bad": "crash"})
    monkeypatch.setattr(FakeExecutable, "time", lambda self, launches: 1 / 0)
    (row,) = experiment("naive")
    assert "ZeroDivisionError" in row.reason
    assert [len(memory.bytes) for memory in kept] == [0, 0]


def test_a_failure_in_the_middle_of_timing_drops_one_row(experiment, monkeypatch):
    calls = itertools.count()
    whole = FakeExecutable.time

    def failing(self, launches):
        if self.fault == "later" and next(calls) >= 4:
            raise LaunchError("an illegal address")
        return whole(self, launches)

    monkeypatch.setattr(FakeExecutable, "time", failing)
    good, bad = experiment("naive", "bad", faults={"bad": "later"})
    assert (bad.status, bad.reason) == ("failed", "an illegal address")
    assert (good.status, len(good.samples)) == ("ok", 2)


def test_a_record_holds_the_plan_the_build_and_the_method(experiment):
    (record,) = experiment("naive", policy=Policy("hot", "normal", 5, 4, gate=False))
    assert (record.variant, record.backend, record.problem) == ("naive", "fake", Problem(33, 17, 19))
    assert (record.grid, record.block, record.shared_dynamic) == ([1, 1, 1], [16, 16, 1], 0)
    assert (record.registers, record.shared_static, record.spills, record.compile_seconds) == (32, 1024, 4, 0.5)
    assert (record.cache, record.sets, record.data, record.seed, record.gated) == ("hot", 1, "normal", 5, False)
    assert (record.batch, record.batch_rows, record.phase, record.artifact) == (3, 1, "sweep", "code")
    assert record.rounds == [0, 1, 2, 3] and record.stopped == "rounds"
    assert record.samples == [pytest.approx(1e-3)] * 4 and record.clocks_hz == [1e9] * 4


def test_cold_rows_rotate_sets_and_say_when_they_cannot(experiment, monkeypatch):
    (cold,) = experiment("naive", problem=Problem(64, 64, 64))
    assert (cold.cache, cold.sets) == ("cold", 86)
    (partly,) = experiment("naive", problem=Problem(8, 8, 8))
    assert (partly.cache, partly.sets) == ("partly cold", 1024)


def test_the_verifier_checks_and_does_not_time(experiment, monkeypatch):
    windows = []
    whole = FakeExecutable.time
    monkeypatch.setattr(FakeExecutable, "time", lambda self, n: windows.append((self.fault, n)) or whole(self, n))
    good, bad = experiment("naive", "bad", faults={"bad": "last_column"}, measured=False)
    assert (good.status, good.checked, good.samples) == ("ok", True, [])
    assert bad.status == "wrong"
    right, wrong = ("", 1), ("last_column", 1)
    assert Counter(windows) == {right: 6, wrong: 3}  # three cases and special values; twice more to explain


@pytest.mark.parametrize(
    ("beta", "checks"),
    [(0.0, [(2.0, 0.0), (2.0, 0.0), (1.5, 0.0)]), (0.5, [(2.0, 0.0), (-1.0, 3.0), (2.0, 0.5), (1.5, 0.5)])],
)
def test_integers_and_products_are_checked_with_scalars_of_their_own_and_real_data_with_those_asked_for(
    experiment, monkeypatch, beta, checks
):
    seen = []
    whole = FakeBackend.bind

    def bind(self, name, steps, *rest, **options):
        problem = steps[0].plan.problem
        seen.append((problem.alpha, problem.beta))
        return whole(self, name, steps, *rest, **options)

    monkeypatch.setattr(FakeBackend, "bind", bind)
    experiment("naive", problem=Problem(9, 8, 7, alpha=1.5, beta=beta), measured=False)
    assert seen == checks


def test_every_way_to_run_is_verified_and_the_first_is_timed(experiment, monkeypatch):
    backend = FakeBackend()
    backend.modes = ("plain", "forward", "backward")
    seen = []
    whole = FakeBackend.bind

    def bind(self, *rest, mode, **options):
        seen.append(mode)
        return whole(self, *rest, mode=mode, **options)

    monkeypatch.setattr(FakeBackend, "bind", bind)
    experiment("naive", backend=backend)
    assert seen[:2] == ["forward", "backward"]
    assert len(seen) > 4 and set(seen[2:]) == {"plain"}


def test_after_an_interruption_rows_without_samples_are_left_out(experiment, monkeypatch):
    windows = []
    whole = FakeExecutable.time
    monkeypatch.setattr(FakeExecutable, "time", lambda self, n: windows.append(n) or whole(self, n))
    assert experiment("naive", "tiled", is_interrupted=lambda: True) == []
    found = experiment("naive", "tiled", is_interrupted=lambda: len(windows) > 193, policy=Policy(rounds=16))
    assert [record.stopped for record in found] == ["interrupted"] * len(found)
    assert found and all(record.status == "ok" and record.samples for record in found)


def test_cpu_plans_run_in_a_block_of_their_own_before_the_others(make_plan, monkeypatch):
    order = []
    whole = FakeExecutable.time

    def time(self, launches):
        order.append(self.fault)
        return whole(self, launches)

    monkeypatch.setattr(FakeExecutable, "time", time)
    plans = [make_plan("naive", ODD), replace(make_plan("host", ODD), device="cpu")]
    backends = {
        "fake": FakeBackend(Script(faults={"naive": "gpu"})),
        "cpu": FakeBackend(Script(faults={"host": "cpu"})),
    }
    host = backends["cpu"].device
    backends["cpu"].device = replace(host, target=replace(host.target, is_gpu=False))
    records = LocalWorker(backends).experiment(make_gemm_batch(plans, (CODE, CODE), QUICK))
    assert [record.variant for record in records] == ["naive", "host"]
    assert order == sorted(order)


def test_a_window_s_seconds_are_divided_by_its_launches(experiment, monkeypatch):
    monkeypatch.setattr(FakeExecutable, "time", timed(FakeExecutable.time, 3e-3))
    (record,) = experiment("naive")
    assert record.samples == [pytest.approx(3e-3 / record.launches)] * 2


def timed(whole, seconds):
    def time(self, launches):
        whole(self, launches)
        return Window(seconds, launches)

    return time
