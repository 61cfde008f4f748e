"""Wraps pycuda and the driver: imports them, loads cubins, launches kernels, and explains errors in plain words."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import Any

from gemmbench.backends.cuda.system import probe
from gemmbench.errors import (
    DeviceError,
    DeviceLost,
    LaunchError,
    LaunchTimeout,
    NotOffered,
    OutOfMemory,
    PlanError,
    write_pip_line,
)


def load_driver() -> ModuleType:
    """Return `pycuda.driver`, initialised. Raises a DeviceError that names what is missing."""
    try:
        module = import_module("pycuda.driver")
    except ImportError as fault:
        raise DeviceError(f"the CUDA back end cannot be used: {probe.why_no_gpu() or fault}") from fault
    try:
        module.init()
    except module.Error as fault:
        raise DeviceError(f"CUDA does not start: {probe.why_no_gpu() or fault}") from fault
    return module


def load_bindings(purpose: str) -> ModuleType:
    """Return `cuda.bindings.driver`, which is needed for `purpose`. Raises NotOffered if it is not installed."""
    try:
        return import_module("cuda.bindings.driver")
    except ImportError as fault:
        raise NotOffered(f"{purpose} need cuda-bindings: {write_pip_line('cuda')}") from fault


_OPERANDS = "a thread accessed memory outside the operands; look for a missing bounds check"
# Part of cuGetErrorString's text (the only part of an error that pycuda keeps), the error's name and its meaning. These
# errors leave the context unusable (the CUDA C++ Programming Guide calls them "sticky").
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
        "a block needs more resources than this GPU has",
    ),
    ("no kernel image", "CUDA_ERROR_NO_BINARY_FOR_GPU", "the code is for another architecture"),
    ("symbol not found", "CUDA_ERROR_NOT_FOUND", "the code has no kernel with this name"),
    ("invalid argument", "CUDA_ERROR_INVALID_VALUE", "grid, block or shared memory exceeds this GPU's limits"),
)


def to_plan_error(fault: Exception, launch: str = "") -> PlanError:
    """Convert `fault` to one of gemmbench's errors. `launch` describes what was running."""
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
    """Convert exceptions of the types `kinds` in the `with` block to the matching PlanError."""
    try:
        yield
    except kinds as fault:
        raise to_plan_error(fault, launch) from fault


class _ReadyCubin:
    """The mixin of CubinModule that makes pycuda's SourceModule load a file instead of compiling."""

    module: Any

    def __init__(self, path: str, arch: str):
        pycuda_half: Any = self
        pycuda_half._check_arch(f"sm_{arch}")
        self.module = load_driver().module_from_file(path)
        pycuda_half._bind_module()


@cache
def cubin_module_class() -> type:
    """Return CubinModule, a subclass of pycuda.compiler.SourceModule. It is created when pycuda is first needed."""
    source_module = import_module("pycuda.compiler").SourceModule
    return type("CubinModule", (_ReadyCubin, source_module), {"__doc__": "A SourceModule made from an existing cubin."})


def load_cubin(path: str, arch: str) -> Any:
    """Load the cubin at `path`, compiled for `arch` ("90a"), as a SourceModule. Raises pycuda's errors.

    The code is unloaded when there are no more references to the module or its functions.
    """
    return cubin_module_class()(path, arch)


Shape = tuple[int, int, int]


def pack_launch(
    kernel: Any, grid: Shape, block: Shape, stream: Any, layout: str, *arguments: float, shared: int = 0
) -> partial[None]:
    """Return a callable that queues one launch of a pycuda function. Arguments are packed only once, here.

    `layout` has one letter of the `struct` module for each argument ("i", "f", "P" for an address). The module's native
    alignment matches that of kernel parameters. pycuda's own prepared calls pack arguments again at each launch, and
    call cuFuncSetBlockShape, which has been deprecated since CUDA 4. They end in `_launch_kernel`, which is called
    directly here.
    """
    return partial(kernel._launch_kernel, grid, block, struct.pack(f"@{layout}", *arguments), shared, stream)
