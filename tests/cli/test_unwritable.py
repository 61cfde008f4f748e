"""A disk that is full, an output that cannot be written, streams that are closed: nothing measured is lost."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from gemmbench.report.store.reading import read_results

SWEEP = ["--sizes", "16,24,32", "--rounds", "10", "--cache", "hot"]


@pytest.fixture
def full_at(monkeypatch):
    """Let no file grow beyond a number of bytes, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("extra", [0, 1, 300, 700])
def test_a_disk_that_fills_up_ends_the_run_and_shows_what_was_measured(gemmbench, tmp_path, full_at, extra):
    call = ["run", "naive", "--device", "fake", *SWEEP]
    gemmbench(*call, "--out", "whole")
    (whole,) = (tmp_path / "whole").glob("*.jsonl")
    lines = whole.read_bytes().splitlines(keepends=True)
    full_at(sum(map(len, lines[:4])) + extra)
    said = gemmbench(*call)
    assert said.code == 2
    (path,) = (tmp_path / "results").glob("*.jsonl")
    message = f"gemmbench: cannot write to results/{path.name}: File too large; the run ended, and --resume continues"
    assert said.err.splitlines()[-1].startswith(message) and "Traceback" not in said.err
    assert said.out.count(" ok") == 4 and "M = 24" in said.out and "M = 32" not in said.out  # whole batches
    found = read_results(path)
    assert not found.warning and 2 <= len(found.records) <= 4
    assert path.read_bytes().endswith(b"\n")


def test_a_disk_that_is_full_from_the_start_leaves_no_file(gemmbench, tmp_path, full_at):
    full_at(100)
    said = gemmbench("run", "naive", "--device", "fake", *SWEEP)
    assert said.code == 2 and said.out == ""
    assert said.err.startswith("gemmbench: cannot write to results/") and "choose another --out" in said.err
    assert list((tmp_path / "results").iterdir()) == []


def test_the_post_whose_file_cannot_be_written_is_the_last(gemmbench, tmp_path, full_at):
    full_at(6000)
    said = gemmbench("posts", "000", "001", "--device", "fake", "--sizes", "64,96", "--rounds", "10", "--cache", "hot")
    assert said.code == 2 and "File too large" in said.err
    assert len(list((tmp_path / "results").glob("*.jsonl"))) == 1


def test_a_check_whose_file_cannot_be_written_promises_no_resuming(gemmbench, tmp_path, full_at):
    gemmbench("run", "naive", "--device", "fake", *SWEEP, "--save", "main")
    (path,) = (tmp_path / "results").glob("*.jsonl")
    full_at(sum(map(len, path.read_bytes().splitlines(keepends=True)[:4])))
    said = gemmbench("check", "--device", "fake")
    assert said.code == 2 and said.err.endswith(": File too large; the run ended\n")


def start(words, folder, **streams):
    environment = {**os.environ, "GEMMBENCH_DEVICE": "fake"}
    command = [sys.executable, "-m", "gemmbench", *words]
    return subprocess.run(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, **streams)


@pytest.mark.parametrize("words", [["run", "naive", *SWEEP], ["list"], ["--help"]], ids=lambda words: words[0])
def test_an_output_that_cannot_be_written_is_told_in_one_line(tmp_path, words):
    with Path("/dev/full").open("w") as full:
        said = start(words, tmp_path, stdout=full)
    assert said.returncode == 2
    assert said.stderr.startswith("gemmbench: cannot write the output: No space left on device\n")
    assert said.stderr.count("\n") == 1
    if words[0] == "run":
        (path,) = (tmp_path / "results").glob("*.jsonl")
        assert len(read_results(path).records) == 6 and path.with_suffix(".csv").exists()


def test_a_closed_stdout_loses_only_the_output(tmp_path):
    said = start(["run", "naive", *SWEEP], tmp_path, preexec_fn=lambda: os.close(1))
    assert said.returncode == 0
    (path,) = (tmp_path / "results").glob("*.jsonl")
    assert len(read_results(path).records) == 6 and path.with_suffix(".csv").exists()


def test_all_streams_may_be_closed(tmp_path):
    said = start(["run", "naive", *SWEEP], tmp_path, preexec_fn=lambda: os.closerange(0, 3))
    assert said.returncode == 0
    (path,) = (tmp_path / "results").glob("*.jsonl")
    assert len(read_results(path).records) == 6
