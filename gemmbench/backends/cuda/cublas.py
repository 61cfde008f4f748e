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

from gemmbench.backends.base import OperandSet
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
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems import Problem


class LibraryWorkspace:
    """Device memory that only grows; `address` and `nbytes` change when it does."""

    def __init__(self) -> None:
        self.address, self.nbytes = 0, 0
        self._allocations: list[Any] = []
        self.reserve(WORKSPACE)

    def reserve(self, nbytes: int) -> bool:
        """Have at least this many bytes; True if the address has changed.

        What was there before stays allocated, since launches that are bound to it may still come.
        Raises pycuda's errors.
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
    """The version of each library, such as `{"cublas": "13.1.0"}`; several are separated by commas."""
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
    """Ask a library that is loaded already; "" if it does not say."""
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
"""Seconds of one launch on operands that are not in the cache."""


class MathChoice:
    """Keeps the faster math of each shape, whatever its alpha and beta, so that all its rows use the same."""

    def __init__(self, make_timer: Callable[[Calls], ColdTimer]):
        self._make_timer, self._chosen = make_timer, dict[tuple[object, ...], str]()

    def choose(self, problem: Problem, candidates: Mapping[str, Calls]) -> str:
        """The name of the fastest candidate. Raises what a launch raises."""
        shape = _find_shape(problem)
        if shape not in self._chosen:
            self._chosen[shape] = self._measure(candidates)
        return self._chosen[shape]

    def recall(self, problem: Problem) -> str:
        """What was chosen for a shape; default math if nothing was."""
        return self._chosen.get(_find_shape(problem), DEFAULT)

    def _measure(self, candidates: Mapping[str, Calls]) -> str:
        """Times each in mirrored rounds, the first of which is not counted."""
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
    return problem.dimensions, problem.layout


_DEFAULT = -1  # CUBLAS_GEMM_DEFAULT: cuBLAS chooses
_SUMS_IN_ACCUMULATOR = 16  # CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION: parts of K are not added in f16 or bf16


class Cublas:
    """A cuBLAS handle with a private workspace, queueing on one stream; `sm` is 90 for 9.0.

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

    def calls(self, plan: Plan, sets: Sequence[OperandSet]) -> Calls:
        """Fix the arguments of a GEMM on each operand set; it adds no bias. Raises NotOffered.

        Where there is a choice of math, both are launched on the operands, to see which is faster.
        """
        if self._workspace.reserve(plan.workspace):
            self._api.set_workspace(self._handle, self._workspace.address, self._workspace.nbytes)
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

    def close(self) -> None:
        """Free handle and workspace."""
        self._api.destroy(self._handle)
        self._workspace.free()
