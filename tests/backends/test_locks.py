"""Locks: who waits says for what, and does not wait for ever."""

import os
import subprocess
import sys

import pytest

from gemmbench.backends import locks
from gemmbench.backends.locks import hold_lock

HOLDER = """
import fcntl, sys
with open(sys.argv[1], "w") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock until its input ends."""
    command = [sys.executable, "-c", HOLDER, tmp_path / "lock"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.stdin.close()


def test_whoever_waits_says_for_which_file_and_who_holds_it(holder, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(locks, "_PATIENCE", 0.0)
    monkeypatch.setattr(locks.time, "sleep", lambda seconds: holder.communicate())
    with hold_lock(tmp_path / "lock"):
        pass
    (said,) = caplog.messages
    assert said.startswith(f"waiting for the lock {tmp_path / 'lock'}, which process {holder.pid} (")
    assert said.endswith(" holds") and sys.executable in said


def test_a_lock_that_stays_held_is_an_error_that_names_its_holder(holder, tmp_path):
    with pytest.raises(TimeoutError) as caught, hold_lock(tmp_path / "lock", 0.1):
        pass
    assert caught.value.strerror.startswith(f"process {holder.pid} (")
    assert caught.value.strerror.endswith(f" held the lock {tmp_path / 'lock'} for 0.1 s; wait for it or end it")


def test_a_lock_that_is_free_is_taken_in_silence(tmp_path, caplog):
    for _ in range(2):
        with hold_lock(tmp_path / "lock", 0.0):
            pass
    assert not caplog.messages


def test_a_lock_that_is_a_fifo_keeps_nobody_waiting(tmp_path):
    os.mkfifo(tmp_path / "lock")
    with hold_lock(tmp_path / "lock", 0.0):
        pass
