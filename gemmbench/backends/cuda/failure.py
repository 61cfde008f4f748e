"""CUDA's failures in plain words: what pycuda and nvmath raise becomes an error of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gemmbench.errors import DeviceLost, LaunchError, LaunchTimeout, NotOffered, OutOfMemory, PlanError

_OPERANDS = "a thread left the operands: look for a missing bound check"
# Part of the text of cuGetErrorString, all that pycuda keeps of a failure; its name; what it means.
# These leave the context unusable ("sticky" errors in the CUDA C++ Programming Guide).
_DEADLY = (
    ("illegal memory access", "CUDA_ERROR_ILLEGAL_ADDRESS", _OPERANDS),
    ("misaligned address", "CUDA_ERROR_MISALIGNED_ADDRESS", "a load or store is not aligned to its width"),
    ("illegal instruction", "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an instruction this GPU cannot run"),
    ("address space", "CUDA_ERROR_INVALID_ADDRESS_SPACE", "a pointer into another kind of memory"),
    ("invalid program counter", "CUDA_ERROR_INVALID_PC", "the kernel jumped out of its code"),
    ("hardware stack", "CUDA_ERROR_HARDWARE_STACK_ERROR", "the stack overflowed or was overwritten"),
    ("assert", "CUDA_ERROR_ASSERT", "an assert() in the kernel is false"),
    ("unspecified launch failure", "CUDA_ERROR_LAUNCH_FAILED", "the kernel crashed; try compute-sanitizer"),
    ("ECC", "CUDA_ERROR_ECC_UNCORRECTABLE", "the GPU's memory is faulty"),
)
_HARMLESS = (
    ("too many resources", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "a block needs more than this GPU has"),
    ("no kernel image", "CUDA_ERROR_NO_BINARY_FOR_GPU", "the code is for another architecture"),
    ("symbol not found", "CUDA_ERROR_NOT_FOUND", "the code holds no such kernel"),
    ("invalid argument", "CUDA_ERROR_INVALID_VALUE", "grid, block or shared memory is beyond this GPU"),
)


def to_plan_error(fault: Exception, launch: str = "") -> PlanError:
    """The error of ours for `fault`; `launch` says what was being run."""
    said = " ".join(str(fault).split())
    where = f" [{launch}]" if launch else ""
    if "out of memory" in said or "ALLOC_FAILED" in said:
        return OutOfMemory(f"{said}{where}")
    if "launch timed out" in said:
        return LaunchTimeout(f"CUDA_ERROR_LAUNCH_TIMEOUT: the display's watchdog ended the kernel{where}")
    if "NOT_SUPPORTED" in said:
        return NotOffered(f"the library does not do this: {said}{where}")
    for kind, meanings in ((DeviceLost, _DEADLY), (LaunchError, _HARMLESS)):
        for part, name, meaning in meanings:
            if part in said:
                return kind(f"{name}: {meaning}; {said}{where}")
    return LaunchError(f"{said}{where}")


@contextmanager
def translate_errors(kinds: tuple[type[Exception], ...], launch: str = "") -> Iterator[None]:
    """Turn the exceptions `kinds` raised inside into the PlanError that fits."""
    try:
        yield
    except kinds as fault:
        raise to_plan_error(fault, launch) from fault
