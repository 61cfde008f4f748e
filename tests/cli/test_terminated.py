"""SIGTERM: exit code 143 at any moment, complete rows saved, and nothing left running."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from gemmbench.report.store.reading import read_results

ROOT = Path(__file__).parents[2]
SWEEP = ["run", "naive", "tiled", "cublas", "--sizes", "8,9,10,11,12,13,14,15", "--rounds", "10", "--cache", "hot"]
HOSTILE = ["run", "--kernels", ROOT / "tests" / "hostile", "--device", "cpu", "--sizes", "33x17x19"]


def start(folder, *arguments):
    command = [sys.executable, "-m", "gemmbench", *map(str, arguments)]
    environment = {**os.environ, "GEMMBENCH_CACHE_DIR": str(folder / "cache")}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def terminate(process):
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert process.returncode == 143
    assert err.splitlines()[-1] == "gemmbench: terminated; a run keeps every row that was complete"


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.01)


def list_processes_in(folder):
    """The processes that work in a folder or below."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile, or belongs to another user
            command = (process / "cmdline").read_bytes()
            if str(folder).encode() in command or (process / "cwd").readlink().is_relative_to(folder):
                found.append(command)
    return found


@pytest.mark.parametrize("isolated", [False, True])
def test_complete_rows_are_saved_and_the_run_can_be_resumed(tmp_path, script, isolated):
    device = script(isolated=isolated)
    process = start(tmp_path, *SWEEP, "--device", device)
    wait_until(lambda: any(len(path.read_bytes().splitlines()) > 4 for path in tmp_path.glob("results/*.jsonl")))
    terminate(process)
    (path,) = tmp_path.glob("results/*.jsonl")
    run = read_results(path)
    assert run.warning == "" and 3 <= len(run.records) < 24
    wait_until(lambda: not list_processes_in(tmp_path))


def test_while_a_kernel_compiles(tmp_path):
    process = start(tmp_path, *HOSTILE, "compiles_for_minutes")
    wait_until(lambda: any(b"cc1plus" in command for command in list_processes_in(tmp_path)))
    terminate(process)
    wait_until(lambda: not list_processes_in(tmp_path))
    assert not [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]


def test_while_a_kernel_hangs(tmp_path):
    process = start(tmp_path, *HOSTILE, "infinite_loop")
    wait_until(lambda: any(command.startswith(bytes(tmp_path / "cache")) for command in list_processes_in(tmp_path)))
    terminate(process)
    wait_until(lambda: not list_processes_in(tmp_path))


def test_where_the_signal_is_ignored_it_stays_ignored(gemmbench):
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        assert gemmbench("list", "--device", "fake").code == 0
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_afterwards_the_signal_ends_a_process_as_before(gemmbench):
    gemmbench("list", "--device", "fake")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
