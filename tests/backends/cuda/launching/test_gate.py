"""When windows go without a gate."""

from __future__ import annotations

import pytest

from gemmbench.backends.cuda.gate import why_gate_is_off


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
