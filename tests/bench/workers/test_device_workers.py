"""Workers: what is verified, timed, kept and given back, and who is blamed when a process dies or hangs."""

import itertools
import os
import sys
from collections import Counter
from dataclasses import replace

import pytest
import yaml

from gemmbench.backends import registry
from gemmbench.backends.base import Artifact, Build, Window
from gemmbench.backends.fake.backend import FakeBackend, FakeExecutable
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.workers import worker_process
from gemmbench.bench.workers.device_workers import LocalWorker, RemoteWorker
from gemmbench.bench.workers.messages import Open
from gemmbench.errors import DeviceError, LaunchError, OutOfMemory, UsageError
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.overrides import TimeLimits
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


SMALL = Problem(16, 8, 4)
REMOTE_CODE = Artifact("code", "", Build())
CONNECT = (
    "import sys; _, fd, *sys.path = sys.argv; from multiprocessing.connection import Connection; "
    "pipe = Connection(int(fd)); "
)


@pytest.fixture
def remote(tmp_path):
    """A remote fake device with these faults."""

    def start(limit=60.0, faults=None, compile_limit=120.0, names=("fake",), measured=True, **options):
        script = tmp_path / "script.yaml"
        script.write_text(yaml.safe_dump({"faults": faults or {}}))
        machine = registry.describe_machine(registry.choose_device(f"fake:{script}"))
        return RemoteWorker(Open(machine, names, True, TimeLimits(compile_limit, limit), measured), **options)

    return start


@pytest.fixture
def batch(make_plan):
    def make(*names, rounds=2, **changed):
        plans = tuple(make_plan(name, SMALL, **changed) for name in names)
        policy = Policy(rounds=rounds, until=0.0, cache="hot")
        return make_gemm_batch(plans, (REMOTE_CODE,) * len(plans), policy)

    return make


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ("die", "failed", "the kernel brought the worker process down: its process was ended by SIGSEGV"),
        ("lose", "failed", "the device is lost, as scripted"),
        ("hang", "timeout", "did not end within 0.5 s, the time limit of a launch"),
    ],
)
def test_the_plan_at_fault_gets_the_blame_and_the_others_their_numbers(remote, batch, fault, status, words):
    asked = batch("naive", "bad", "worse", "cublas")
    with remote(0.5, {"bad": fault, "worse": "lose"}) as worker:
        before, bad, worse, after = worker.experiment(asked)
        assert (bad.status, bad.reason, bad.samples) == (status, words, [])
        assert (worse.status, worse.reason) == ("failed", "the device is lost, as scripted")
        for good in (before, after):
            assert (good.status, len(good.samples), good.batch_key, good.batch_rows) == ("ok", 2, asked.key, 4)
        (again,) = worker.experiment(batch("naive"))
        assert again.status == "ok"


def test_the_devices_are_known_before_the_first_batch(remote):
    with remote() as worker:
        assert worker.devices["fake"].name == "Fake GPU"


def test_without_timing_plans_are_verified(remote, batch):
    with remote(measured=False) as worker:
        (record,) = worker.experiment(batch("naive"))
    assert (record.checked, record.samples) == (True, [])


def test_an_interruption_reaches_the_process_and_progress_comes_back(remote, batch):
    said = []
    pressed = []
    options = {
        "progress": lambda *what: said.append(what) or pressed.append(1),
        "is_interrupted": lambda: bool(pressed),
    }
    with remote(**options) as worker:
        records = worker.experiment(batch("naive", rounds=100000))
    assert [record.stopped for record in records] in ([], ["interrupted"])
    assert said


def test_an_error_of_a_device_that_does_not_open_reaches_the_user(remote, tmp_path):
    with remote() as worker:
        (tmp_path / "script.yaml").unlink()
        with pytest.raises(UsageError, match=r"script\.yaml: cannot be read: No such file"):
            worker.devices  # noqa: B018


def test_a_bug_in_the_process_is_shown_with_its_traceback(remote, monkeypatch):
    broken = "from gemmbench.backends import registry; registry.open_backends = lambda *_: int('x'); "
    monkeypatch.setattr(
        worker_process, "_BOOT", worker_process._BOOT.replace("from gemmbench", broken + "from gemmbench", 1)
    )
    with remote() as worker, pytest.raises(DeviceError, match=r"(?s)failed:.*ValueError"):
        worker.devices  # noqa: B018


def test_what_the_process_prints_stays_out_of_the_protocol(remote, batch, capfd):
    with remote(faults={"bad": "print"}) as worker:
        (record,) = worker.experiment(batch("bad"))
    assert record.status == "ok"
    printed = capfd.readouterr()
    assert printed.out == "" and "printed, as scripted" in printed.err


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ("'hello'", "sent an unknown message: 'hello'; this is a bug in gemmbench"),
        ("Finished([])", r"sent Finished\(records=\[\]\) before its device was open"),
    ],
)
def test_a_message_that_does_not_belong_there_is_an_error_and_no_timeout(remote, monkeypatch, sent, words):
    send = f"from gemmbench.bench.workers.messages import Finished; pipe.send({sent}); pipe.recv()"
    monkeypatch.setattr(worker_process, "_BOOT", CONNECT + send)
    with remote() as worker, pytest.raises(DeviceError, match=words):
        worker.devices  # noqa: B018


def test_a_process_that_ends_at_once_is_an_error_with_its_exit_code(remote, monkeypatch):
    monkeypatch.setattr(worker_process, "_BOOT", "raise SystemExit(5)")
    with (
        remote() as worker,
        pytest.raises(DeviceError, match="device was open: its process ended with exit code 5"),
    ):
        worker.devices  # noqa: B018


def test_a_process_without_an_answer_is_an_error(remote, monkeypatch):
    monkeypatch.setattr("gemmbench.bench.workers.device_workers._OPENING_SECONDS", 0.3)
    monkeypatch.setattr(worker_process, "_BOOT", CONNECT + "pipe.recv(); pipe.recv()")
    with remote() as worker, pytest.raises(DeviceError, match=r"did not open its device within 0\.3 s"):
        worker.devices  # noqa: B018


def test_the_process_imports_the_same_gemmbench_whatever_lies_in_the_working_folder(
    remote, batch, tmp_path, monkeypatch
):
    for name in ("gemmbench", "queue", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    with remote() as worker:
        (record,) = worker.experiment(batch("naive"))
    assert record.status == "ok"


def test_ctrl_c_does_not_reach_the_process(remote, batch):
    with remote() as worker:
        assert worker.devices
        pid = worker._process._process.pid
        assert os.getsid(pid) == pid != os.getsid(0)


@pytest.mark.parametrize(
    ("kind", "compile_limit", "status", "words"),
    [
        ("python", 60.0, "ok", ""),
        ("python", 0.1, "timeout", "its first calls did not end within 0.1 s, the limit of a compilation"),
        ("kernel", 60.0, "timeout", "did not end within 0.1 s, the time limit of a launch"),
    ],
)
def test_the_first_calls_of_a_python_function_have_the_time_of_a_compilation(
    remote, batch, monkeypatch, kind, compile_limit, status, words
):
    monkeypatch.setattr("gemmbench.bench.workers.device_workers._GRACE", 0.0)
    with remote(0.1, {"bad": "compiles"}, compile_limit) as worker:
        (record,) = worker.experiment(batch("bad", kind=kind))
    assert (record.status, record.reason) == (status, words)
