"""Errors of CUDA in plain words: turns what pycuda and nvmath raise into errors of gemmbench."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gemmbench.errors import DeviceLost, LaunchError, LaunchTimeout, NotOffered, OutOfMemory, PlanError

_OPERANDS = "a thread accessed memory outside the operands: look for a missing bound check"
# Part of cuGetErrorString's text (all that pycuda keeps of an error), its name, its meaning.
# These leave the context unusable ("sticky" errors in the CUDA C++ Programming Guide).
_DEADLY = (
    ("illegal memory access", "CUDA_ERROR_ILLEGAL_ADDRESS", _OPERANDS),
    ("misaligned address", "CUDA_ERROR_MISALIGNED_ADDRESS", "a load or store is not aligned to its width"),
    ("illegal instruction", "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an instruction that this GPU does not have"),
    ("address space", "CUDA_ERROR_INVALID_ADDRESS_SPACE", "a pointer to another kind of memory"),
    ("invalid program counter", "CUDA_ERROR_INVALID_PC", "the kernel jumped out of its code"),
    ("hardware stack", "CUDA_ERROR_HARDWARE_STACK_ERROR", "the stack overflowed or was overwritten"),
    ("device-side assert triggered", "CUDA_ERROR_ASSERT", "an assert() in the kernel is false"),
    ("unspecified launch failure", "CUDA_ERROR_LAUNCH_FAILED", "the kernel crashed; try compute-sanitizer"),
    ("ECC", "CUDA_ERROR_ECC_UNCORRECTABLE", "the GPU's memory is faulty"),
)
_HARMLESS = (
    (
        "too many resources",
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        "a block needs more than this GPU has",
    ),
    ("no kernel image", "CUDA_ERROR_NO_BINARY_FOR_GPU", "the code is for another architecture"),
    ("symbol not found", "CUDA_ERROR_NOT_FOUND", "the code has no kernel of this name"),
    ("invalid argument", "CUDA_ERROR_INVALID_VALUE", "grid, block or shared memory exceeds this GPU's limits"),
)


def to_plan_error(fault: Exception, launch: str = "") -> PlanError:
    """The error of gemmbench for `fault`; `launch` describes what was running."""
    text = " ".join(str(fault).split())
    where = f" [{launch}]" if launch else ""
    if "out of memory" in text or "ALLOC_FAILED" in text:
        return OutOfMemory(f"{text}{where}")
    if "launch timed out" in text:
        return LaunchTimeout(f"CUDA_ERROR_LAUNCH_TIMEOUT: the display's watchdog ended the kernel{where}")
    if "NOT_SUPPORTED" in text:
        return NotOffered(f"the library does not support this: {text}{where}")
    for kind, meanings in ((DeviceLost, _DEADLY), (LaunchError, _HARMLESS)):
        for part, name, meaning in meanings:
            if part in text:
                return kind(f"{name}: {meaning}; {text}{where}")
    return LaunchError(f"{text}{where}")


@contextmanager
def translate_errors(kinds: tuple[type[Exception], ...], launch: str = "") -> Iterator[None]:
    """Turn exceptions of the types `kinds` that are raised inside into the PlanError that fits."""
    try:
        yield
    except kinds as fault:
        raise to_plan_error(fault, launch) from fault
