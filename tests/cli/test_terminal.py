"""Progress on stderr: bars on a terminal, a line from time to time elsewhere."""

import io
import re
import sys
import threading

import pytest

from gemmbench.bench.experiments.context import SWEEP
from gemmbench.cli import output
from gemmbench.cli.output import TERMINAL


class Terminal(io.StringIO):
    def isatty(self):
        return True


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


def test_a_bar_shows_the_time_left(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with TERMINAL.progress_bar() as progress:
        progress(SWEEP + "64 nn f32", 1, 4)
        assert "left" not in terminal.getvalue()
        progress(SWEEP + "64 nn f32", 1, 4, 1000.0)
    assert "about 16 min" in terminal.getvalue()


def test_an_activity_that_cannot_be_counted_has_no_count_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with TERMINAL.progress_bar() as progress:
        progress("operands", 3, 12)
        progress("warm up", 0, 0)
    last = terminal.getvalue().rpartition("warm up")[2]
    assert "/" not in last.replace("\x1b", "") and "0:00" not in terminal.getvalue()


def test_on_a_terminal_the_problem_and_the_step_are_drawn_on_stderr(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with TERMINAL.progress_bar() as progress:
        progress(SWEEP + "1024 nn f32", 1, 4)
        progress("verify tiled", 3, 7)
    drawn = terminal.getvalue()
    assert "1024 nn f32" in drawn and "1/4" in drawn
    assert "verify tiled" in drawn and "3/7" in drawn
    assert SWEEP not in drawn
    assert capsys.readouterr().out == ""
