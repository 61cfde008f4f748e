"""`gemmbench mlp --serve`: prints an address, answers there, and ends with Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

COMMAND = [sys.executable, "-m", "gemmbench", "mlp", "mlp_fused", "--device", "fake", "--serve"]


@pytest.fixture
def started(tmp_path):
    """The command and its address."""
    environment = {**os.environ, "DISPLAY": ":99", "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment
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


def test_weights_without_digits_are_refused(refused):
    said = refused("mlp", "mlp_fused", "--device", "fake", "--weights", "random", "--serve")
    assert said.startswith("--serve: these weights have no digits")


def test_a_port_that_does_not_exist_is_refused(gemmbench):
    assert gemmbench("mlp", "--serve", "--port", "70000").code == 2


@pytest.mark.parametrize(
    ("terminal", "display", "arguments", "opened"),
    [(True, ":0", [], True), (False, ":0", [], False), (True, "", [], False), (True, ":0", ["--no-browser"], False)],
)
def test_a_browser_is_opened_for_who_can_see_it(gemmbench, monkeypatch, terminal, display, arguments, opened):
    seen = []
    monkeypatch.setattr("gemmbench.cli.mlp.webbrowser.open", seen.append)
    monkeypatch.setattr("gemmbench.cli.mlp.serve_digits", lambda request, machine, port, announce: announce("there"))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", display)
    said = gemmbench("mlp", "--serve", "--device", "fake", *arguments)
    assert (said.code, said.out) == (0, "Draw a digit at there\nCtrl-C ends the server.\n")
    assert seen == (["there"] if opened else [])
