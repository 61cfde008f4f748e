"""The doctor on a GPU: what it measures is plausible, and the same code is the same."""

import subprocess
import sys

import pytest

from gemmbench.backends.cuda.system import peaks

pytestmark = pytest.mark.filterwarnings("default")


def test_the_peaks_are_below_the_limits_and_are_printed(backend):
    found, device = peaks.measure_peaks(backend), backend.device
    print(found)
    assert 0 < found.copy <= (device.bandwidth or found.copy)
    peak = device.flops_per_cycle.get("f32", 0.0) * max(found.clock_hz, device.clock_hz)
    assert 0 < found.fma <= 1.02 * peak or not peak
    assert 0 < found.launch < 1e-3 and 0 < found.ungated < 1e-3


def test_the_whole_of_it_ends_well(backend, tmp_path):
    call = [sys.executable, "-m", "gemmbench", "doctor", "--device", "cuda", "--out", str(tmp_path / "results")]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    for what in ("driver", "nvcc", "pycuda", "copy", "arithmetic", "launch", "noise"):
        assert f"\n{what} " in f"\n{done.stdout}"
    assert "The smallest difference that compare can currently detect here," in done.stdout
