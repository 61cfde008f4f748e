"""cuBLAS through nvmath-python's bindings, on the primary context that pycuda shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from gemmbench.backends.cuda.launching.kernel import Addresses
from gemmbench.backends.cuda.launching.window import Calls
from gemmbench.backends.cuda.libraries.library_workspace import LibraryWorkspace
from gemmbench.backends.cuda.libraries.math_choice import MathChoice
from gemmbench.backends.cuda.libraries.variants import (
    CUBLAS_DEFAULT,
    CUBLAS_PEDANTIC,
    DEFAULT,
    KERNELS,
    PEDANTIC,
    computes_in_f32,
    library_types,
    open_library,
    to_column_major,
)
from gemmbench.planning.plans.plan import Plan

_DEFAULT = -1  # CUBLAS_GEMM_DEFAULT: cuBLAS chooses
_SUMS_IN_ACCUMULATOR = 16  # CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION: parts of K are not added in f16 or bf16


class Cublas:
    """A cuBLAS handle with a workspace of its own, queueing on one stream; `sm` is 90 for 9.0.

    `choice` finds the faster math for f32 and is measured on the first stream only: with `measures`
    False the handle uses what was chosen there.
    """

    def __init__(self, stream: Any, sm: int, choice: MathChoice, measures: bool = True):
        """Open cuBLAS. Raises NotOffered if nvmath-python or the library is missing."""
        self._sm, self._choice, self._measures = sm, choice, measures
        self._api, self._handle = open_library("cublas")
        self.errors: tuple[type[Exception], ...] = (self._api.cuBLASError,)
        self._workspace = LibraryWorkspace()
        self._api.set_math_mode(self._handle, _SUMS_IN_ACCUMULATOR)
        self._api.set_stream(self._handle, stream.handle)
        # After the stream: setting a stream restores the default workspace.
        self._api.set_workspace(self._handle, self._workspace.address, self._workspace.nbytes)

    def calls(self, plan: Plan, addresses: Addresses, biases: Sequence[int] = (), workspace: int = 0) -> Calls:
        """Fix the arguments of a GEMM on each operand set; it adds no bias. Raises NotOffered.

        Where there is a choice of math, both are launched on the operands, to see which is faster.
        """
        if self._workspace.reserve(plan.workspace):
            self._api.set_workspace(self._handle, self._workspace.address, self._workspace.nbytes)
        if not computes_in_f32(plan.problem.precision):
            return self._fix_arguments(plan, addresses, "")
        if plan.variant.name == CUBLAS_PEDANTIC.name:
            return self._fix_arguments(plan, addresses, PEDANTIC)
        if plan.variant.name == CUBLAS_DEFAULT.name:
            return self._fix_arguments(plan, addresses, DEFAULT)
        candidates = {math: self._fix_arguments(plan, addresses, math) for math in (DEFAULT, PEDANTIC)}
        choice, problem = self._choice, plan.problem
        chosen = choice.choose(problem, candidates) if self._measures else choice.recall(problem)
        return replace(candidates[chosen], choice=chosen)

    def _fix_arguments(self, plan: Plan, addresses: Addresses, math: str) -> Calls:
        shape, types = to_column_major(plan.problem), library_types(plan.problem, self._sm, math)
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
