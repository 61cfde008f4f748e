"""cuBLAS through nvmath-python's bindings, on the primary context that pycuda shares."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from gemmbench.backends.base import OperandSet
from gemmbench.backends.cuda.device_memory import DeviceMemory
from gemmbench.backends.cuda.driver import load_driver
from gemmbench.backends.cuda.library_variants import (
    CUBLAS_DEFAULT,
    CUBLAS_PEDANTIC,
    DEFAULT,
    KERNELS,
    PEDANTIC,
    WORKSPACE,
    computes_in_f32,
    library_types,
    open_library,
    to_column_major,
)
from gemmbench.backends.cuda.window import Calls
from gemmbench.errors import NotOffered
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems import Problem


class LibraryWorkspace:
    """Device memory that can only grow. When it grows, `address` and `nbytes` change."""

    def __init__(self) -> None:
        self.address, self.nbytes = 0, 0
        self._allocations: list[Any] = []
        self.reserve(WORKSPACE)

    def reserve(self, nbytes: int) -> bool:
        """Provide at least this many bytes. Returns whether the address has changed.

        The previous memory stays allocated, because launches bound to it may still follow. Raises pycuda's errors.
        """
        if nbytes <= self.nbytes:
            return False
        self._allocations.append(load_driver().mem_alloc(nbytes))
        self.address, self.nbytes = int(self._allocations[-1]), nbytes
        return True

    def free(self) -> None:
        """Free the memory."""
        for allocation in self._allocations:
            allocation.free()


_MAPS = Path("/proc/self/maps")
_LIBRARY = re.compile(r"(/\S*/lib(cublas|cublasLt)\.so[.\d]*)$", re.MULTILINE)
_PARTS = range(3)  # libraryPropertyType: major, minor, patch


def list_loaded_versions(maps: Path = _MAPS) -> dict[str, str]:
    """Return the version of each library, such as `{"cublas": "13.1.0"}`. Several versions are separated by commas."""
    try:
        found = dict(_LIBRARY.findall(maps.read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return {}
    versions: dict[str, list[str]] = {}
    for path, name in sorted(found.items()):
        versions.setdefault(name.lower(), []).append(_read_version(path, name))
    return {name: ", ".join(dict.fromkeys(filter(None, each))) for name, each in versions.items()}


@cache
def _read_version(path: str, name: str) -> str:
    """Return the version that a loaded library reports; "" if it does not report one."""
    try:
        get_property = getattr(ctypes.CDLL(path), f"{name}GetProperty")
    except (OSError, AttributeError):
        return ""
    number, parts = ctypes.c_int(), []
    for part in _PARTS:
        if get_property(part, ctypes.byref(number)):
            return ""
        parts.append(str(number.value))
    return ".".join(parts)


_ROUNDS = 16
_SECONDS = 0.5

ColdTimer = Callable[[], float]
"""Returns the seconds that a launch takes on operands that are not in the cache."""


class MathChoice:
    """Remembers the faster math for each shape. All rows of a shape use it, regardless of alpha and beta."""

    def __init__(self, make_timer: Callable[[Calls], ColdTimer]):
        self._make_timer, self._chosen = make_timer, dict[tuple[object, ...], str]()

    def choose(self, problem: Problem, candidates: Mapping[str, Calls]) -> str:
        """Return the name of the fastest candidate. Raises the errors of a launch."""
        shape = _find_shape(problem)
        if shape not in self._chosen:
            self._chosen[shape] = self._measure(candidates)
        return self._chosen[shape]

    def recall(self, problem: Problem) -> str:
        """Return the math that was chosen for a shape, or default math if none was."""
        return self._chosen.get(_find_shape(problem), DEFAULT)

    def _measure(self, candidates: Mapping[str, Calls]) -> str:
        """Time the candidates in mirrored rounds. The first round does not count."""
        timers = {name: self._make_timer(calls) for name, calls in candidates.items()}
        samples: dict[str, list[float]] = {name: [] for name in candidates}
        spent = 0.0
        for number in range(_ROUNDS):
            for name in sorted(candidates, reverse=number % 2 == 1):
                seconds = timers[name]()
                samples[name].append(seconds)
                spent += seconds
            if number >= 2 and spent > _SECONDS:
                break
        return min(samples, key=lambda name: median(samples[name][1:]))


def _find_shape(problem: Problem) -> tuple[object, ...]:
    return problem.shape, problem.layout


_DEFAULT = -1  # CUBLAS_GEMM_DEFAULT: cuBLAS chooses
_SUMS_IN_ACCUMULATOR = 16  # CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION: no f16 or bf16 sums of parts of K


_GRAINS = (16, 4)


def _check_alignment(problem: Problem, addresses: np.ndarray) -> None:
    """Raise NotOffered for groups whose matrices cublasGemmGroupedBatchedEx cannot read.

    In 16 bits and TF32 they must begin at multiples of 16 or 4 bytes if a row along K is such a multiple.
    """
    if problem.precision_name in ("f32", "f64"):
        return
    row = problem.storage("A").nbytes(problem.K)
    grain = next((each for each in _GRAINS if row % each == 0), 1)
    if (addresses % grain).any():
        needed = f"where rows of {row} bytes begin at multiples of {grain} bytes in A, B and C of each group"
        raise NotOffered(
            f"cublasGemmGroupedBatchedEx supports {problem.precision_name} only {needed}; choose another N"
        )


class Cublas:
    """A cuBLAS handle that has a private workspace and queues on one stream. `sm` is 90 for 9.0.

    `choice` finds the faster math for f32. It is measured only on the first stream. If `measures` is False, the handle
    uses the math that was chosen there.
    """

    def __init__(self, stream: Any, sm: int, choice: MathChoice, measures: bool = True):
        """Open cuBLAS. Raises NotOffered if nvmath-python or the library is missing."""
        self._sm, self._choice, self._measures = sm, choice, measures
        self._api, self._handle = open_library("cublas")
        self.errors: tuple[type[Exception], ...] = (self._api.cuBLASError,)
        self._workspace = LibraryWorkspace()
        self._api.set_math_mode(self._handle, _SUMS_IN_ACCUMULATOR)
        self._api.set_stream(self._handle, stream.handle)
        # Set the workspace after the stream, because setting a stream restores the default workspace.
        self._api.set_workspace(self._handle, self._workspace.address, self._workspace.nbytes)

    def calls(self, plan: Plan, sets: Sequence[OperandSet]) -> Calls:
        """Fix the arguments of a GEMM without bias on each operand set. Raises NotOffered.

        If there is a choice of math, both kinds are launched on the operands to find the faster one.
        """
        if self._workspace.reserve(plan.workspace):
            self._api.set_workspace(self._handle, self._workspace.address, self._workspace.nbytes)
        if plan.problem.groups:
            return self._fix_groups(plan, sets)
        if not computes_in_f32(plan.problem.precision):
            return self._fix_arguments(plan, sets, "")
        if plan.variant.name == CUBLAS_PEDANTIC.name:
            return self._fix_arguments(plan, sets, PEDANTIC)
        if plan.variant.name == CUBLAS_DEFAULT.name:
            return self._fix_arguments(plan, sets, DEFAULT)
        candidates = {math: self._fix_arguments(plan, sets, math) for math in (DEFAULT, PEDANTIC)}
        choice, problem = self._choice, plan.problem
        chosen = choice.choose(problem, candidates) if self._measures else choice.recall(problem)
        return replace(candidates[chosen], choice=chosen)

    def _fix_arguments(self, plan: Plan, sets: Sequence[OperandSet], math: str) -> Calls:
        shape, types = to_column_major(plan.problem), library_types(plan.problem, self._sm, math)
        scalars = types.scalars(plan.problem.alpha, plan.problem.beta)
        at_alpha, at_beta = scalars.ctypes.data, scalars[1:].ctypes.data
        trans = int(shape.trans_b), int(shape.trans_a)  # CUBLAS_OP_N is 0, CUBLAS_OP_T is 1
        several = shape.count > 1
        function = self._api.gemm_strided_batched_ex if several else self._api.gemm_ex
        gemm = partial(function, self._handle, *trans, shape.m, shape.n, shape.k, at_alpha)

        def bound(at: OperandSet) -> partial[None]:
            first = at["B"], types.b, shape.ld_b, *([shape.stride_b] if several else [])
            second = at["A"], types.a, shape.ld_a, *([shape.stride_a] if several else [])
            result = at["C"], types.c, shape.ld_c, *([shape.stride_c, shape.count] if several else [])
            return partial(gemm, *first, *second, at_beta, *result, types.compute, _DEFAULT)

        queue = tuple(map(bound, sets))
        return Calls(queue, "cublasGemmStridedBatchedEx" if several else "cublasGemmEx", KERNELS, keep=scalars)

    def _fix_groups(self, plan: Plan, sets: Sequence[OperandSet]) -> Calls:
        """Fix the arguments of one call for all groups with rows on each operand set. Raises NotOffered, OutOfMemory.

        Each is a group of one product for cuBLAS. It reads their addresses from device memory and all else from the
        host (cuBLAS documentation, "cublasGemmGroupedBatchedEx").
        """
        problem, types = plan.problem, library_types(plan.problem, self._sm)
        filled = [number for number, rows in enumerate(problem.groups) if rows]
        shapes = [to_column_major(problem.take(number)) for number in filled]
        moves = [problem.list_moves(problem.slices[number]) for number in filled]
        addresses = np.array([[[at[name] + each[name] for each in moves] for name in "BAC"] for at in sets], np.uint64)
        _check_alignment(problem, addresses)
        memory = DeviceMemory(addresses.nbytes)
        memory.write(0, addresses)
        scalars = [np.full(len(filled), each, types.scalar) for each in (problem.alpha, problem.beta)]
        names = ("trans_b", "trans_a", "m", "n", "k", "ld_b", "ld_a", "ld_c")
        arrays = {name: np.array([getattr(each, name) for each in shapes], np.int32) for name in names}
        sizes = np.ones(len(filled), np.int32)
        at = {name: array.ctypes.data for name, array in arrays.items()}
        alpha, beta = (array.ctypes.data for array in scalars)
        multiply = partial(self._api.gemm_grouped_batched_ex, self._handle, *(at[name] for name in names[:5]), alpha)

        def bound(number: int) -> partial[None]:
            b, a, c = (memory.address + (3 * number + each) * addresses.strides[1] for each in range(3))
            factors = b, types.b, at["ld_b"], a, types.a, at["ld_a"], beta
            return partial(multiply, *factors, c, types.c, at["ld_c"], len(filled), sizes.ctypes.data, types.compute)

        queue = tuple(map(bound, range(len(sets))))
        return Calls(queue, "cublasGemmGroupedBatchedEx", KERNELS, keep=(memory, scalars, arrays, sizes))

    def close(self) -> None:
        """Free the handle and the workspace."""
        self._api.destroy(self._handle)
        self._workspace.free()
