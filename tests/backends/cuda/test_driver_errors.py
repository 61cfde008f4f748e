"""CUDA's failures in plain words."""

from __future__ import annotations

import pytest

from gemmbench.backends.cuda.driver import to_plan_error, translate_errors
from gemmbench.errors import DeviceLost, LaunchError, LaunchTimeout, NotOffered, OutOfMemory

ILLEGAL = "cuStreamSynchronize failed: an illegal memory access was encountered"


@pytest.mark.parametrize(
    ("said", "kind", "part"),
    [
        (ILLEGAL, DeviceLost, "CUDA_ERROR_ILLEGAL_ADDRESS: a thread accessed memory outside the operands"),
        ("cuEventSynchronize failed: misaligned address", DeviceLost, "CUDA_ERROR_MISALIGNED_ADDRESS"),
        ("cuLaunchKernel failed: too many resources requested for launch", LaunchError, "64 registers"),
        ("cuLaunchKernel failed: invalid argument", LaunchError, "CUDA_ERROR_INVALID_VALUE: grid, block"),
        ("cuModuleGetFunction failed: named symbol not found", LaunchError, "CUDA_ERROR_NOT_FOUND"),
        ("cuStreamSynchronize failed: the launch timed out and was terminated", LaunchTimeout, "watchdog"),
        ("cuMemAlloc failed: out of memory", OutOfMemory, "out of memory"),
        ("cuStreamSynchronize failed: device-side assert triggered", DeviceLost, "CUDA_ERROR_ASSERT"),
        ("CUDA error; Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.", LaunchError, "CUDA error"),
        ("CUBLAS_STATUS_NOT_SUPPORTED (15)", NotOffered, "NOT_SUPPORTED"),
        ("cuSomething failed: never heard of", LaunchError, "never heard of"),
    ],
)
def test_each_becomes_the_error_that_fits(said, kind, part):
    error = to_plan_error(RuntimeError(said), "gemm: grid 1x1x1, 1024 threads a block, 64 registers a thread")
    assert type(error) is kind
    assert part in str(error)
    assert "grid 1x1x1" in str(error)


def test_only_the_kinds_asked_for_are_translated():
    with (
        pytest.raises(LaunchError, match=r"illegal memory access was encountered \[gemm\]"),
        translate_errors((OSError,), "gemm"),
    ):
        raise OSError(ILLEGAL)
    with pytest.raises(KeyError), translate_errors((OSError,)):
        raise KeyError
