"""What a Python function gets: the problem, and A, B and C as arrays on the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gemmbench.backends.cuda.functions.dlpack import CUDA_DEVICE, make_capsule
from gemmbench.planning.precisions import StorageType
from gemmbench.planning.problems import Problem

_NUMPY_TYPES = {"float16": "<f2", "float32": "<f4", "float64": "<f8", "int8": "|i1", "int32": "<i4"}
_INTERFACE_VERSION = 3  # of the CUDA Array Interface


@dataclass(frozen=True)
class GemmProblem:
    """C = alpha op(A) op(B) + beta C, with op(A) M x K, op(B) K x N and C M x N.

    `precision` is its name, such as `bf16`. With `trans_a` the array A is stored K x M and used
    transposed, with `trans_b` the array B is stored N x K.
    """

    M: int
    N: int
    K: int
    alpha: float
    beta: float
    precision: str
    trans_a: bool
    trans_b: bool

    @classmethod
    def of(cls, problem: Problem) -> GemmProblem:
        """The problem of a plan."""
        size = problem.M, problem.N, problem.K
        transposed = problem.trans_a, problem.trans_b
        return cls(*size, problem.alpha, problem.beta, problem.precision_name, *transposed)


@dataclass(frozen=True)
class DeviceArray:
    """A packed row-major matrix in the memory of a GPU.

    `ptr` is its address, `shape` its rows and columns, `dtype` the name of the type of its elements,
    such as `bfloat16`, and `device` the number of the GPU. It offers DLPack, and, where NumPy has the
    type, `__cuda_array_interface__`. What was written to it is complete, so no stream has to wait.
    """

    ptr: int
    shape: tuple[int, int]
    dtype: str
    device: int

    @classmethod
    def at(cls, address: int, shape: tuple[int, int], storage: StorageType, device: int) -> DeviceArray:
        """The array of this shape at an address."""
        return cls(address, shape, storage.name, device)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule of this memory. Raises BufferError for a copy, or for another device."""
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("the array is passed without a copy, on the GPU where it is")
        return make_capsule(self.ptr, self.shape, self.dtype, self.device)

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's type and number of the device."""
        return CUDA_DEVICE, self.device

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA Array Interface. Raises AttributeError for a type that NumPy does not have."""
        if self.dtype not in _NUMPY_TYPES:
            raise AttributeError(f"NumPy has no {self.dtype}, so there is no __cuda_array_interface__; use DLPack")
        return {
            "shape": self.shape,
            "typestr": _NUMPY_TYPES[self.dtype],
            "data": (self.ptr, False),
            "strides": None,
            "stream": None,
            "version": _INTERFACE_VERSION,
        }
