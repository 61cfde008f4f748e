"""Arrays as DLPack capsules, made with ctypes: dlpack.h, version 0.8, as every consumer reads it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

CUDA_DEVICE = 2  # kDLCUDA

_NAME = b"dltensor"  # the capsule keeps the pointer
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
_RANK = 2


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
    """DLManagedTensor, followed by the numbers that it points to: one block, which `free` can delete."""

    _fields_ = (
        ("tensor", _Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("shape", ctypes.c_int64 * _RANK),
        ("strides", ctypes.c_int64 * _RANK),
    )


def make_capsule(address: int, shape: Sequence[int], dtype: str, device: int) -> Any:
    """A capsule of a packed row-major array on a GPU.

    The memory belongs to gemmbench: a consumer deletes only the description of it, with the C library's
    `free`, which works in any thread and after the interpreter has ended.
    """
    libc, new_capsule = _load_functions()
    block = libc.malloc(ctypes.sizeof(_Managed))
    if not block:
        raise MemoryError("no memory for a DLPack capsule")
    managed = _Managed.from_address(block)
    managed.shape[:] = list(shape)
    managed.strides[:] = [prod(shape[axis + 1 :]) for axis in range(_RANK)]
    numbers = (block + field.offset for field in (_Managed.shape, _Managed.strides))
    kind = _DataType(*_TYPES[dtype], 1)
    managed.tensor = _Tensor(address, _Device(CUDA_DEVICE, device), _RANK, kind, *numbers, 0)
    managed.context = None
    managed.deleter = ctypes.cast(libc.free, ctypes.c_void_p)
    return new_capsule(block, _NAME, None)


@cache
def _load_functions() -> tuple[Any, Any]:
    """The C library, and PyCapsule_New."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype, new_capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return libc, new_capsule
