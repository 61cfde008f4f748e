"""`python -m examples.digits`: prints an address, answers there, and ends with Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from examples.digits import __main__ as program

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def started():
    """The program and its address."""
    command = [sys.executable, "-m", "examples.digits", "mlp_fused", "--device", "fake"]
    environment = {**os.environ, "DISPLAY": ":99"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment
    ) as process:
        line = process.stdout.readline()
        assert process.stdout.readline() == "Ctrl-C ends the server.\n"
        yield process, re.fullmatch(r"Draw a digit at (http://127\.0\.0\.1:\d+/[\w-]{20,}/)\n", line)[1]
        process.kill()


def test_the_page_is_served_until_ctrl_c(started):
    process, address = started
    with urllib.request.urlopen(address, timeout=10) as response:
        assert response.read().startswith(b"<!doctype html>")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (0, "", "")
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=10)


def test_weights_without_digits_are_refused():
    said = CliRunner().invoke(program.main, ["mlp_fused", "--device", "fake", "--weights", "random"])
    assert said.exit_code == 2 and "digits: these weights come without digits" in said.output


@pytest.mark.parametrize(
    ("terminal", "display", "wanted", "opened"),
    [(True, ":0", True, True), (False, ":0", True, False), (True, "", True, False), (True, ":0", False, False)],
)
def test_a_browser_is_opened_for_who_can_see_it(monkeypatch, capsys, terminal, display, wanted, opened):
    seen = []
    monkeypatch.setattr(program.webbrowser, "open", seen.append)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", display)
    program._announce("there", wanted)
    assert capsys.readouterr().out == "Draw a digit at there\nCtrl-C ends the server.\n"
    assert seen == (["there"] if opened else [])
