"""What cuBLAS and cuBLASLt have in common: their variants, and row-major problems in column-major form.

This module does not import them, because the variants are also listed on machines without a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from gemmbench.backends.base import MATHS
from gemmbench.errors import NotOffered, write_pip_line
from gemmbench.planning.manifests.expressions import parse
from gemmbench.planning.manifests.variant import GROUPS, MANY, ONE, PADDED, SEPARATE_C, Variant
from gemmbench.planning.precisions import FLOAT32, PRECISIONS, Precision
from gemmbench.planning.problems import LAYOUTS, Problem

if TYPE_CHECKING:
    import numpy as np


WORKSPACE = 32 << 20
"""Bytes of device memory that each library may use in addition to the operands.

It may use more if a kernel in the sweep has a larger workspace.
"""

KERNELS = 2
"""The number of kernels that a library may queue for one GEMM: the product and, if K is split, the sum of the parts."""

ALGORITHMS = 64
"""The number of algorithms to request from cuBLASLt's heuristic for each kind of math."""

DEFAULT, PEDANTIC = MATHS

MATH = (
    "f32 and 3xtf32 use the faster of default and pedantic f32 math, tf32 uses fast math, f16 and bf16 use "
    "tensor cores and sum in f32, f16_f16 sums in f16"
)
_MATH_LT = (
    "f32 and 3xtf32 use pedantic and default f32 math, tf32 uses fast math, f16, bf16 and fp8 use tensor cores "
    "and sum in f32, f16_f16 sums in f16"
)

_UNSCALED = tuple(name for name, precision in PRECISIONS.items() if not precision.is_scaled)
"""The precisions of cuBLAS. Only cuBLASLt accepts scale factors."""
_IN_F32 = ("f32", "3xtf32")
# cublasComputeType_t by the accumulator's type. Where f32 products are summed in f32, the product class decides.
_COMPUTE = {"float32": "COMPUTE_32F", "float64": "COMPUTE_64F", "float16": "COMPUTE_16F", "int32": "COMPUTE_32I"}
_COMPUTE_FLOAT32 = {"f32": "COMPUTE_32F", "3xtf32": "COMPUTE_32F", "tf32": "COMPUTE_32F_FAST_TF32"}
# cudaDataType_t
_TYPES = {"float32": 0, "float64": 1, "float16": 2, "int8": 3, "int32": 10, "bfloat16": 14}
_TYPES |= {"float8_e4m3fn": 28, "float8_e5m2": 29}

CUBLAS = Variant(
    name="cublas",
    summary=f"cuBLAS, its own choice; {MATH}; at least 32 MiB workspace",
    order=1000,
    kind="library",
    devices=("cuda",),
    precisions=_UNSCALED,
    layouts=LAYOUTS,
    kinds=(ONE, MANY, PADDED),
    workspace=parse(WORKSPACE),
    source="https://docs.nvidia.com/cuda/cublas/#cublasgemmex",
)
CUBLAS_DEFAULT, CUBLAS_PEDANTIC = (
    replace(CUBLAS, name=name, summary=f"cuBLAS, only with {math} f32 math", order=order, precisions=_IN_F32)
    for name, math, order in (("cublas_default", DEFAULT, 1001), ("cublas_pedantic", PEDANTIC, 1002))
)
CUBLAS_GROUPED = replace(
    CUBLAS,
    name="cublas_grouped",
    summary="cuBLAS, all groups in one call; f32 uses default math",
    order=1003,
    precisions=("f32", "tf32", "f64", "f16", "bf16"),
    layouts=("nn", "nt"),
    kinds=(GROUPS, PADDED),
    source="https://docs.nvidia.com/cuda/cublas/#cublasgemmgroupedbatchedex",
)
CUBLASLT = Variant(
    name="cublaslt",
    summary=f"cuBLASLt, algorithm number ALGO in its list; {_MATH_LT}; at least 32 MiB workspace",
    order=1010,
    kind="library",
    devices=("cuda",),
    precisions=tuple(PRECISIONS),
    layouts=LAYOUTS,
    kinds=(ONE, MANY, PADDED, SEPARATE_C),
    params=(("ALGO", tuple(range(2 * ALGORITHMS))),),
    epilogue=("bias", "relu", "gelu_tanh"),
    shortlist=4,
    workspace=parse(WORKSPACE),
    source="https://docs.nvidia.com/cuda/cublas/#cublasltmatmul",
)


@dataclass(frozen=True)
class ColumnMajor:
    """A row-major C = op(A) op(B) in the column-major form C^T = op(B)^T op(A)^T, where B comes first.

    Read as column-major, a row-major array is its transpose. An operand that is stored as it is used therefore needs no
    transposition here either. `ld_b`, `ld_a`, `ld_c` and `ld_d` are leading dimensions. Each `stride` is the number of
    elements from one of `count` products to the next.
    """

    m: int
    n: int
    k: int
    trans_b: bool
    trans_a: bool
    ld_b: int
    ld_a: int
    ld_c: int
    ld_d: int
    count: int = 1
    stride_b: int = 0
    stride_a: int = 0
    stride_c: int = 0
    stride_d: int = 0


def to_column_major(problem: Problem) -> ColumnMajor:
    """Return the problem as cuBLAS sees it. D is the result, which may be C."""
    M, N, K, names = problem.M, problem.N, problem.K, ("B", "A", "C", problem.result.name)
    leading = [problem.leading(name) for name in names]
    one = ColumnMajor(N, M, K, problem.trans_b, problem.trans_a, *leading)
    if problem.count == 1:
        return one
    stride_b, stride_a, stride_c, stride_d = map(problem.stride, names)
    return replace(one, count=problem.count, stride_b=stride_b, stride_a=stride_a, stride_c=stride_c, stride_d=stride_d)


@dataclass(frozen=True)
class Types:
    """The types that a library uses to compute a problem.

    `a`, `b`, `c` and `scale` (for alpha and beta) are of type `cudaDataType_t`, and `compute` is of type
    `cublasComputeType_t`. `scalar` is the NumPy type of alpha and beta.
    """

    a: int
    b: int
    c: int
    scale: int
    compute: int
    scalar: str

    def scalars(self, alpha: float, beta: float) -> np.ndarray:
        """Return alpha and beta in the type that the library reads."""
        import numpy as np  # slow to import, and not needed to list the variants

        return np.array([alpha, beta], self.scalar)


def library_types(problem: Problem, sm: int, math: str = DEFAULT) -> Types:
    """Return the types of a problem. `math` matters only for computations in f32.

    Raises NotOffered on GPUs that are too old for the precision, such as TF32 before sm_80, and for integers whose
    leading dimensions are odd.
    """
    precision = problem.precision
    if sm < precision.min_sm:
        needed, present = (f"{number // 10}.{number % 10}" for number in (precision.min_sm, sm))
        raise NotOffered(f"{precision.name} needs compute capability {needed}; this GPU has {present}")
    _check_integers(problem)
    compute = import_module("nvmath.bindings.cublas").ComputeType[_compute_type(precision, math)]
    a, b, c = (_TYPES[problem.storage(operand).name] for operand in "ABC")
    return Types(a, b, c, _TYPES[precision.scalar.name], int(compute), precision.scalar.name)


_WORD = 4


def _check_integers(problem: Problem) -> None:
    """Raise NotOffered for 8-bit integers whose rows do not begin at words.

    COMPUTE_32I needs lda and ldb that are multiples of 4 (cuBLAS documentation, "cublasGemmEx").
    """
    if not problem.precision.is_exact:
        return
    for name in "AB":
        if (ld := problem.leading(name)) % _WORD:
            needed = f"only where lda and ldb are multiples of {_WORD}, and ld{name.lower()} is {ld}"
            raise NotOffered(f"cuBLAS supports {problem.precision_name} {needed}; choose another size or --ld")


def computes_in_f32(precision: Precision) -> bool:
    """Return whether cuBLAS multiplies float32 without tensor cores.

    This includes 3xtf32, which is compared with f32.
    """
    return precision.name in _IN_F32


def _compute_type(precision: Precision, math: str = DEFAULT) -> str:
    """Return the name of the compute type for a precision. Raises NotOffered if cuBLAS has none."""
    if precision.a != FLOAT32:
        return _COMPUTE[precision.accumulator.type.name]
    if precision.product_class not in _COMPUTE_FLOAT32:
        raise NotOffered(f"cuBLAS has no compute type for {precision.name}")
    pedantic = computes_in_f32(precision) and math == PEDANTIC
    return "COMPUTE_32F_PEDANTIC" if pedantic else _COMPUTE_FLOAT32[precision.product_class]


def open_library(name: str) -> tuple[ModuleType, int]:
    """Open a library and return nvmath's bindings and a handle. Raises NotOffered if either is missing."""
    try:
        api = import_module(f"nvmath.bindings.{name}")
    except ImportError as fault:
        raise NotOffered(f"nvmath-python is not installed: {write_pip_line('cuda')}") from fault
    try:
        return api, api.create()
    except Exception as fault:  # a missing library, a wrong CUDA version and a lack of memory raise different classes
        raise NotOffered(f"cannot open {name}: {fault}") from fault
