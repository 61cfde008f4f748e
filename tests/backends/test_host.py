"""Who else uses the cores of the host."""

import os
import subprocess
import sys

import pytest

from gemmbench.backends import host
from gemmbench.backends.host import average_competitors, count_competitors, is_busy, shorten_blas_spinning


@pytest.fixture
def loadavg(tmp_path, monkeypatch):
    """What the system says of running threads, this process included."""
    path = tmp_path / "loadavg"
    monkeypatch.setattr(host, "_LOAD", path)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(host, "count_cores", lambda: 8)

    def write(running):
        path.write_text(f"9.99 9.99 9.99 {running}/345 6789\n")

    return write


def test_competitors_are_what_runs_besides_this_process(loadavg):
    loadavg(4)
    assert count_competitors() == 3.0
    assert average_competitors(1e-3) == 3.0
    loadavg(1)
    assert count_competitors() == 0.0


def test_a_thread_that_is_about_to_sleep_is_no_competitor(loadavg, monkeypatch):
    running = iter([3, 2, 1])
    monkeypatch.setattr(host, "_count_running", lambda: next(running))
    assert count_competitors() == 0.0


def test_others_may_have_the_cores_that_this_process_may_not_use(loadavg, monkeypatch):
    monkeypatch.setattr(host, "count_cores", lambda: 2)
    loadavg(1 + 6)
    assert count_competitors() == 0.0
    loadavg(1 + 8)
    assert count_competitors() == 2.0


def test_without_a_count_the_load_is_the_mean_of_the_last_minute(loadavg, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (1.5, 9.0, 9.0))
    assert count_competitors() == 1.5


@pytest.mark.parametrize(("competitors", "busy"), [(0.0, False), (2.0, False), (2.1, True)])
def test_a_host_is_busy_from_a_quarter_of_its_cores_on(competitors, busy):
    assert is_busy(competitors, 8) is busy


def test_a_setting_of_the_user_stays(monkeypatch):
    monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", "26")
    shorten_blas_spinning()
    assert os.environ["OPENBLAS_THREAD_TIMEOUT"] == "26"


def test_the_command_line_sets_it_before_numpy_is_imported():
    code = """import os, sys; sys.argv = ['gemmbench', '-V']
from gemmbench.cli import main
assert 'numpy' not in sys.modules
try: main()
except SystemExit: print(os.environ['OPENBLAS_THREAD_TIMEOUT'])"""
    environment = {name: value for name, value in os.environ.items() if name not in host.BLAS_SETTINGS}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == host.BLAS_SETTINGS["OPENBLAS_THREAD_TIMEOUT"]
