"""Ctrl-C, SIGTERM, SIGHUP and SIGKILL at any moment: complete rows are saved, nothing stays running, runs resume."""

import fcntl
import os
import pty
import random
import shlex
import signal
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import read_results

ROOT = Path(__file__).parents[2]
SIZES = range(8, 24)
NAMES = ["naive", "tiled", "cublas"]
SWEEP = ["run", *NAMES, "--sizes", ",".join(map(str, SIZES)), "--rounds", "10", "--cache", "hot", "--device"]
LONG_SIZES = range(64, 8193, 64)
LONG_SWEEP = [*SWEEP[:-1], "--sizes", "64:8192:64", "--device"]  # it cannot end before it is interrupted
HOSTILE = ["run", "--kernels", ROOT / "tests" / "hostile", "--device", "cpu", "--sizes", "33x17x19"]


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_ctrl_c_ends_with_130_and_shows_and_saves_what_there_is(run_naive, saved, windows):
    _, at = windows
    at[138] = interrupt
    said = run_naive()
    assert said.code == 130
    assert "stopping after the current step; press Ctrl-C again to stop at once" in said.err
    journal, rows = saved()
    assert f"continue with: gemmbench run --resume-from results/{journal.name}" in said.err
    assert {row["stopped"] for row in rows} == {"interrupted"} and {row["M"] for row in rows} == {"16"}
    assert all(0 < int(row["rounds"]) < 10 for row in rows)
    assert "interrupted after" in said.out
    assert not read_results(journal).is_torn


@pytest.mark.parametrize("at_once", [False, True])
def test_the_command_that_continues_can_be_pasted_even_if_it_names_a_file(gemmbench, write_kernel, windows, at_once):
    path, (_, at) = write_kernel("mine.cu"), windows
    at[260] = lambda: [interrupt() for _ in range(1 + at_once)]
    said = gemmbench(
        "run", f"./{path.relative_to(Path.cwd())}", "--device", "fake", "--sizes", "16,24", "--rounds", "10"
    )
    assert said.code == 130
    again = shlex.split(said.err.rstrip().splitlines()[-1].partition("; continue with: ")[2])
    assert again[:2] == ["gemmbench", "run"] and "--resume-from" in again
    assert gemmbench(*again[1:]).code == (2 if at_once else 0)  # 2: the file alone may not name code, and says so


@pytest.mark.parametrize(
    ("place", "said_last"),
    [
        ("plan_request", "interrupted; start again with: gemmbench run naive --device fake --sizes 16"),
        ("compare_rows", "interrupted after the last row; show the run with: gemmbench show results/"),
    ],
)
def test_ctrl_c_outside_a_measurement_names_the_next_command(gemmbench, monkeypatch, place, said_last):
    module = "gemmbench.session.sweep_runs" if place == "plan_request" else "gemmbench.cli.run"
    monkeypatch.setattr(f"{module}.{place}", lambda *arguments, **options: interrupt())
    said = gemmbench("run", "naive", "--device", "fake", "--sizes", "16")
    assert (said.code, said.out) == (130, "") and said_last in said.err.splitlines()[-1]


def test_ctrl_c_before_the_first_row_leaves_no_file(run_naive, windows, tmp_path):
    _, at = windows
    at[1] = interrupt
    said = run_naive()
    assert said.code == 130
    assert list((tmp_path / "results").glob("*")) == []
    assert "; start again with: gemmbench run naive --sizes 16" in said.err.splitlines()[-1]


def test_a_second_ctrl_c_stops_at_once(run_naive, windows):
    seen, at = windows
    at[2] = lambda: (interrupt(), interrupt())
    assert run_naive().code == 130
    assert len(seen) == 2


def test_ctrl_c_while_verifying_ends_with_130(gemmbench, windows):
    seen, at = windows
    at[3] = interrupt
    assert gemmbench("verify", "naive", "--device", "fake", "--sizes", "8,9,10,11").code == 130
    assert len(seen) < 6


def start(folder, *arguments):
    """Begin a command in a process of its own, in a folder."""
    command = [sys.executable, "-m", "gemmbench", *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.communicate()


def terminate(process, number=signal.SIGTERM):
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert process.returncode == 128 + number
    what = "terminated" if number == signal.SIGTERM else "the terminal was lost"
    assert err.splitlines()[-1] == f"gemmbench: {what}; every complete row is kept"


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.01)


def await_rows(folder, count):
    """Wait until so many rows are on the disk."""
    wait_until(lambda: any(len(path.read_bytes().splitlines()) > count for path in folder.glob("results/*.jsonl")))


def list_processes_in(folder):
    """The command lines of the processes that work in a folder or below."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile, or belongs to another user
            command = (process / "cmdline").read_bytes()
            if str(folder).encode() in command or (process / "cwd").readlink().is_relative_to(folder):
                found.append(command)
    return found


@pytest.mark.parametrize("isolated", [False, True])
def test_a_killed_sweep_resumes(gemmbench, tmp_path, script, isolated):
    device, rng = script(isolated=isolated), random.Random(0)
    for at in (1, 8):
        process = start(tmp_path, *SWEEP, device, *(["--resume"] if at > 1 else []))
        await_rows(tmp_path, at)
        time.sleep(rng.random() * 0.02)
        kill(process)
    ended = gemmbench(*SWEEP, device, "--resume")
    assert ended.code == 0 and ended.err.startswith("resuming")
    (path,) = tmp_path.glob("results/*.jsonl")
    wanted = [(size, name) for size in SIZES for name in NAMES]
    assert sorted((record.problem.M, record.variant) for record in read_results(path).records) == sorted(wanted)
    lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    rows = [(row["problem"]["M"], row["variant"]) for row in lines if row["row"] == "record"]
    once = [row for row in rows if rows.count(row) == 1]
    assert len(once) >= len(wanted) - 2 * len(NAMES)  # only what was in flight was measured again


def test_the_worker_of_a_killed_run_goes_too(tmp_path, script):
    process = start(tmp_path, *SWEEP, script(isolated=True, faults={"tiled": "hang"}))
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_until(children.read_text)
    found = children.read_text().split()
    kill(process)
    wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in found))


def test_two_runs_may_share_a_folder_and_not_a_file(gemmbench, tmp_path, script):
    call = [*SWEEP, script()]
    other = start(tmp_path, *call)
    assert gemmbench(*call).code == 0
    assert other.communicate() and other.returncode == 0
    paths = list(tmp_path.glob("results/*.jsonl"))
    assert [len(read_results(path).records) for path in paths] == [len(SIZES) * len(NAMES)] * 2
    lines = paths[0].read_bytes().splitlines(keepends=True)
    paths[0].write_bytes(b"".join(lines[:-1]))
    with Journal(read_results(paths[0])):
        second = start(tmp_path, *call, "--resume-from", paths[0])
        assert "another run is writing it; wait until it ends" in second.communicate()[1]
    assert second.returncode == 2


@pytest.mark.parametrize(
    ("number", "isolated"), [(signal.SIGTERM, False), (signal.SIGTERM, True), (signal.SIGHUP, False)]
)
def test_complete_rows_are_saved_and_the_run_can_be_resumed(tmp_path, script, isolated, number):
    process = start(tmp_path, *LONG_SWEEP, script(isolated=isolated))
    await_rows(tmp_path, 4)
    terminate(process, number)
    (path,) = tmp_path.glob("results/*.jsonl")
    run = read_results(path)
    assert not run.is_torn and 3 <= len(run.records) < len(LONG_SIZES) * len(NAMES)
    wait_until(lambda: not list_processes_in(tmp_path))


def test_while_a_kernel_compiles(tmp_path, monkeypatch):
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))
    process = start(tmp_path, *HOSTILE, "compiles_for_minutes")
    wait_until(lambda: any(b"cc1plus" in command for command in list_processes_in(tmp_path)))
    terminate(process)
    wait_until(lambda: not list_processes_in(tmp_path))
    assert not [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_while_a_kernel_hangs(tmp_path, monkeypatch, number):
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))
    process = start(tmp_path, *HOSTILE, "infinite_loop")
    wait_until(lambda: any(b".kernel" in command for command in list_processes_in(tmp_path)))
    terminate(process, number)
    wait_until(lambda: not list_processes_in(tmp_path))


@pytest.mark.parametrize("presses", [2, 3, 20])
def test_ctrl_c_again_and_again_ends_the_kernel_that_hangs_without_a_traceback(tmp_path, monkeypatch, presses):
    monkeypatch.setenv("GEMMBENCH_CACHE_DIR", str(tmp_path / "cache"))
    process = start(tmp_path, *HOSTILE, "infinite_loop")
    wait_until(lambda: any(b".kernel" in command for command in list_processes_in(tmp_path)))
    for _ in range(presses):
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err and "Exception ignored" not in err, err
    wait_until(lambda: not list_processes_in(tmp_path))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_workers_of_a_local_fleet_and_their_folder_go_too(tmp_path, monkeypatch, number):
    pytest.importorskip("distributed")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    process = start(tmp_path, *LONG_SWEEP, "cpu", "--fleet", "local:2")
    wait_until(lambda: len([each for each in list_processes_in(temporary) if b"dask-worker" in each]) >= 2)
    terminate(process, number)
    assert not list(temporary.glob("gemmbench-fleet-*"))
    wait_until(lambda: not list_processes_in(tmp_path))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_where_the_signal_is_ignored_it_stays_ignored(gemmbench, number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        assert gemmbench("list", "--device", "fake").code == 0
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_a_lost_terminal_ends_the_run_and_keeps_its_rows(tmp_path, script):
    """The terminal goes first, so that nothing can be written to it any more."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "gemmbench", *map(str, LONG_SWEEP), script()]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=take_terminal
    ) as process:
        os.close(theirs)
        await_rows(tmp_path, 4)
        os.close(ours)
        assert process.wait(60) == 129
    (path,) = tmp_path.glob("results/*.jsonl")
    assert not read_results(path).is_torn


def take_terminal():
    """Lead a session whose terminal is that of stdin."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_after_a_run_ctrl_c_and_sigterm_do_what_they_did_before(run_naive):
    before = signal.getsignal(signal.SIGINT)
    run_naive()
    assert signal.getsignal(signal.SIGINT) is before
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == [signal.SIG_DFL] * 2
