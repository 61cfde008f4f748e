"""What cuBLAS and cuBLASLt share: their variants, and a row-major problem in column-major terms.

This module imports neither: the variants are listed on machines without a GPU too.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from gemmbench.errors import NotOffered
from gemmbench.spec.problem import LAYOUTS, Problem
from gemmbench.spec.variant import Variant

F32 = 0
"""CUDA_R_32F of cudaDataType_t."""

WORKSPACE = 32 << 20
"""Bytes of device memory each library may use beside the operands."""

KERNELS = 2
"""Kernels a library may queue for one GEMM: the product and, where K is split, the sum of its parts."""

ALGORITHMS = 8
"""How many algorithms the heuristic of cuBLASLt is asked for."""

MATH = "f32 pedantic, tf32 fast"
"""Math modes: pedantic is plain FP32, without tensor cores."""

_COMPUTE = {"f32": "COMPUTE_32F_PEDANTIC", "tf32": "COMPUTE_32F_FAST_TF32"}

CUBLAS = Variant(
    name="cublas",
    summary=f"cuBLAS, its own choice; {MATH}; 32 MiB workspace",
    order=1000,
    kind="library",
    devices=("cuda",),
    precisions=tuple(_COMPUTE),
    layouts=LAYOUTS,
    source="https://docs.nvidia.com/cuda/cublas/#cublasgemmex",
)
CUBLASLT = Variant(
    name="cublaslt",
    summary=f"cuBLASLt, algorithm ALGO of its heuristic; {MATH}; 32 MiB workspace",
    order=1010,
    kind="library",
    devices=("cuda",),
    precisions=tuple(_COMPUTE),
    layouts=LAYOUTS,
    params=(("ALGO", tuple(range(ALGORITHMS))),),
    source="https://docs.nvidia.com/cuda/cublas/#cublasltmatmul",
)


@dataclass(frozen=True)
class ColumnMajor:
    """A row-major C = op(A) op(B) as the column-major C^T = op(B)^T op(A)^T: B comes first.

    A row-major array is the transpose of the same bytes read column-major, so an operand
    that is stored as it is used needs no transposition here either. `ld` are leading
    dimensions, of B, of A and of C.
    """

    m: int
    n: int
    k: int
    trans_b: bool
    trans_a: bool
    ld_b: int
    ld_a: int
    ld_c: int


def column_major(problem: Problem) -> ColumnMajor:
    """The problem as cuBLAS takes it."""
    M, N, K = problem.M, problem.N, problem.K
    ld_b, ld_a = K if problem.trans_b else N, M if problem.trans_a else K
    return ColumnMajor(N, M, K, problem.trans_b, problem.trans_a, ld_b, ld_a, N)


def compute_type(problem: Problem, sm: int) -> int:
    """The `cublasComputeType_t` of the problem's precision. Raises NotOffered before sm_80 for TF32."""
    if problem.precision_name == "tf32" and sm < 80:
        raise NotOffered(f"TF32 needs compute capability 8.0; this GPU has {sm // 10}.{sm % 10}")
    types = import_module("nvmath.bindings.cublas").ComputeType
    return int(types[_COMPUTE[problem.precision_name]])


def opened(name: str) -> tuple[ModuleType, int]:
    """nvmath's bindings of a library, and a handle of it. Raises NotOffered if one is missing."""
    try:
        api = import_module(f"nvmath.bindings.{name}")
    except ImportError as fault:
        raise NotOffered("nvmath-python is not installed: pip install 'gemmbench[cuda]'") from fault
    try:
        return api, api.create()
    except Exception as fault:  # no library, a library of another CUDA, no memory: each has a class of its own
        raise NotOffered(f"{name} cannot be opened: {fault}") from fault
