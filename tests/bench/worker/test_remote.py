"""A worker in a process of its own: only the plan that kills it, hangs in it or loses the device is blamed."""

import os
import sys

import pytest
import yaml

from gemmbench.backends import registry
from gemmbench.backends.base import Artifact, Build
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.workers import worker_process
from gemmbench.bench.workers.device_workers import RemoteWorker
from gemmbench.bench.workers.messages import Open
from gemmbench.errors import DeviceError, UsageError
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.overrides import TimeLimits
from gemmbench.planning.sweeps.policy import Policy

SMALL = Problem(16, 8, 4)
CODE = Artifact("code", "", Build())
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
        return make_gemm_batch(plans, (CODE,) * len(plans), policy)

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
