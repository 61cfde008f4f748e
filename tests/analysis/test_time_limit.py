"""A compiler that does not end is ended, with all that it started."""

import subprocess
import sys
import time

import pytest

from gemmbench.analysis.toolkit import run_limited
from gemmbench.errors import BuildTimeout


def test_what_it_said_and_how_it_ended_come_back(tmp_path):
    done = run_limited([sys.executable, "-c", "import os; print(os.getcwd()); exit(3)"], 60, tmp_path)
    assert (done.returncode, done.stdout.strip()) == (3, str(tmp_path))


def test_one_that_takes_too_long_goes_with_its_children(tmp_path):
    mark = f"600.{time.monotonic_ns()}"
    with pytest.raises(BuildTimeout, match=r"did not compile within 0\.3 s"):
        run_limited(["sh", "-c", f"sleep {mark} & sleep {mark}"], 0.3)
    for _ in range(100):  # the system takes a moment to end them
        if not subprocess.run(["pgrep", "-f", mark], capture_output=True, text=True).stdout:
            return
        time.sleep(0.05)
    pytest.fail("a child is still there")


def test_a_compiler_is_nice_to_what_drives_the_device():
    wait = "import os, time\nfor _ in range(200):\n    time.sleep(0.05 * (os.nice(0) < 15))\nprint(os.nice(0))"
    done = run_limited([sys.executable, "-c", wait], 60, niceness=15)
    assert int(done.stdout) >= 15


def test_one_that_is_not_there_is_an_os_error():
    with pytest.raises(OSError, match="nowhere"):
        run_limited(["/nowhere/compiler"], 1)
