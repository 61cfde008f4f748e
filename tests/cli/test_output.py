"""Progress on stderr; disks that are full, outputs that cannot be written, streams that are closed."""

import io
import os
import re
import resource
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from gemmbench.bench.experiments.context import SWEEP
from gemmbench.cli import output
from gemmbench.cli.output import TERMINAL
from gemmbench.report.store.reading import read_results

LONG_SWEEP = ["--sizes", "16,24,32", "--rounds", "10", "--cache", "hot"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def open_terminal(monkeypatch):
    """A terminal of 120 columns in the place of stderr."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


def test_off_a_terminal_a_quick_command_prints_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with TERMINAL.progress_bar() as progress:
        progress(SWEEP + "1024 nn f32", 1, 4)
    assert sys.stderr.getvalue() == "" and output.PERIOD == 10


@pytest.fixture
def beats(monkeypatch):
    """Lines of a heartbeat, and a way to wait for the next one."""
    monkeypatch.setattr(output, "PERIOD", 0.001)
    lines, written = [], threading.Semaphore(0)

    def write(line):
        lines.append(line)
        written.release()

    def wait():
        while written.acquire(blocking=False):
            pass
        written.acquire()
        written.acquire()  # the first may have been made before the last report
        return re.sub(r"^\d+ s: ", "", lines[-1])

    with output.print_heartbeat(write) as progress:
        yield progress, wait


def test_off_a_terminal_a_line_tells_what_is_being_done_from_time_to_time(beats):
    progress, wait = beats
    assert wait() == "starting"
    progress("compile", 2, 5)
    assert wait() == "compile 2/5"
    progress(SWEEP + "64 nn f32", 1, 4)
    progress("verify tiled", 3, 7)
    assert wait() == "64 nn f32 1/4, verify tiled 3/7"
    progress("warm up", 0, 0)
    assert wait() == "64 nn f32 1/4, warm up"
    progress(SWEEP + "96 nn f32", 2, 4)
    assert wait() == "96 nn f32 2/4"


def test_the_time_left_is_told_where_it_is_known(beats):
    progress, wait = beats
    progress(SWEEP + "64 nn f32", 1, 4, 1000.0)
    assert re.fullmatch(r"64 nn f32 1/4, about 16 min \d+ s left", wait())
    progress(SWEEP + "96 nn f32", 2, 4, -1.0)
    assert wait() == "96 nn f32 2/4"
    progress(SWEEP + "128 nn f32", 3, 4)
    assert wait() == "128 nn f32 3/4"


def test_a_bar_shows_the_problem_the_step_and_the_time_left_on_stderr(monkeypatch, capsys):
    terminal = open_terminal(monkeypatch)
    with TERMINAL.progress_bar() as progress:
        progress(SWEEP + "1024 nn f32", 1, 4)
        assert "left" not in terminal.getvalue()
        progress(SWEEP + "1024 nn f32", 1, 4, 1000.0)
        progress("verify tiled", 3, 7)
    drawn = terminal.getvalue()
    assert all(word in drawn for word in ("1024 nn f32", "1/4", "verify tiled", "3/7", "about 16 min"))
    assert SWEEP not in drawn and capsys.readouterr().out == ""


def test_an_activity_that_cannot_be_counted_has_no_count_on_a_terminal(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with TERMINAL.progress_bar() as progress:
        progress("operands", 3, 12)
        progress("warm up", 0, 0)
    last = terminal.getvalue().rpartition("warm up")[2]
    assert "/" not in last.replace("\x1b", "") and "0:00" not in terminal.getvalue()


@contextmanager
def full_disk(size):
    """Let no file grow beyond a number of bytes, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:  # at once: pytest may write to a file
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("extra", [0, 1, 300, 700])
def test_a_disk_that_fills_up_ends_the_run_and_shows_what_was_measured(gemmbench, tmp_path, extra):
    call = ["run", "naive", "--device", "fake", *LONG_SWEEP]
    gemmbench(*call, "--out", "whole")
    (whole,) = (tmp_path / "whole").glob("*.jsonl")
    lines = whole.read_bytes().splitlines(keepends=True)
    with full_disk(sum(map(len, lines[:4])) + extra):
        said = gemmbench(*call)
    assert said.code == 2
    (path,) = (tmp_path / "results").glob("*.jsonl")
    message = f"gemmbench: cannot write to results/{path.name}: File too large; the run ended, and --resume continues"
    assert said.err.splitlines()[-1].startswith(message) and "Traceback" not in said.err
    assert said.out.count(" ok") == 4 and "M = 24" in said.out and "M = 32" not in said.out  # whole batches
    found = read_results(path)
    assert not found.is_torn and 2 <= len(found.records) <= 4
    assert path.read_bytes().endswith(b"\n")


def test_a_disk_that_is_full_from_the_start_leaves_no_file(gemmbench, tmp_path):
    with full_disk(100):
        said = gemmbench("run", "naive", "--device", "fake", *LONG_SWEEP)
    assert said.code == 2 and said.out == ""
    assert said.err.startswith("gemmbench: cannot write to results/") and "choose another --out" in said.err
    assert list((tmp_path / "results").iterdir()) == []


def test_the_post_whose_file_cannot_be_written_is_the_last(gemmbench, tmp_path):
    call = "posts 000 001 --device fake --sizes 64,96 --rounds 10 --cache hot"
    with full_disk(6000):
        said = gemmbench(*call.split())
    assert said.code == 2 and "File too large" in said.err
    assert len(list((tmp_path / "results").glob("*.jsonl"))) == 1


def test_a_check_whose_file_cannot_be_written_promises_no_resuming(gemmbench, tmp_path):
    gemmbench("run", "naive", "--device", "fake", *LONG_SWEEP, "--save", "main")
    (path,) = (tmp_path / "results").glob("*.jsonl")
    with full_disk(sum(map(len, path.read_bytes().splitlines(keepends=True)[:4]))):
        said = gemmbench("check", "--device", "fake")
    assert said.code == 2 and said.err.endswith(": File too large; the run ended\n")


def start(words, folder, **streams):
    environment = {**os.environ, "GEMMBENCH_DEVICE": "fake"}
    command = [sys.executable, "-m", "gemmbench", *words]
    return subprocess.run(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, **streams)


@pytest.mark.parametrize("words", [["run", "naive", *LONG_SWEEP], ["list"], ["--help"]], ids=lambda words: words[0])
def test_an_output_that_cannot_be_written_is_told_in_one_line(tmp_path, words):
    with Path("/dev/full").open("w") as full:
        said = start(words, tmp_path, stdout=full)
    assert said.returncode == 2
    assert said.stderr.startswith("gemmbench: cannot write the output: No space left on device\n")
    assert said.stderr.count("\n") == 1
    if words[0] == "run":
        (path,) = (tmp_path / "results").glob("*.jsonl")
        assert len(read_results(path).records) == 6 and path.with_suffix(".csv").exists()


@pytest.mark.parametrize("closed", [(1, 2), (0, 3)], ids=["stdout", "all"])
def test_a_closed_stdout_ends_with_2_and_loses_only_the_output(tmp_path, closed):
    said = start(["run", "naive", *LONG_SWEEP], tmp_path, preexec_fn=lambda: os.closerange(*closed))
    assert said.returncode == 2
    assert said.stderr.endswith("" if 3 in closed else "gemmbench: cannot write the output: Bad file descriptor\n")
    (path,) = (tmp_path / "results").glob("*.jsonl")
    assert len(read_results(path).records) == 6 and path.with_suffix(".csv").exists()
