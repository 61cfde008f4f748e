"""Launches with attributes: those in clusters, and those that may begin before the launch before them has ended (PDL).

pycuda launches without attributes and shows no handle of a function. Therefore cuda.bindings, which
shares its context and its streams, loads the cubins of such kernels and launches them.
"""

from __future__ import annotations

import ctypes
import os
import struct
import weakref
from functools import partial
from typing import Any

from gemmbench.backends.cuda.launching.packed_launch import Shape
from gemmbench.backends.cuda.system.driver import load_bindings


class BindingsError(Exception):
    """An error of a call through cuda.bindings, in the words of the driver as in pycuda's errors."""


class BindingsModule:
    """A cubin that cuda.bindings loads in the current context, as far as kernels use pycuda's module."""

    def __init__(self, path: str):
        """Load the cubin at `path`. Raises NotOffered, BindingsError."""
        self._driver = load_bindings("launches that overlap or have clusters")
        self._module = _ask(self._driver, "cuModuleLoad", os.fsencode(path))
        weakref.finalize(self, self._driver.cuModuleUnload, self._module).atexit = False  # the context is gone by then

    def get_function(self, symbol: str) -> BindingsFunction:
        """The kernel of this name in the machine code. Raises BindingsError."""
        handle = _ask(self._driver, "cuModuleGetFunction", self._module, symbol.encode())
        return BindingsFunction(self._driver, handle, self)


class BindingsFunction:
    """A kernel of a BindingsModule, as far as kernels use pycuda's function."""

    def __init__(self, driver: Any, handle: Any, module: BindingsModule):
        self.driver, self.handle, self._module = driver, handle, module

    @property
    def shared_size_bytes(self) -> int:
        """Static shared memory of a block."""
        return self._read_attribute("SHARED_SIZE_BYTES")

    @property
    def num_regs(self) -> int:
        """Registers of a thread."""
        return self._read_attribute("NUM_REGS")

    def set_attribute(self, attribute: int, value: int) -> None:
        """Set an attribute, by its number in the driver. Raises BindingsError."""
        _ask(self.driver, "cuFuncSetAttribute", self.handle, self.driver.CUfunction_attribute(int(attribute)), value)

    def _read_attribute(self, name: str) -> int:
        attribute = getattr(self.driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(_ask(self.driver, "cuFuncGetAttribute", attribute, self.handle))


def pack_bindings_launch(
    kernel: BindingsFunction,
    grid: Shape,
    block: Shape,
    stream: Any,
    layout: str,
    *arguments: float,
    shared: int = 0,
    pdl: bool = True,
    cluster: int = 1,
) -> BindingsLaunch:
    """A callable that queues one launch, as pack_launch makes it of pycuda's functions.

    With `pdl` it may begin before the launch before it has ended; `cluster` blocks along x form a cluster.
    """
    config = _make_config(kernel.driver, grid, block, stream, shared)
    config.attrs = _list_attributes(kernel.driver, pdl, cluster)
    config.numAttrs = len(config.attrs)
    return BindingsLaunch(kernel, config, struct.pack(f"@{layout}", *arguments))


class BindingsLaunch:
    """A launch of `kernel` that is ready to be queued: everything is converted here, once."""

    def __init__(self, kernel: BindingsFunction, config: Any, arguments: bytes):
        driver = kernel.driver
        self._kernel, self._config = kernel, config
        self._arguments = ctypes.create_string_buffer(arguments, len(arguments))
        self._size = ctypes.c_size_t(len(arguments))
        pairs = (
            *(driver.CU_LAUNCH_PARAM_BUFFER_POINTER, ctypes.addressof(self._arguments)),
            *(driver.CU_LAUNCH_PARAM_BUFFER_SIZE, ctypes.addressof(self._size)),
            driver.CU_LAUNCH_PARAM_END,
        )
        self._extra = (ctypes.c_void_p * len(pairs))(*pairs)
        self._queue = partial(driver.cuLaunchKernelEx, config, kernel.handle, None, ctypes.addressof(self._extra))

    def __call__(self) -> None:
        """Queue the launch. Raises BindingsError."""
        (code,) = self._queue()
        if code:
            raise BindingsError(_describe_error(self._kernel.driver, "cuLaunchKernelEx", code))


def _make_config(driver: Any, grid: Shape, block: Shape, stream: Any, shared: int) -> Any:
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid
    config.blockDimX, config.blockDimY, config.blockDimZ = block
    config.sharedMemBytes, config.hStream = shared, driver.CUstream(stream.handle)
    return config


def _list_attributes(driver: Any, pdl: bool, cluster: int) -> list[Any]:
    attributes = []
    if pdl:
        overlap = driver.CUlaunchAttribute()
        overlap.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        overlap.value.programmaticStreamSerializationAllowed = 1
        attributes.append(overlap)
    if cluster > 1:
        shape = driver.CUlaunchAttribute()
        shape.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        shape.value.clusterDim.x, shape.value.clusterDim.y, shape.value.clusterDim.z = cluster, 1, 1
        attributes.append(shape)
    return attributes


def _ask(driver: Any, call: str, *arguments: Any) -> Any:
    """The value that a driver call returns, if any. Raises BindingsError."""
    code, *values = getattr(driver, call)(*arguments)
    if code:
        raise BindingsError(_describe_error(driver, call, code))
    return values[0] if values else None


def _describe_error(driver: Any, call: str, code: Any) -> str:
    """`cuLaunchKernelEx failed: invalid argument`."""
    _, text = driver.cuGetErrorString(code)
    return f"{call} failed: {text.decode() if text else code.name}"
