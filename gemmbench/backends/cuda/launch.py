"""Binds kernels to operands, with packed arguments and tensor maps. Launches may use clusters or overlap (PDL)."""

from __future__ import annotations

import ctypes
import os
import struct
import weakref
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from gemmbench.backends.base import OperandSet, find_start
from gemmbench.backends.cuda.device_memory import DeviceMemory
from gemmbench.backends.cuda.driver import Shape, load_bindings, load_cubin, load_driver, pack_launch
from gemmbench.backends.cuda.window import Calls, queue_in_turn
from gemmbench.backends.parameters import LETTERS, POINTER, list_parameters
from gemmbench.errors import LaunchError, NotOffered
from gemmbench.planning.manifests.variant import SCALARS
from gemmbench.planning.plans.plan import Geometry, PassedArgument, Plan, TiledTensor
from gemmbench.planning.precisions import BFLOAT16


class BindingsError(Exception):
    """An error of a call through cuda.bindings. It has the driver's text, as pycuda's errors do."""


class BindingsModule:
    """A cubin that cuda.bindings loads in the current context. It has the part of pycuda's Module that kernels need."""

    def __init__(self, path: str):
        """Load the cubin at `path`. Raises NotOffered, BindingsError."""
        self._driver = load_bindings("launches that overlap or have clusters")
        self._module = _ask(self._driver, "cuModuleLoad", os.fsencode(path))
        weakref.finalize(self, self._driver.cuModuleUnload, self._module).atexit = False  # the context is gone by then

    def get_function(self, symbol: str) -> BindingsFunction:
        """Return the kernel with this name in the machine code. Raises BindingsError."""
        handle = _ask(self._driver, "cuModuleGetFunction", self._module, symbol.encode())
        return BindingsFunction(self._driver, handle, self)


class BindingsFunction:
    """A kernel of a BindingsModule. It has the part of pycuda's Function that kernels need."""

    def __init__(self, driver: Any, handle: Any, module: BindingsModule):
        self.driver, self.handle, self._module = driver, handle, module

    @property
    def shared_size_bytes(self) -> int:
        """Bytes of static shared memory per block."""
        return self._read_attribute("SHARED_SIZE_BYTES")

    @property
    def num_regs(self) -> int:
        """Registers per thread."""
        return self._read_attribute("NUM_REGS")

    def set_attribute(self, attribute: int, value: int) -> None:
        """Set the attribute with this number in the driver. Raises BindingsError."""
        _ask(self.driver, "cuFuncSetAttribute", self.handle, self.driver.CUfunction_attribute(int(attribute)), value)

    def find_parameter(self, place: int) -> int:
        """Return the offset in bytes of parameter number `place`. Raises BindingsError."""
        return int(_ask(self.driver, "cuFuncGetParamInfo", self.handle, place)[0])

    def _read_attribute(self, name: str) -> int:
        attribute = getattr(self.driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(_ask(self.driver, "cuFuncGetAttribute", attribute, self.handle))


def _pack_bindings_launch(
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
    """Return a callable that queues one launch.

    This is the counterpart of pack_launch, which is for pycuda's functions.

    With `pdl`, the launch may begin before the previous one has ended. `cluster` blocks along x form a cluster.
    """
    config = _make_config(kernel.driver, grid, block, stream, shared)
    config.attrs = _list_attributes(kernel.driver, pdl, cluster)
    config.numAttrs = len(config.attrs)
    return BindingsLaunch(kernel, config, struct.pack(f"@{layout}", *arguments))


class BindingsLaunch:
    """A launch of `kernel` that is ready to be queued. Everything is converted only once, here."""

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
    """Make a driver call and return its value, if any. Raises BindingsError."""
    code, *values = getattr(driver, call)(*arguments)
    if code:
        raise BindingsError(_describe_error(driver, call, code))
    return (values[0] if len(values) == 1 else values) if values else None


def _describe_error(driver: Any, call: str, code: Any) -> str:
    """Describe an error, such as `cuLaunchKernelEx failed: invalid argument`."""
    _, text = driver.cuGetErrorString(code)
    return f"{call} failed: {text.decode() if text else code.name}"


_WHOLE = "bBhHiIqQ"
"""The letters of integers."""
Packed = tuple[str, list[float]]
"""Format characters of the `struct` module, and a number for each."""


def _list_standard(plan: Plan, at: Mapping[str, int]) -> Packed:
    """Return the arguments of the standard signature. `at` holds the address of each operand."""
    problem, pointers = plan.problem, [at["A"], at["B"], at["C"]]
    trailing = [find_start(at, name) for name in plan.variant.trailing]
    letters = POINTER * len(trailing)
    if plan.network:
        return f"iPPP{letters}", [problem.M, *pointers, *trailing]
    ctype, (A, B, C) = problem.precision.scalar.ctype, pointers
    scalar, alpha, beta = LETTERS[ctype], _to_number(problem.alpha, ctype), _to_number(problem.beta, ctype)
    numbers = [problem.M, problem.N, problem.K, alpha, A, B, beta, C]
    return f"iii{scalar}PP{scalar}P{letters}", [*numbers, *trailing]


def _list_declared(plan: Plan, at: Mapping[str, int], scalars: ScalarMemory) -> Packed:
    """Return the arguments in the order in which the manifest declares them."""
    layout = "".join(parameter.letters for parameter in list_parameters(plan.arguments))
    return layout, [_find_value(plan, argument, at, scalars) for argument in plan.arguments]


def _find_value(plan: Plan, argument: PassedArgument, at: Mapping[str, int], scalars: ScalarMemory) -> float:
    if argument.by_pointer:
        return scalars.find(argument)
    if argument.role and argument.role not in SCALARS:
        return find_start(at, argument.role)
    return _find_number(plan, argument)


def _find_number(plan: Plan, argument: PassedArgument) -> float:
    problem = plan.problem
    return _to_number({"alpha": problem.alpha, "beta": problem.beta}.get(argument.role, argument.value), argument.ctype)


def _to_number(number: float, ctype: str) -> float:
    """Return a number as `struct` packs it for a C++ type: whole for integers, and the bits of a bfloat16."""
    if ctype == BFLOAT16.ctype:
        return int(np.array(number, BFLOAT16.numpy_type()).view(np.uint16))
    return int(number) if LETTERS[ctype] in _WHOLE else number


def pack_scalars(plan: Plan) -> dict[PassedArgument, bytes]:
    """Return the bytes of each scalar that is passed by pointer."""
    passed = dict.fromkeys(argument for argument in plan.arguments if argument.by_pointer)
    return {argument: struct.pack(f"={LETTERS[argument.ctype]}", _find_number(plan, argument)) for argument in passed}


class ScalarMemory:
    """Scalars of a plan that its kernels read from device memory. Nothing is allocated if there are none."""

    _STEP = 16

    def __init__(self, plan: Plan):
        """Allocate and write them. Raises OutOfMemory."""
        scalars = pack_scalars(plan)
        self._offsets = {argument: self._STEP * number for number, argument in enumerate(scalars)}
        self.memory = DeviceMemory(self._STEP * len(scalars)) if scalars else None
        if self.memory:
            padded = b"".join(packed.ljust(self._STEP, b"\0") for packed in scalars.values())
            self.memory.write(0, np.frombuffer(padded, np.uint8))

    def find(self, argument: PassedArgument) -> int:
        """Return the address of a scalar."""
        assert self.memory is not None, "only arguments that are passed by pointer can be looked up"
        return self.memory.address + self._offsets[argument]


BYTES = 128
"""Size of one map in bytes. Its address must be a multiple of 64."""
_GRAIN = 16
# Element types of CUtensorMapDataType by storage type. Other types are moved as bytes.
_TYPES = {"float32": "FLOAT32", "float64": "FLOAT64", "float16": "FLOAT16", "bfloat16": "BFLOAT16", "int32": "INT32"}
_BYTES = "UINT8"


def _append_maps(arguments: Packed, offset: int, words: np.ndarray) -> Packed:
    """Append the maps of a stop to the arguments of a kernel, as its parameter at this offset in bytes."""
    layout, numbers = arguments
    return f"{layout}{offset - struct.calcsize(f'@{layout}')}x{words.size}Q", [*numbers, *map(int, words.flat)]


def _write_to_device(words: np.ndarray) -> DeviceMemory:
    """Return a copy of maps in device memory. Raises OutOfMemory."""
    memory = DeviceMemory(words.nbytes)
    memory.write(0, words)
    return memory


def _encode_maps(plan: Plan, sets: Sequence[OperandSet]) -> np.ndarray:
    """Return stops x maps x 16 words (uint64). A map that the plan does not use is zero.

    Raises NotOffered.
    """
    driver = load_bindings("tensor maps")
    words = np.zeros((len(sets), len(plan.tensor_maps), BYTES // 8), np.uint64)
    encoded: dict[tuple[int, int], list[int]] = {}  # an operand may have the same address at several stops
    for index, at in enumerate(sets):
        for number, tensor in enumerate(plan.tensor_maps):
            if tensor is not None:
                kind, address = _TYPES.get(plan.problem.storage(tensor.operand).name, _BYTES), at[tensor.operand]
                if (number, address) not in encoded:
                    encoded[number, address] = _encode(driver, kind, tensor, address + tensor.offset)
                words[index, number] = encoded[number, address]
    return words


def _encode(driver: Any, kind: str, tensor: TiledTensor, address: int) -> list[int]:
    if address % _GRAIN:
        raise NotOffered(f"tensor map of {tensor.operand}: its address is not a multiple of {_GRAIN} here")
    none, swizzle = "NONE", f"{tensor.swizzle}B" if tensor.swizzle else "NONE"
    code, made = driver.cuTensorMapEncodeTiled(
        _constant(driver.CUtensorMapDataType, "DATA_TYPE", kind),
        len(tensor.shape),
        address,
        [driver.cuuint64_t(elements) for elements in tensor.shape],
        [driver.cuuint64_t(stride) for stride in tensor.strides],
        [driver.cuuint32_t(elements) for elements in tensor.box],
        [driver.cuuint32_t(1)] * len(tensor.box),
        _constant(driver.CUtensorMapInterleave, "INTERLEAVE", none),
        _constant(driver.CUtensorMapSwizzle, "SWIZZLE", swizzle),
        _constant(driver.CUtensorMapL2promotion, "L2_PROMOTION", "L2_128B"),
        _constant(driver.CUtensorMapFloatOOBfill, "FLOAT_OOB_FILL", none),
    )
    if code != driver.CUresult.CUDA_SUCCESS:
        raise NotOffered(f"tensor map of {tensor.operand}: the driver rejects {tensor}: {code.name}")
    return [int(word) for word in made.opaque]


def _constant(kind: Any, group: str, name: str) -> Any:
    return getattr(kind, f"CU_TENSOR_MAP_{group}_{name}")


# Bytes of static and dynamic shared memory that a block may use on every GPU by default.
_PORTABLE_SHARED = 48 * 1024


class Kernel:
    """All kernels that a plan launches, loaded from one cubin.

    `smem` is the limit on shared memory per block in bytes.
    """

    errors: tuple[type[Exception], ...] = (BindingsError,)

    def __init__(
        self,
        path: str,
        arch: str,
        launches: Sequence[tuple[str, Geometry]],
        smem: int,
        stream: Any,
        maps_by_value: bool = False,
    ):
        """Load a cubin for `arch` ("90a").

        If a launch has clusters, may overlap with the previous one or gets tensor maps by value, all launches go
        through cuda.bindings, so that they share the variables of one module. Raises LaunchError if a block needs more
        shared memory than `smem`, NotOffered, BindingsError, and pycuda's errors.
        """
        attributes = any(geometry.pdl or geometry.cluster > 1 for _, geometry in launches)
        module = BindingsModule(path) if attributes or maps_by_value else load_cubin(path, arch)
        self._launches = [_KernelLaunch(module.get_function(symbol), symbol, each, smem) for symbol, each in launches]
        self._stream = stream

    def move_to(self, stream: Any) -> Kernel:
        """Return the same kernels, launched on another stream."""
        moved = copy(self)
        moved._stream = stream
        return moved

    def _find_parameter(self, place: int) -> int:
        """Return the offset of a parameter in bytes, which is the same for all launches: they have the same arguments.

        ptxas chooses it so that the address of the parameter is aligned, which its offset need not be.
        """
        function = self._launches[-1].function
        assert isinstance(function, BindingsFunction), "only these get structures by value"
        return function.find_parameter(place)

    def calls(self, plan: Plan, sets: Sequence[OperandSet]) -> Calls:
        """Fix the arguments of a launch on each operand set.

        The returned object keeps the tensor maps and scalars alive. Raises NotOffered, OutOfMemory.
        """
        words = _encode_maps(plan, sets) if plan.tensor_maps else None
        by_value = plan.variant.maps_by_value
        maps = _write_to_device(words) if words is not None and not by_value else None
        scalars = ScalarMemory(plan)
        queue = []
        for index, operands in enumerate(sets):
            at = {**operands, "maps": maps.address + index * BYTES * len(plan.tensor_maps)} if maps else operands
            layout, arguments = _list_declared(plan, at, scalars) if plan.arguments else _list_standard(plan, at)
            if words is not None and by_value:
                place = len(list_parameters(plan.arguments)) or len(arguments)
                layout, arguments = _append_maps((layout, arguments), self._find_parameter(place), words[index])
            queue.append(queue_in_turn([launch.bound(self._stream, layout, arguments) for launch in self._launches]))
        launches = ", then ".join(launch.words for launch in self._launches)
        return Calls(tuple(queue), launches, len(self._launches), (maps, scalars))


class _KernelLaunch:
    """One kernel with its grid, block and shared memory."""

    def __init__(self, function: Any, symbol: str, geometry: Geometry, smem: int):
        cuda = load_driver()
        shared = function.shared_size_bytes + geometry.shared
        if shared > smem:
            raise LaunchError(f"a block needs {shared:,} bytes of shared memory, but this GPU has {smem:,} per block")
        if shared > _PORTABLE_SHARED:
            function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, geometry.shared)
        self.function, self._geometry = function, geometry
        self.words = _describe_launch(symbol, geometry, function.num_regs)

    def bound(self, stream: Any, layout: str, arguments: Sequence[float]) -> Callable[[], None]:
        """Return a callable that queues the launch with these arguments."""
        function, geometry = self.function, self._geometry
        launch = geometry.grid, geometry.block, stream, layout, *arguments
        if isinstance(function, BindingsFunction):
            return _pack_bindings_launch(
                function, *launch, shared=geometry.shared, pdl=geometry.pdl, cluster=geometry.cluster
            )
        return pack_launch(function, *launch, shared=geometry.shared)


def _describe_launch(symbol: str, geometry: Geometry, registers: int) -> str:
    grid, block = ("x".join(map(str, shape)) for shape in (geometry.grid, geometry.block))
    clusters = f" in clusters of {geometry.cluster}" if geometry.cluster > 1 else ""
    threads = f"{geometry.threads} threads per block, {registers} registers per thread"
    return f"{symbol}: grid {grid}{clusters}, block {block}, {threads}, {geometry.shared} dynamic shared bytes"
