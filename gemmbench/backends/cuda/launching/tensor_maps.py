"""Tensor maps: descriptions of arrays for TMA, encoded by the driver and written to device memory.

pycuda has no tensor maps; cuda.bindings, which nvmath-python brings, encodes them without
a device call. The kernel gets a pointer: a map passed by value through pycuda's launch causes an
illegal instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gemmbench.backends.cuda.memory.device_memory import DeviceMemory
from gemmbench.backends.cuda.system.driver import load_bindings
from gemmbench.errors import NotOffered
from gemmbench.planning.plans.plan import Plan, TiledTensor

BYTES = 128
"""Size of one map; its address must be a multiple of 64."""
_GRAIN = 16
# Element types of CUtensorMapDataType by storage type; other types are moved as bytes.
_TYPES = {"float32": "FLOAT32", "float64": "FLOAT64", "float16": "FLOAT16", "bfloat16": "BFLOAT16", "int32": "INT32"}
_BYTES = "UINT8"
_OPERANDS = ("A", "B", "C", "workspace")

Places = Sequence[tuple[int, int, int, int]]
"""Device addresses of A, B, C and the workspace, for each operand set."""


def write_maps(plan: Plan, places: Places) -> DeviceMemory:
    """The maps of every operand set, one array after the other, on the device.

    Raises NotOffered, OutOfMemory.
    """
    words = encode_maps(plan, places)
    memory = DeviceMemory(words.nbytes)
    memory.write(0, words)
    return memory


def encode_maps(plan: Plan, places: Places) -> np.ndarray:
    """Sets x maps x 16 words (uint64); a map that the plan does not use is zero.

    Raises NotOffered.
    """
    driver = load_bindings("tensor maps")
    words = np.zeros((len(places), len(plan.tensor_maps), BYTES // 8), np.uint64)
    for index, place in enumerate(places):
        at = dict(zip(_OPERANDS, place, strict=True))
        for number, tensor in enumerate(plan.tensor_maps):
            if tensor is not None:
                kind = _TYPES.get(plan.problem.storage(tensor.operand).name, _BYTES)
                words[index, number] = _encode(driver, kind, tensor, at[tensor.operand] + tensor.offset)
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
        _constant(driver.CUtensorMapL2promotion, "L2_PROMOTION", "L2_256B"),
        _constant(driver.CUtensorMapFloatOOBfill, "FLOAT_OOB_FILL", none),
    )
    if code != driver.CUresult.CUDA_SUCCESS:
        raise NotOffered(f"tensor map of {tensor.operand}: the driver rejects {tensor}: {code.name}")
    return [int(word) for word in made.opaque]


def _constant(kind: Any, group: str, name: str) -> Any:
    return getattr(kind, f"CU_TENSOR_MAP_{group}_{name}")
