"""Workers: what is verified, timed, kept and given back, and who is blamed when a process dies or hangs."""

import itertools
import os
import re
import sys
from collections import Counter
from dataclasses import replace
from unittest.mock import Mock

import pytest
import yaml

from gemmbench.backends import registry
from gemmbench.backends.fake.backend import FakeBackend, FakeExecutable
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.workers import device_workers, worker_process
from gemmbench.bench.workers.device_workers import LocalWorker, RemoteWorker
from gemmbench.bench.workers.messages import Open
from gemmbench.errors import DeviceError, LaunchError, OutOfMemory, UsageError
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import TimeLimits
from tests.bench.conftest import CODE, ODD, QUICK


def test_operands_that_do_not_fit_end_every_row_of_the_batch(experiment, monkeypatch):
    monkeypatch.setattr(FakeBackend, "allocate", Mock(side_effect=OutOfMemory("8 bytes do not fit")))
    records = experiment("naive", "tiled")
    assert [(record.status, record.reason) for record in records] == [("out of memory", "8 bytes do not fit")] * 2


def test_memory_is_given_back_whatever_happens(experiment, monkeypatch):
    kept = []
    allocate = FakeBackend.allocate
    monkeypatch.setattr(FakeBackend, "allocate", lambda self, size: kept.append(allocate(self, size)) or kept[-1])
    experiment("naive", "bad", faults={"bad": "crash"})
    monkeypatch.setattr(FakeExecutable, "time", lambda self, launches: 1 / 0)
    (row,) = experiment("naive")
    assert "ZeroDivisionError" in row.reason
    assert [len(memory.bytes) for memory in kept] == [0, 0]


def test_a_failure_in_the_middle_of_timing_drops_one_row(experiment, watch_calls):
    calls = itertools.count()

    def fail(self, launches):
        if self.fault == "later" and next(calls) >= 4:
            raise LaunchError("an illegal address")

    watch_calls(FakeExecutable, "time", fail)
    good, bad = experiment("naive", "bad", faults={"bad": "later"})
    assert (bad.status, bad.reason) == ("failed", "an illegal address")
    assert (good.status, len(good.samples)) == ("ok", 2)


def test_a_record_holds_the_plan_the_build_and_the_method(experiment):
    (record,) = experiment("naive", policy=Policy("hot", "normal", 5, 4, gate=False))
    assert (record.variant, record.backend, record.problem) == ("naive", "fake", ODD)
    assert (record.grid, record.block, record.shared_dynamic) == ([1, 1, 1], [16, 16, 1], 0)
    assert (record.registers, record.shared_static, record.spills, record.compile_seconds) == (32, 1024, 4, 0.5)
    assert (record.cache, record.sets, record.data, record.seed, record.gated) == ("hot", 2, "normal", 5, False)
    assert (record.batch, record.batch_rows, record.phase, record.artifact) == (3, 1, "sweep", "code")
    assert record.rounds == [0, 1, 2, 3] and record.stopped == "rounds"
    assert record.samples == [pytest.approx(1e-3)] * 4 and record.clocks_hz == [1e9] * 4


@pytest.mark.parametrize(("size", "cache", "sets"), [(256, "cold", 6), (8, "partly cold", 16)])
def test_cold_rows_rotate_sets_and_say_when_they_cannot(experiment, size, cache, sets):
    (record,) = experiment("naive", problem=Problem(size, size, size))
    assert (record.cache, record.sets) == (cache, sets)


def test_the_verifier_checks_and_does_not_time(experiment, watch_calls):
    windows = Counter()
    watch_calls(FakeExecutable, "time", lambda self, launches: windows.update([(self.fault, launches)]))
    good, bad = experiment("naive", "bad", faults={"bad": "last_column"}, measured=False)
    assert (good.status, good.checked, good.samples, bad.status) == ("ok", True, [], "wrong")
    right, wrong = ("", 1), ("last_column", 1)
    assert windows == {right: 6, wrong: 4}  # three cases and special values; three times more to explain


@pytest.mark.parametrize(
    ("beta", "checks"),
    [(0.0, [(2.0, 0.0), (2.0, 0.0), (1.5, 0.0)]), (0.5, [(2.0, 0.0), (-1.0, 3.0), (2.0, 0.5), (1.5, 0.5)])],
)
def test_integers_and_products_are_checked_with_scalars_of_their_own_and_real_data_with_those_asked_for(
    experiment, watch_calls, beta, checks
):
    seen = []

    def note(self, name, steps, *rest, **options):
        seen.append((steps[0].plan.problem.alpha, steps[0].plan.problem.beta))

    watch_calls(FakeBackend, "bind", note)
    experiment("naive", problem=Problem(9, 8, 7, alpha=1.5, beta=beta), measured=False)
    assert seen == checks


def test_every_way_to_run_is_verified_and_the_first_is_timed(experiment, watch_calls):
    backend, seen = FakeBackend(), []
    backend.modes = ("plain", "forward", "backward")
    watch_calls(FakeBackend, "bind", lambda *_, mode, **__: seen.append(mode))
    experiment("naive", backend=backend)
    assert seen[:2] == ["forward", "backward"]
    assert len(seen) > 4 and set(seen[2:]) == {"plain"}


def test_after_an_interruption_rows_without_samples_are_left_out(experiment, watch_calls):
    assert experiment("naive", "tiled", is_interrupted=lambda: True) == []
    windows = []
    watch_calls(FakeExecutable, "time", lambda self, launches: windows.append(launches))
    found = experiment("naive", "tiled", is_interrupted=lambda: len(windows) > 50, policy=Policy(rounds=16))
    assert [record.stopped for record in found] == ["interrupted"] * len(found)
    assert found and all(record.status == "ok" and record.samples for record in found)


def test_cpu_plans_run_in_a_block_of_their_own_before_the_others(make_plan, few_sets, short_warm_up, watch_calls):
    order = []
    watch_calls(FakeExecutable, "time", lambda self, launches: order.append(self.fault))
    plans = [make_plan("naive", ODD), replace(make_plan("host", ODD), device="cpu")]
    gpu, host = (FakeBackend(Script(faults=faults)) for faults in ({"naive": "gpu"}, {"host": "cpu"}))
    host.device = replace(host.device, target=replace(host.device.target, is_gpu=False))
    records = LocalWorker({"fake": gpu, "cpu": host}).experiment(make_gemm_batch(plans, (CODE, CODE), QUICK))
    assert [record.variant for record in records] == ["naive", "host"]
    assert order == sorted(order)


def test_a_window_s_seconds_are_divided_by_its_launches(experiment, monkeypatch):
    whole = FakeExecutable.time
    monkeypatch.setattr(FakeExecutable, "time", lambda self, launches: replace(whole(self, launches), seconds=3e-3))
    (record,) = experiment("naive")
    assert record.samples == [pytest.approx(3e-3 / record.launches)] * 2


# A process of its own

CONNECT = (
    "import sys; _, fd, *sys.path = sys.argv; from multiprocessing.connection import Connection; "
    "pipe = Connection(int(fd)); "
)


@pytest.fixture
def remote(tmp_path):
    """A remote fake device with these faults."""

    def start(limit=60.0, faults=None, compile_limit=120.0, measured=True, **options):
        script = tmp_path / "script.yaml"
        script.write_text(yaml.safe_dump({"faults": faults or {}}))
        machine = registry.describe_machine(registry.choose_device(f"fake:{script}"))
        return RemoteWorker(Open(machine, ("fake",), True, TimeLimits(compile_limit, limit), measured), **options)

    return start


@pytest.fixture
def boot_after(monkeypatch):
    """Let the process run this code before it serves."""

    def change(code):
        monkeypatch.setattr(worker_process, "_BOOT", worker_process._BOOT.replace("from", f"{code}; from", 1))

    return change


@pytest.fixture
def batch(make_plan):
    def make(*names, rounds=2, **changed):
        plans = tuple(make_plan(name, Problem(16, 8, 4), **changed) for name in names)
        return make_gemm_batch(plans, (CODE,) * len(plans), Policy(rounds=rounds, until=0.0, cache="hot"))

    return make


def test_the_plans_at_fault_get_the_blame_and_the_others_their_numbers(remote, batch, monkeypatch):
    monkeypatch.setattr(device_workers, "_GRACE", 0.5)
    asked = batch("naive", "dies", "loses", "hangs", "cublas")
    with remote(0.5, {"dies": "die", "loses": "lose", "hangs": "hang"}) as worker:
        before, *bad, after = worker.experiment(asked)
        assert [(record.status, record.reason, record.samples) for record in bad] == [
            ("failed", "the kernel crashed the worker process: its process was ended by SIGSEGV", []),
            ("failed", "the device is lost, as scripted", []),
            ("timeout", "did not finish within 0.5 s, the time limit for a launch", []),
        ]
        for good in (before, after):
            assert (good.status, len(good.samples), good.batch_key, good.batch_rows) == ("ok", 2, asked.key, 5)
        (again,) = worker.experiment(batch("naive"))
        assert again.status == "ok"


def test_the_devices_are_known_before_the_first_batch_and_ctrl_c_does_not_reach_the_process(remote):
    with remote() as worker:
        assert worker.devices["fake"].name == "Fake GPU"
        pid = worker._process._process.pid
        assert os.getsid(pid) == pid != os.getsid(0)


def test_without_timing_plans_are_verified_and_what_they_print_stays_out_of_the_protocol(remote, batch, capfd):
    with remote(faults={"bad": "print"}, measured=False) as worker:
        (record,) = worker.experiment(batch("bad"))
    assert (record.status, record.checked, record.samples) == ("ok", True, [])
    assert re.fullmatch(r"printed \d+ lines, the first: printed, as scripted", record.printed)
    assert capfd.readouterr() == ("", "")


def test_what_is_printed_belongs_to_its_row_also_after_a_crash(remote, batch, boot_after, capfd):
    boot_after(
        "from gemmbench.backends.fake import backend; import ctypes, os; raise_fault = backend._raise_fault; "
        "backend._raise_fault = lambda fault: (ctypes.CDLL(None).printf(fault.encode()) if fault else 0, "
        "raise_fault(fault))"
    )
    with remote(faults={"first": "print", "second": "die"}) as worker:
        first, quiet, second = worker.experiment(batch("first", "naive", "second"))
    assert (first.status, quiet.status, second.status) == ("ok", "ok", "failed")
    assert re.fullmatch(r"printed \d+ lines, the first: printprinted, as scripted", first.printed)
    assert not quiet.printed and second.printed == "printed 1 line: die"
    assert capfd.readouterr() == ("", "")


def test_output_without_end_ends_with_its_row(remote, batch, boot_after, monkeypatch, capfd):
    monkeypatch.setattr(device_workers, "_GRACE", 0.2)
    boot_after(
        "from gemmbench.backends.fake import backend; import os; backend._raise_fault = "
        "lambda fault: [os.write(2, b'y' * 4095 + b'\\n') for _ in iter(int, 1)] if fault else None"
    )
    with remote(0.5, faults={"bad": "print"}) as worker:
        (record,) = worker.experiment(batch("bad"))
    assert record.status == "timeout" and len(record.printed) < 300
    assert capfd.readouterr() == ("", "")


def test_an_interruption_reaches_the_process_and_progress_comes_back(remote, batch):
    told = []
    with remote(progress=lambda *what: told.append(what), is_interrupted=lambda: bool(told)) as worker:
        records = worker.experiment(batch("naive", rounds=100000))
    assert [record.stopped for record in records] in ([], ["interrupted"])
    assert told


def test_an_error_of_a_device_that_does_not_open_reaches_the_user(remote, tmp_path):
    with remote() as worker:
        (tmp_path / "script.yaml").unlink()
        with pytest.raises(UsageError, match=r"script\.yaml: cannot be read: No such file"):
            worker.devices  # noqa: B018


def test_a_bug_in_the_process_is_shown_with_its_traceback(remote, boot_after):
    boot_after("from gemmbench.backends import registry; registry.open_backends = lambda *_: int('x')")
    with remote() as worker, pytest.raises(DeviceError, match=r"(?s)failed:.*ValueError"):
        worker.devices  # noqa: B018


FINISHED = "from gemmbench.bench.workers.messages import Finished; pipe.send(Finished([])); "


@pytest.mark.parametrize(
    ("boot", "words"),
    [
        (CONNECT + "pipe.send('hello'); pipe.recv()", "sent an unknown message: 'hello'; this is a bug in gemmbench"),
        (CONNECT + FINISHED + "pipe.recv()", r"sent Finished\(records=\[\]\) before its device was open"),
        (CONNECT + "pipe.recv(); pipe.recv()", r"did not open its device within 0\.5 s"),
        ("raise SystemExit(5)", "ended before its device was open: its process ended with exit code 5"),
    ],
    ids=["an unknown message", "a message at the wrong time", "no message", "the end"],
)
def test_what_comes_instead_of_an_open_device_is_an_error(remote, monkeypatch, boot, words):
    if "within" in words:
        monkeypatch.setattr(device_workers, "_OPENING_SECONDS", 0.5)
    monkeypatch.setattr(worker_process, "_BOOT", boot)
    with remote() as worker, pytest.raises(DeviceError, match=words):
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


@pytest.mark.parametrize(
    ("kind", "seconds", "limit", "status", "words"),
    [
        ("python", 0.25, 60.0, "ok", ""),
        ("python", 60.0, 0.1, "timeout", "its first calls did not finish within 0.1 s, the limit for a compilation"),
        ("kernel", 60.0, 60.0, "timeout", "did not finish within 0.1 s, the time limit for a launch"),
    ],
)
def test_the_first_calls_of_a_python_function_have_the_time_of_a_compilation(
    remote, boot_after, batch, monkeypatch, kind, seconds, limit, status, words
):
    boot_after(f"from gemmbench.backends.fake import backend; backend._COMPILATION = {seconds}")
    monkeypatch.setattr(device_workers, "_GRACE", 0.0)
    monkeypatch.setattr(worker_process, "_POLL", 0.05)
    with remote(0.1, {"bad": "compiles"}, limit) as worker:
        (record,) = worker.experiment(batch("bad", kind=kind, text=""))
    assert (record.status, record.reason) == (status, words)


def test_what_a_python_function_changed_ends_with_its_process(remote, batch, make_plan):
    def mixed(*functions):
        plans = [make_plan("naive", Problem(16, 8, 4))]
        plans += [make_plan(each, Problem(16, 8, 4), kind="python", path=f"{each}.py", text="") for each in functions]
        return make_gemm_batch(plans, (CODE,) * len(plans), Policy(rounds=2, until=0.0, cache="hot"))

    def find_process(rows):
        assert {record.status for record in worker.experiment(rows)} == {"ok"}
        return worker._process._process.pid

    with remote() as worker:
        first = find_process(batch("naive"))
        assert [find_process(mixed(*names)) for names in (["one"], ["one"], ["one", "two"])] == [first] * 3
        second = find_process(mixed("two"))
        third = find_process(batch("naive"))
        assert len({first, second, third}) == 3 and find_process(batch("tiled")) == third


def test_a_changed_python_function_gets_a_process_of_its_own(remote, make_plan):
    with remote() as worker:
        processes = set()
        for text in ("before", "after"):
            plan = make_plan("one", Problem(16, 8, 4), kind="python", path="one.py", text=text)
            worker.experiment(make_gemm_batch([plan], (CODE,), Policy(rounds=2, until=0.0, cache="hot")))
            processes.add(worker._process._process.pid)
    assert len(processes) == 2
