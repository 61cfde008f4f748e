"""What cuBLAS and cuBLASLt share: their variants, and a row-major problem in column-major terms.

This module imports neither: the variants are listed on machines without a GPU too.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from gemmbench.errors import NotOffered
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.problems.problem import LAYOUTS, Problem

if TYPE_CHECKING:
    import numpy as np

WORKSPACE = 32 << 20
"""Bytes of device memory each library may use beside the operands."""

KERNELS = 2
"""Kernels a library may queue for one GEMM: the product and, where K is split, the sum of its parts."""

ALGORITHMS = 8
"""How many algorithms the heuristic of cuBLASLt is asked for."""

MATH = "f32 pedantic, tf32 fast, f16 and bf16 on tensor cores"
"""Math modes: pedantic is plain FP32, without tensor cores."""

_COMPUTE = {
    "f32": "COMPUTE_32F_PEDANTIC",
    "tf32": "COMPUTE_32F_FAST_TF32",
    "f64": "COMPUTE_64F",
    "f16": "COMPUTE_32F",
    "bf16": "COMPUTE_32F",
}
_TYPES = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 14}  # cudaDataType_t

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
    epilogue=("bias", "relu"),
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


@dataclass(frozen=True)
class Types:
    """How a library computes a problem: `cudaDataType_t` of A, B, C and of the scalars, `cublasComputeType_t`."""

    data: int
    scale: int
    compute: int
    scalar: str

    def scalars(self, alpha: float, beta: float) -> np.ndarray:
        """alpha and beta as the library reads them."""
        import numpy as np

        return np.array([alpha, beta], self.scalar)


def types_of(problem: Problem, sm: int) -> Types:
    """The types of a problem. Raises NotOffered before sm_80 for TF32 and bf16."""
    if problem.precision_name in ("tf32", "bf16") and sm < 80:
        raise NotOffered(f"{problem.precision_name} needs compute capability 8.0; this GPU has {sm // 10}.{sm % 10}")
    compute = import_module("nvmath.bindings.cublas").ComputeType[_COMPUTE[problem.precision_name]]
    scalar = "float64" if problem.precision.scalar == "double" else "float32"
    return Types(_TYPES[problem.precision.storage], _TYPES[scalar], int(compute), scalar)


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
