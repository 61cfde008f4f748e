"""cuBLASLt through nvmath-python's bindings: the algorithms its heuristic offers, one by one."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial, reduce
from types import ModuleType
from typing import Any

import numpy as np

from gemmbench.backends.cuda.kernel import Addresses
from gemmbench.backends.cuda.library import (
    ALGORITHMS,
    KERNELS,
    WORKSPACE,
    ColumnMajor,
    Types,
    column_major,
    opened,
    types_of,
)
from gemmbench.backends.cuda.window import Calls
from gemmbench.errors import NotOffered
from gemmbench.spec.plan import Plan

_ALIGNED = 256  # the most alignment, in bytes, that the heuristic makes use of


class CublasLt:
    """A cuBLASLt handle with a workspace of its own, queueing on one stream; `sm` is 90 for 9.0."""

    def __init__(self, stream: Any, sm: int):
        """Open cuBLASLt. Raises NotOffered if nvmath-python or the library is missing."""
        import pycuda.driver as cuda

        self._sm, self._stream = sm, stream
        self._api, self._handle = opened("cublasLt")
        self.errors: tuple[type[Exception], ...] = (self._api.cuBLASLtError,)
        self._workspace = cuda.mem_alloc(WORKSPACE)

    def calls(self, plan: Plan, addresses: Addresses, alpha: float, beta: float) -> Calls:
        """Fix the arguments of a matmul on each operand set.

        The configuration's ALGO is the rank in the heuristic's list; raises NotOffered where
        that list is shorter.
        """
        types = types_of(plan.problem, self._sm)
        matmul = _Matmul(self._api, column_major(plan.problem), types)
        offered = matmul.offered(self._handle, _alignments(addresses))
        algorithm = _address(offered, dict(plan.config.values)["ALGO"])
        scalars = types.scalars(alpha, beta)
        at_alpha, at_beta = scalars.ctypes.data, scalars[1:].ctypes.data
        multiply = partial(self._api.matmul, self._handle, matmul.operation, at_alpha)
        how = algorithm, int(self._workspace), WORKSPACE, self._stream.handle
        first, second, result = matmul.layouts

        def bound(A: int, B: int, C: int) -> partial[None]:
            return partial(multiply, B, first, A, second, at_beta, C, result, C, result, *how)

        queue = tuple(bound(*each) for each in addresses)
        return Calls(queue, "cublasLtMatmul", KERNELS, keep=(matmul, offered, scalars))

    def close(self) -> None:
        """Give handle and workspace back."""
        self._api.destroy(self._handle)
        self._workspace.free()


class _Matmul:
    """The descriptors of one product, given back with the object; column-major, so B is its first operand."""

    def __init__(self, api: ModuleType, shape: ColumnMajor, types: Types):
        self._api, self._types = api, types
        self._held = ExitStack()
        weakref.finalize(self, self._held.close)
        self.operation = self._own(api.matmul_desc_create(types.compute, types.scale), api.matmul_desc_destroy)
        attribute = api.MatmulDescAttribute
        for which, transposed in ((attribute.TRANSA, shape.trans_b), (attribute.TRANSB, shape.trans_a)):
            dtype = api.get_matmul_desc_attribute_dtype(which)
            _set(api.matmul_desc_set_attribute, self.operation, which, dtype, int(transposed))
        self.layouts = (
            self._layout(shape.m, shape.k, shape.trans_b, shape.ld_b),
            self._layout(shape.k, shape.n, shape.trans_a, shape.ld_a),
            self._layout(shape.m, shape.n, False, shape.ld_c),
        )

    def offered(self, handle: int, alignments: tuple[int, int, int]) -> np.ndarray:
        """The algorithms for operands so aligned, best first, as cublasLtMatmulHeuristicResult_t."""
        results = np.zeros(ALGORITHMS, self._api.matmul_heuristic_result_dtype)
        count = np.zeros(1, np.int32)
        first, second, result = self.layouts
        self._api.matmul_algo_get_heuristic(
            handle,
            self.operation,
            first,
            second,
            result,
            result,
            self._preference(alignments),
            ALGORITHMS,
            results.ctypes.data,
            count.ctypes.data,
        )
        results = results[: count[0]]
        return results[results["state"] == 0]

    def _preference(self, alignments: tuple[int, int, int]) -> int:
        api = self._api
        wish = self._own(api.matmul_preference_create(), api.matmul_preference_destroy)
        limits = {"MAX_WORKSPACE_BYTES": WORKSPACE}
        for operand, alignment in zip("ABCD", (*alignments, alignments[-1]), strict=True):
            limits[f"MIN_ALIGNMENT_{operand}_BYTES"] = alignment
        for name, value in limits.items():
            which = api.MatmulPreferenceAttribute[name]
            dtype = api.get_matmul_preference_attribute_dtype(which)
            _set(api.matmul_preference_set_attribute, wish, which, dtype, value)
        return wish

    def _layout(self, rows: int, columns: int, transposed: bool, ld: int) -> int:
        """A descriptor of the stored array of an operand used as rows x columns."""
        stored = (columns, rows) if transposed else (rows, columns)
        return self._own(self._api.matrix_layout_create(self._types.data, *stored, ld), self._api.matrix_layout_destroy)

    def _own(self, descriptor: int, destroy: Callable[[int], None]) -> int:
        self._held.callback(destroy, descriptor)
        return descriptor


def _set(setter: Callable[..., None], target: int, which: int, dtype: Any, value: int) -> None:
    held = np.array([value], dtype)
    setter(target, which, held.ctypes.data, held.nbytes)


def _alignments(addresses: Addresses) -> tuple[int, int, int]:
    """The power of two up to 256 that divides every address of B, of A and of C."""
    first, second, third = (reduce(int.__or__, column, _ALIGNED) for column in zip(*addresses, strict=True))
    return second & -second, first & -first, third & -third


def _address(offered: np.ndarray, rank: int) -> int:
    """Where the algorithm of this rank lies, the first field of its result."""
    if rank >= len(offered):
        raise NotOffered(f"the heuristic offers {len(offered)} algorithms for this problem")
    return offered.ctypes.data + rank * offered.itemsize
