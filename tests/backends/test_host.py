"""Who else uses the cores of the host."""

import os
import subprocess
import sys

import pytest

from gemmbench.backends import host
from gemmbench.backends.host import BLAS_SETTINGS, HostLoad, measure_host_load, shorten_blas_spinning


@pytest.fixture
def loadavg(tmp_path, monkeypatch):
    """What the system says of running threads, this process included."""
    path = tmp_path / "loadavg"
    monkeypatch.setattr(host, "_LOAD", path)
    monkeypatch.setattr(host, "_PERIOD", 0.0)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)

    def write(running):
        path.write_text(f"9.99 9.99 9.99 {running}/345 6789\n")

    return write


def test_the_load_is_what_runs_besides_this_process(loadavg):
    loadavg(4)
    assert measure_host_load() == HostLoad(3.0, 8)
    loadavg(1)
    assert measure_host_load() == HostLoad(0.0, 8)


def test_without_a_count_the_load_is_the_mean_of_the_last_minute(loadavg, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (1.5, 9.0, 9.0))
    assert measure_host_load() == HostLoad(1.5, 8)


@pytest.mark.parametrize(
    ("processes", "allowed", "free"), [(0.0, 8, 8), (0.4, 8, 8), (1.0, 8, 7), (3.1, 4, 4), (7.6, 8, 1), (20.0, 8, 1)]
)
def test_free_cores_are_those_that_nobody_else_uses(processes, allowed, free):
    assert HostLoad(processes, 8).count_free_cores(allowed) == free


@pytest.mark.parametrize(("processes", "busy"), [(0.0, False), (2.0, False), (2.1, True)])
def test_a_host_is_busy_from_a_quarter_of_its_cores_on(processes, busy):
    assert HostLoad(processes, 8).is_busy is busy


def test_a_setting_of_the_user_stays(monkeypatch):
    monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", "26")
    shorten_blas_spinning()
    assert os.environ["OPENBLAS_THREAD_TIMEOUT"] == "26"


def test_the_command_line_sets_it_before_numpy_is_imported():
    code = (
        "import os, sys; sys.argv = ['gemmbench', '-V']\n"
        "from gemmbench.cli import main\n"
        "assert 'numpy' not in sys.modules\n"
        "try: main()\n"
        "except SystemExit: print(os.environ['OPENBLAS_THREAD_TIMEOUT'])"
    )
    environment = {name: value for name, value in os.environ.items() if name not in BLAS_SETTINGS}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == BLAS_SETTINGS["OPENBLAS_THREAD_TIMEOUT"]
