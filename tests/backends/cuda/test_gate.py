"""When windows go without a gate, and the clock from two stamps."""

from __future__ import annotations

import numpy as np
import pytest

from gemmbench.backends.cuda.gate import median_frequency, why_gate_is_off


def stamp(*rows: tuple[int, int, int]) -> np.ndarray:
    return np.array(rows, np.uint64)


def test_multiprocessors_are_paired_and_the_median_taken():
    before = stamp((0, 1_000, 5_000), (1, 9_000_000, 5_100), (2, 50, 5_200), (9, 0, 0))
    after = stamp((2, 1_755_050, 1_005_200), (1, 10_755_000, 1_005_100), (0, 3_001_000, 1_005_000), (7, 1, 1))
    assert median_frequency(before, after) == pytest.approx(1.755e9)


def test_too_short_a_window_or_no_common_multiprocessor_tells_nothing():
    assert median_frequency(stamp((0, 0, 0)), stamp((0, 1_000, 20_000))) == 0
    assert median_frequency(stamp((0, 0, 0)), stamp((1, 1_000_000, 1_000_000))) == 0


def test_counters_beyond_32_bits_are_exact():
    before, after = stamp((0, 1 << 62, 1 << 62)), stamp((0, (1 << 62) + 198_000, (1 << 62) + 100_000))
    assert median_frequency(before, after) == pytest.approx(1.98e9)


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({}, ""),
        ({"GEMMBENCH_GATE": "1", "CUDA_LAUNCH_BLOCKING": "0", "LD_PRELOAD": "/usr/lib/libjemalloc.so"}, ""),
        ({"GEMMBENCH_GATE": "0"}, "GEMMBENCH_GATE=0"),
        ({"CUDA_LAUNCH_BLOCKING": "1"}, "CUDA_LAUNCH_BLOCKING"),
        ({"NV_COMPUTE_PROFILER_PERFWORKS_DIR": "/opt/ncu"}, "Nsight Compute"),
        ({"NSYS_PROFILING_SESSION_ID": "7"}, "Nsight Systems"),
        ({"NV_SANITIZER_INJECTION_PORT_BASE": "49152"}, "compute-sanitizer"),
        ({"CUDA_INJECTION64_PATH": "/x/libcupti.so"}, "a tool in CUDA_INJECTION64_PATH"),
        ({"LD_PRELOAD": "/cuda/libTreeLauncherTargetInjection.so"}, "TreeLauncher in LD_PRELOAD"),
        ({"LD_PRELOAD": "a.so:/cuda/libsanitizer-collection.so"}, "libsanitizer in LD_PRELOAD"),
    ],
)
def test_the_gate_is_off_under_tools_that_would_never_open_it(environment, reason):
    assert why_gate_is_off(environment) == reason


def test_the_environment_is_the_process_own_by_default(monkeypatch):
    monkeypatch.setenv("GEMMBENCH_GATE", "0")
    assert why_gate_is_off() == "GEMMBENCH_GATE=0"
