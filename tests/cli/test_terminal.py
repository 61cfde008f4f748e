"""Progress on stderr: bars on a terminal, silence elsewhere."""

import io
import sys

from gemmbench.bench.experiments.context import SWEEP, ignore_progress
from gemmbench.cli.terminal import TERMINAL


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_off_a_terminal_nothing_is_drawn(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with TERMINAL.progress_bar() as progress:
        assert progress is ignore_progress
    assert sys.stderr.getvalue() == ""


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
