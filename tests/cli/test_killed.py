"""A sweep killed at any moment resumes: no row is lost, none is there twice, and nothing of it is left running."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from gemmbench.report.store.journal import Journal
from gemmbench.report.store.reading import read_results

SIZES = "8,9,10,11,12,13,14,15"
NAMES = ["naive", "tiled", "cublas"]
SWEEP = ["run", *NAMES, "--sizes", SIZES, "--rounds", "10", "--cache", "hot", "--out", "results"]


def start(device, folder, *options):
    command = [sys.executable, "-m", "gemmbench", *SWEEP, "--device", device, *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def rows(folder):
    (path,) = (folder / "results").glob("*.jsonl")
    found = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    return [(row["problem"]["M"], row["variant"]) for row in found if row["row"] == "record"]


def await_rows(folder, count):
    """Wait until so many rows are on the disk."""
    for _ in range(600):
        paths = list((folder / "results").glob("*.jsonl"))
        if paths and len(paths[0].read_bytes().splitlines()) > count:
            return
        time.sleep(0.01)
    pytest.fail("the sweep does not move")


@pytest.mark.parametrize("isolated", [False, True])
def test_a_killed_sweep_resumes(tmp_path, script, isolated):
    device, rng = script(isolated=isolated), random.Random(0)
    for at in (1, 8):
        process = start(device, tmp_path, *(["--resume"] if at > 1 else []))
        await_rows(tmp_path, at)
        time.sleep(rng.random() * 0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    ended = start(device, tmp_path, "--resume")
    assert ended.communicate()[1].startswith("resuming")
    assert ended.returncode == 0
    (path,) = (tmp_path / "results").glob("*.jsonl")
    wanted = [(int(size), name) for size in SIZES.split(",") for name in NAMES]
    assert sorted((record.problem.M, record.variant) for record in read_results(path).records) == sorted(wanted)
    whole = [row for row in rows(tmp_path) if rows(tmp_path).count(row) == 1]
    assert len(whole) >= len(wanted) - 2 * len(NAMES)  # only what was in flight was measured again


def test_the_worker_of_a_killed_run_goes_too(tmp_path, script):
    process = start(script(isolated=True, faults={"tiled": "hang"}), tmp_path)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    for _ in range(400):
        time.sleep(0.02)
        found = children.read_text().split()
        if found:  # the worker
            break
    assert found, "the worker does not start"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    for _ in range(200):
        if not any(Path(f"/proc/{child}").exists() for child in found):
            return
        time.sleep(0.05)
    pytest.fail("the worker is still there")


def test_two_runs_may_share_a_folder_and_not_a_file(tmp_path, script):
    device = script()
    both = [start(device, tmp_path) for _ in range(2)]
    assert [process.communicate() and process.returncode for process in both] == [0, 0]
    paths = list((tmp_path / "results").glob("*.jsonl"))
    assert [len(read_results(path).records) for path in paths] == [24, 24]
    lines = paths[0].read_bytes().splitlines(keepends=True)
    paths[0].write_bytes(b"".join(lines[:-1]))
    with Journal(read_results(paths[0])):
        second = start(device, tmp_path, "--resume-from", str(paths[0]))
        assert "another run is writing it; wait until it ends" in second.communicate()[1]
        assert second.returncode == 2
