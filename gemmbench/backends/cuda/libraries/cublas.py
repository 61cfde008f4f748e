"""cuBLAS through nvmath-python's bindings, on the primary context that pycuda shares."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from gemmbench.backends.cuda.launching.kernel import Addresses
from gemmbench.backends.cuda.launching.window import Calls
from gemmbench.backends.cuda.libraries.variants import KERNELS, WORKSPACE, library_types, open_library, to_column_major
from gemmbench.backends.cuda.system.driver import load_driver
from gemmbench.planning.plans.plan import Plan

_DEFAULT = -1  # CUBLAS_GEMM_DEFAULT: cuBLAS chooses


class Cublas:
    """A cuBLAS handle with a workspace of its own, queueing on one stream; `sm` is 90 for 9.0."""

    def __init__(self, stream: Any, sm: int):
        """Open cuBLAS. Raises NotOffered if nvmath-python or the library is missing."""
        cuda = load_driver()
        self._sm = sm
        self._api, self._handle = open_library("cublas")
        self.errors: tuple[type[Exception], ...] = (self._api.cuBLASError,)
        self._workspace = cuda.mem_alloc(WORKSPACE)
        self._api.set_stream(self._handle, stream.handle)
        # After the stream: setting a stream restores the default workspace.
        self._api.set_workspace(self._handle, int(self._workspace), WORKSPACE)

    def calls(self, plan: Plan, addresses: Addresses, biases: Sequence[int] = (), workspace: int = 0) -> Calls:
        """Fix the arguments of a GEMM on each operand set; it adds no bias. Raises NotOffered."""
        shape, types = to_column_major(plan.problem), library_types(plan.problem, self._sm)
        scalars = types.scalars(plan.problem.alpha, plan.problem.beta)
        at_alpha, at_beta = scalars.ctypes.data, scalars[1:].ctypes.data
        trans = int(shape.trans_b), int(shape.trans_a)  # CUBLAS_OP_N is 0, CUBLAS_OP_T is 1
        gemm = partial(self._api.gemm_ex, self._handle, *trans, shape.m, shape.n, shape.k, at_alpha)

        def bound(A: int, B: int, C: int) -> partial[None]:
            first, second = (B, types.b, shape.ld_b), (A, types.a, shape.ld_a)
            result = C, types.c, shape.ld_c
            return partial(gemm, *first, *second, at_beta, *result, types.compute, _DEFAULT)

        queue = tuple(bound(*each) for each in addresses)
        return Calls(queue, "cublasGemmEx", KERNELS, keep=scalars)

    def close(self) -> None:
        """Free handle and workspace."""
        self._api.destroy(self._handle)
        self._workspace.free()
