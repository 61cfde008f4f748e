"""The arguments of a Python function: the problem, and A, B and C as device arrays or DLPack capsules."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Any

from gemmbench.planning.precisions import StorageType
from gemmbench.planning.problems import Problem

CUDA_DEVICE = 2  # kDLCUDA

_NAME = b"dltensor"  # the capsule keeps this pointer
_SIGNED, _FLOAT, _BFLOAT = 0, 2, 4  # DLDataTypeCode
_E4M3, _E5M2 = 10, 12
_TYPES = {
    "float16": (_FLOAT, 16),
    "float32": (_FLOAT, 32),
    "float64": (_FLOAT, 64),
    "bfloat16": (_BFLOAT, 16),
    "float8_e4m3fn": (_E4M3, 8),
    "float8_e5m2": (_E5M2, 8),
    "int8": (_SIGNED, 8),
    "int32": (_SIGNED, 32),
}
_MOST_DIMENSIONS = 3


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("number", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("rank", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    """A DLManagedTensor and the numbers that it points to, in one block that `free` can release."""

    _fields_ = (
        ("tensor", _Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("shape", ctypes.c_int64 * _MOST_DIMENSIONS),
        ("strides", ctypes.c_int64 * _MOST_DIMENSIONS),
    )


def _make_capsule(address: int, shape: Sequence[int], strides: Sequence[int], dtype: str, device: int) -> Any:
    """Return a DLPack capsule of an array on a GPU.

    The memory belongs to gemmbench. A consumer deletes only its description, using the C library's `free`, which works
    in any thread and after the interpreter has ended.
    """
    libc, new_capsule = _load_functions()
    block = libc.malloc(ctypes.sizeof(_Managed))
    if not block:
        raise MemoryError("no memory for a DLPack capsule")
    managed = _Managed.from_address(block)
    managed.shape[: len(shape)] = list(shape)
    managed.strides[: len(shape)] = list(strides)
    numbers = (block + field.offset for field in (_Managed.shape, _Managed.strides))
    kind = _DataType(*_TYPES[dtype], 1)
    managed.tensor = _Tensor(address, _Device(CUDA_DEVICE, device), len(shape), kind, *numbers, 0)
    managed.context = None
    managed.deleter = ctypes.cast(libc.free, ctypes.c_void_p)
    return new_capsule(block, _NAME, None)


@cache
def _load_functions() -> tuple[Any, Any]:
    """Return the C library and PyCapsule_New."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype, new_capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return libc, new_capsule


_NAMES = {"A": ("M", "K"), "B": ("K", "N"), "C": ("M", "N")}
_NUMPY_TYPES = {"float16": "<f2", "float32": "<f4", "float64": "<f8", "int8": "|i1", "int32": "<i4"}
_INTERFACE_VERSION = 3  # version of the CUDA Array Interface


@dataclass(frozen=True)
class GemmProblem:
    """C = alpha op(A) op(B) + beta C, where op(A) is M x K, op(B) is K x N and C is M x N.

    `precision` is a name such as `bf16`. If `trans_a` is True, the array A is stored as K x M and used transposed. If
    `trans_b` is True, the array B is stored as N x K. In a batch of `count` products, the first dimension of arrays is
    `count`. If the rows of A and C belong to `groups`, B has one matrix for each of them.
    """

    M: int
    N: int
    K: int
    alpha: float
    beta: float
    precision: str
    trans_a: bool
    trans_b: bool
    count: int = 1
    groups: tuple[int, ...] = ()

    @classmethod
    def of(cls, problem: Problem) -> GemmProblem:
        """Return the problem of a plan."""
        size = problem.M, problem.N, problem.K
        transposed = problem.trans_a, problem.trans_b
        scalars = problem.alpha, problem.beta
        return cls(*size, *scalars, problem.precision_name, *transposed, problem.count, problem.groups)


@dataclass(frozen=True)
class DeviceArray:
    """A matrix, or a batch of matrices, in GPU memory.

    `ptr` is the address, `shape` holds the numbers of rows and columns (in a batch after that of matrices), `dtype` is
    the name of the element type, such as `bfloat16`, and `device` is the number of the GPU. `strides` are in elements,
    or empty if the array is packed and row-major. The array supports DLPack and, if NumPy has the type,
    `__cuda_array_interface__`. All writes to it are complete, so no stream has to wait.
    """

    ptr: int
    shape: tuple[int, ...]
    dtype: str
    device: int
    strides: tuple[int, ...] = ()

    @classmethod
    def at(cls, address: int, shape: tuple[int, ...], storage: StorageType, device: int) -> DeviceArray:
        """Return the packed array of this shape at an address."""
        return cls(address, shape, storage.name, device)

    @classmethod
    def of(cls, problem: Problem, name: str, axes: Sequence[str], address: int, device: int) -> DeviceArray:
        """Return an operand at an address, as stored or with the dimensions `axes`, such as N, K, L."""
        operand = problem.operand(name)
        if not axes:
            packed = cls.at(address, operand.shape, operand.storage, device)
            return replace(packed, strides=(operand.shape[-1] + operand.padding, 1)) if operand.padding else packed
        rows, columns = _NAMES[name][:: -1 if {"A": problem.trans_a, "B": problem.trans_b}.get(name) else 1]
        sizes = {"M": problem.M, "N": problem.N, "K": problem.K, "L": problem.count}
        steps = {rows: problem.leading(name), columns: 1, "L": problem.stride(name)}
        shape, strides = (tuple(each[axis] for axis in axes) for each in (sizes, steps))
        return cls(address, shape, operand.storage.name, device, strides)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a capsule of this memory. Raises BufferError if a copy or another device is requested."""
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("the array is passed without a copy and stays on its GPU")
        strides = self.strides or tuple(prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))
        return _make_capsule(self.ptr, self.shape, strides, self.dtype, self.device)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the device's type and number as defined by DLPack."""
        return CUDA_DEVICE, self.device

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA Array Interface. Raises AttributeError for types that NumPy does not have."""
        if self.dtype not in _NUMPY_TYPES:
            raise AttributeError(f"NumPy has no {self.dtype}, so there is no __cuda_array_interface__; use DLPack")
        typestr = _NUMPY_TYPES[self.dtype]
        return {
            "shape": self.shape,
            "typestr": typestr,
            "data": (self.ptr, False),
            "strides": tuple(int(typestr[-1]) * step for step in self.strides) or None,
            "stream": None,
            "version": _INTERFACE_VERSION,
        }
