"""Precisions: how operands are stored, how exactly they are multiplied and summed, and the peak rates of the hardware.

To add a precision, add its record to `_ALL`. The rest of gemmbench picks it up from there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TYPE_CHECKING, cast

from gemmbench.errors import UsageError, nearest

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class ProductClass:
    """A class of products by their exactness.

    `largest` is the largest error of one product, in units of the last of 24 significand bits, so that all results use
    the same scale. It leaves room for truncated sums, and is about the geometric mean of the errors of this class and
    the next. `words` describe how such a product is computed.
    """

    name: str
    largest: float
    words: str


_CLASSES = (
    ProductClass("f64", 0.0, "float64 products"),
    ProductClass("f32", 0.5, "float32 products"),
    ProductClass("bf16x6", 8.0, "six or more products of bf16 parts"),
    ProductClass("3xtf32", 32.0, "three products of TF32 parts"),
    ProductClass("bf16x3", 1500.0, "three products of bf16 parts"),
    ProductClass("f16", 40_000.0, "factors rounded to 11 bits"),
    ProductClass("tf32", 40_000.0, "factors rounded to 11 bits"),
    ProductClass("bf16", 400_000.0, "factors rounded to 8 bits"),
)
CLASSES: Mapping[str, ProductClass] = {each.name: each for each in _CLASSES}
"""Every class by name, the most exact first."""
_LADDER = ("f32", "bf16x6", "3xtf32", "bf16x3", "tf32", "bf16")
"""The classes that can be told apart by their errors."""
_ROUNDED_FACTORS = 4.0


def is_weaker(name: str, other: str) -> bool:
    """Return whether a product of the first class may have a larger error than any product of the second.

    An unknown class counts as weaker than all known ones.
    """
    return _bound_error(name) > _bound_error(other)


def choose_weaker(name: str, other: str) -> str:
    """Return the weaker of two classes. "" means that there is none."""
    return name if name and is_weaker(name, other) else other


def name_class(stored: str, largest: float, split_error: float) -> str:
    """Return the name of the class of products with these errors; "" if no class allows them.

    `stored` is the class of exact products of the stored numbers, which has been ruled out. `largest` is the largest
    error. `split_error` is the largest error of products by powers of two, and is 0 if a kernel computes with parts
    that add up to the factors. Both are in units of the last of 24 significand bits.
    """
    weaker = [CLASSES[name] for name in _LADDER if is_weaker(name, stored)]
    return next((one.name for one in weaker if _fits(one, largest, split_error)), "")


def _fits(one: ProductClass, largest: float, split_error: float) -> bool:
    if one.name == "f32":  # factors of another type were rounded to float32 before they were multiplied
        return largest <= _ROUNDED_FACTORS
    return largest <= one.largest and not (one.name == "bf16x6" and split_error)


def _bound_error(name: str) -> float:
    return CLASSES[name].largest if name in CLASSES else float("inf")


def load_numpy() -> ModuleType:
    """Import NumPy. Planning needs no arrays, and `gemmbench list` would take twice as long with NumPy imported."""
    import numpy as np

    return np


@dataclass(frozen=True)
class StorageType:
    """The type of a stored element.

    `name` is the name in NumPy or ml_dtypes, `ctype` the name in C++, and `header` the file that declares it.
    `significand` is the number of significand bits, including the hidden one, so integers up to 2**significand are
    exact. `exponent` is the number of exponent bits, or 0 for an integer.
    """

    name: str
    bits: int
    significand: int
    exponent: int
    ctype: str
    header: str = ""

    @property
    def is_integer(self) -> bool:
        """Whether the type is an integer."""
        return self.exponent == 0

    @property
    def unit(self) -> float:
        """The unit roundoff, which is the relative error of storing a number of normal size."""
        return 2.0**-self.significand

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number with a full significand; 0 for integers, which have no subnormal numbers."""
        return 0.0 if self.is_integer else float(2.0 ** (2 - 2 ** (self.exponent - 1)))

    @property
    def subnormal_step(self) -> float:
        """The distance between neighbours below `smallest_normal`; 0 for integers."""
        return float(self.smallest_normal * 2.0 ** (1 - self.significand))

    def nbytes(self, elements: int) -> int:
        """Return the bytes of this number of consecutive elements, rounded up."""
        return -(-elements * self.bits // 8)

    def numpy_type(self) -> np.dtype:
        """Return the NumPy type of an element on the host, which takes at least a byte even if `bits` is below 8."""
        import ml_dtypes

        return cast("np.dtype", load_numpy().dtype(getattr(ml_dtypes, self.name, self.name)))

    def store(self, values: np.ndarray) -> np.ndarray:
        """Return float64 numbers as this type stores them: rounded, or cut to integers modulo 2**bits. A NaN stays."""
        if not self.is_integer:
            return values.astype(self.numpy_type()).astype(load_numpy().float64)
        half = 2.0 ** (self.bits - 1)
        return cast("np.ndarray", load_numpy().remainder(load_numpy().trunc(values) + half, 2 * half) - half)

    def find_half_units(self, values: np.ndarray) -> np.ndarray:
        """Return half a unit in the last place of each number, which is the largest error of rounding it to nearest."""
        exponents = load_numpy().frexp(values)[1] - 1
        return cast("np.ndarray", load_numpy().ldexp(self.unit, exponents))

    def find_unwritten(self, values: np.ndarray) -> np.ndarray:
        """Return where memory may still hold only bits of 1, as before a launch: a NaN, or -1 among integers."""
        return cast("np.ndarray", values == -1 if self.is_integer else load_numpy().isnan(values))


FLOAT32 = StorageType("float32", 32, 24, 8, "float")
FLOAT64 = StorageType("float64", 64, 53, 11, "double")
FLOAT16 = StorageType("float16", 16, 11, 5, "__half", "cuda_fp16.h")
BFLOAT16 = StorageType("bfloat16", 16, 8, 8, "__nv_bfloat16", "cuda_bf16.h")
E4M3 = StorageType("float8_e4m3fn", 8, 4, 4, "__nv_fp8_e4m3", "cuda_fp8.h")
E5M2 = StorageType("float8_e5m2", 8, 3, 5, "__nv_fp8_e5m2", "cuda_fp8.h")
INT8 = StorageType("int8", 8, 7, 0, "int8_t", "cstdint")
INT32 = StorageType("int32", 32, 31, 0, "int")


_FIRST_GEFORCE, _FIRST_TF32, _FIRST_FP8 = 75, 80, 89


@dataclass(frozen=True)
class PeakRates:
    """Operations per cycle and multiprocessor. `by_capability` maps 90 (for 9.0) to its rate.

    `geforce` is the rate of GeForce cards from compute capability 7.5 on if it differs from that of professional cards,
    or else None. `at_half_rate` names the professional cards that have half the rate of the others. `of_tensor_cores`
    says whether tensor cores reach the rate.
    """

    by_capability: Mapping[int, float] = field(default_factory=dict)
    geforce: float | None = None
    at_half_rate: tuple[str, ...] = ()
    of_tensor_cores: bool = False

    def of_device(self, name: str, sm: int) -> float | None:
        """Return the rate of a device; None if no data sheet gives one."""
        if self.geforce is not None and "GeForce" in name and sm >= _FIRST_GEFORCE:
            return self.geforce if sm in self.by_capability else None
        rate = self.by_capability.get(sm)
        return rate / 2 if rate is not None and name in self.at_half_rate else rate


# CUDA programming guide, "Arithmetic Instructions", 32-bit floating-point multiply-add: 64 or 128
# a cycle.
_FP32_CORES = PeakRates(
    dict.fromkeys((60, 70, 72, 75, 80), 128)
    | dict.fromkeys((50, 52, 53, 61, 62, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121), 256)
)
# The same table, 64-bit: 2, 4 or 32 a cycle. Tensor cores double it: A100 19.5 TFLOPS / 108 / 1.41 GHz, H100
# SXM 66.9 TFLOPS / 132 / 1.98 GHz, while B200 has 37 TFLOPS / 148 / 1.97 GHz and B300 1.2 TFLOPS.
_FP64_TENSOR = PeakRates(
    dict.fromkeys((50, 52, 53, 61, 62), 8)
    | dict.fromkeys((60, 70, 72), 64)
    | dict.fromkeys((75, 86, 87, 88, 89, 103, 120, 121), 4)
    | {80: 128, 90: 256, 100: 128},
    of_tensor_cores=True,
)
# With sums in f32. V100 125 TFLOPS / 80 / 1.53 GHz, T4 65 / 40 / 1.59, A100 312 / 108 / 1.41, A40 149.7 / 84 /
# 1.74, L40S 362 / 142 / 2.52, H100 SXM 989 / 132 / 1.83, B200 2250 / 148 / 1.85, RTX PRO 6000 Blackwell 503.8 /
# 188 / 2.62; Orin and Thor from their INT8 and FP4 rates: 85 TOPS / 16 / 1.3 GHz, 1035 TFLOPS / 20 / 1.57 GHz.
# GeForce cards sum in f32 at half the rate of the professional ones: RTX 2080 Ti 53.8 / 68 / 1.55, RTX 3090 71 /
# 82 / 1.70, RTX 4090 165.2 / 128 / 2.52, RTX 5090 209.5 / 170 / 2.41. So does the L40: 181 / 142 / 2.49.
_HALF_TENSOR = PeakRates(
    dict.fromkeys((70, 72, 75, 86, 88, 89, 120, 121), 1024)
    | dict.fromkeys((80, 87), 2048)
    | {90: 4096}
    | dict.fromkeys((100, 101, 103, 110), 8192),
    geforce=512,
    at_half_rate=("NVIDIA L40",),
    of_tensor_cores=True,
)
# With sums in f16, where GeForce cards have the full rate: RTX 2080 Ti 107.6 TFLOPS / 68 / 1.55, RTX 3090 142 / 82 /
# 1.70, RTX 4090 330.3 / 128 / 2.52.
_HALF_SUMS_TENSOR = PeakRates(_HALF_TENSOR.by_capability, of_tensor_cores=True)
# Twice the rate of sums in f32, from compute capability 8.9 on: L40S 733 TFLOPS / 142 / 2.52, H100 SXM 1979 / 132 /
# 1.83, B200 4500 / 148 / 1.85, RTX PRO 6000 Blackwell 1007.6 / 188 / 2.62. GeForce cards sum in f32 at half the rate
# here, too: RTX 4090 330.3 / 128 / 2.52, RTX 5090 419 / 170 / 2.41. So does the L40: 362 / 142 / 2.49.
_FP8_TENSOR = PeakRates(
    {sm: rate * 2 for sm, rate in _HALF_TENSOR.by_capability.items() if sm >= _FIRST_FP8},
    geforce=1024,
    at_half_rate=_HALF_TENSOR.at_half_rate,
    of_tensor_cores=True,
)
# Sums of 8-bit integers in int32: twice the rate of 16 bits, on GeForce cards too. T4 130 TOPS / 40 / 1.59 GHz, A100
# 624 / 108 / 1.41, A40 299 / 84 / 1.74, RTX 3090 284 / 82 / 1.70, L40S 733 / 142 / 2.52, RTX 4090 660.6 / 128 / 2.52,
# H100 SXM 1979 / 132 / 1.83, B200 4500 / 148 / 1.85, RTX 5090 838 / 170 / 2.41, Orin 85 / 16 / 1.3. The L40 has half:
# 362 / 142 / 2.49. From "NVIDIA H100 Tensor Core GPU Architecture", "NVIDIA Ada GPU Architecture" and the data sheets
# of the cards. B300 and GB300 have a thirtieth of that (150 and 165 TOPS); no sheet gives a clock to divide it by.
_INT8_TENSOR = PeakRates(
    {sm: _HALF_TENSOR.by_capability[sm] * 2 for sm in (75, 80, 86, 87, 89, 90, 100, 120)},
    at_half_rate=_HALF_TENSOR.at_half_rate,
    of_tensor_cores=True,
)
# Half of that of 16 bits. A100 156 TFLOPS / 108 / 1.41 GHz, A40 74.8 / 84 / 1.74, RTX 3090 35.6 / 82 / 1.70, L40S 183
# / 142 / 2.52, RTX 4090 82.6 / 128 / 2.52, H100 SXM 495 / 132 / 1.83, B200 1125 / 148 / 1.85, RTX PRO 6000 Blackwell
# 251.9 / 188 / 2.62, RTX 5090 104.8 / 170 / 2.41.
_TF32_TENSOR = PeakRates(
    {sm: rate / 2 for sm, rate in _HALF_TENSOR.by_capability.items() if sm >= _FIRST_TF32},
    geforce=256,
    at_half_rate=_HALF_TENSOR.at_half_rate,
    of_tensor_cores=True,
)
# Three TF32 products for each product of f32, where that is faster than the CUDA cores: not on GeForce cards, nor
# on professional ones of compute capability 8.6, 8.9 and 12.
_TRIPLE_TF32 = PeakRates(
    {sm: max(rate / 3, _FP32_CORES.by_capability[sm]) for sm, rate in _TF32_TENSOR.by_capability.items()},
    of_tensor_cores=True,
)


_TRUNCATED = 4096
"""From so many products on, the errors of truncation grow faster than the bound."""


@dataclass(frozen=True)
class Accumulator:
    """The type in which sums are kept. Integers up to 2**exact_bits are summed without error.

    Tensor cores may keep fewer bits than the type has, and may truncate instead of rounding. If `promoted_every` is
    set, they sum this number of products at a time, and the partial sums are added in the type itself.
    """

    type: StorageType
    exact_bits: int
    truncates: bool = False
    promoted_every: int = 0

    @property
    def loses_bits(self) -> bool:
        """Whether sums have fewer bits than their type, as for fp8 on tensor cores."""
        return self.exact_bits < self.type.significand

    def unit(self, products: int) -> float:
        """Return the unit roundoff u of a sum of K `products`. Sums of integers have no error.

        Truncation doubles it. It also moves every partial sum toward 0, so these errors add up while a sum keeps its
        sign: from K = 4096 on, u grows with the square root of K. In tf32, the largest errors found are 10 u at 4096
        and 18 u at 14336.

        A promoted sum consists of K / n partial sums of n products each. The partial sum of the products a b is off by
        u |a| |b|, which is n / K of u |A| |B|. The data have random signs, and truncation moves a partial sum toward 0.
        So these errors have random signs too, and adding K / n of them leaves the sum off by only sqrt(K / n) of them,
        which is sqrt(n / K) of u |A| |B|. Adding the partial sums costs the unit roundoff of the type.
        """
        if self.type.is_integer:
            return 0.0
        unit = 2.0**-self.exact_bits * (2 if self.truncates else 1)
        if not 0 < self.promoted_every < products:
            return unit * max(1.0, math.sqrt(products / _TRUNCATED)) if self.truncates else unit
        return unit * math.sqrt(self.promoted_every / products) + self.type.unit


@dataclass(frozen=True)
class Scales:
    """Which elements of op(A) and op(B) have a scale in common: numbers in f32 that multiply the stored elements.

    Each scale belongs to `rows` rows of op(A) or `columns` columns of op(B), along `depth` k; 0 stands for all. Scales
    of A are stored so that neighbouring rows are neighbours, one row of scales for each step along K; so are those of B
    unless a scale belongs to several columns: their neighbours are the next step along K, and each row of them takes a
    multiple of 16 bytes. cuBLASLt wants the same.
    """

    rows: int
    columns: int
    depth: int

    def list_macros(self, column_major: bool = False) -> dict[str, int]:
        """Return the macros of a kernel that say how many rows, columns and k share a scale."""
        rows, columns = (self.columns, self.rows) if column_major else (self.rows, self.columns)
        return {"SCALE_M": rows, "SCALE_N": columns, "SCALE_K": self.depth}


@dataclass(frozen=True)
class Precision:
    """A way to store operands and to sum their products.

    `a`, `b` and `c` are the storage types of the operands, and `scalar` is the type of alpha and beta. `factor_bits` is
    the number of significand bits of A and B that enter a product (11 for TF32, whose operands are stored with 24).
    `product_class` is the class that verification must find, which depends on the error of a single product. With
    `splits_factors`, a product may be the sum of products of parts of its factors, and may have an error before it is
    summed. Otherwise it is exact in the accumulator or rounded once. With `is_scaled`, libraries ask for one factor of
    A and one of B, which are 1 unless the precision has `scales`: then they are operands. `min_sm` is the first compute
    capability whose hardware offers the precision (0 means all). `peak` holds its peak rates.
    """

    name: str
    a: StorageType
    b: StorageType
    c: StorageType
    accumulator: Accumulator
    scalar: StorageType
    factor_bits: int
    product_class: str
    is_scaled: bool = False
    min_sm: int = 0
    peak: PeakRates = field(default=PeakRates(), compare=False)
    splits_factors: bool = False
    scales: Scales | None = None

    def storage(self, operand: str) -> StorageType:
        """Return the type of A, B or C. A workspace holds copies of A and B in the type of A."""
        return {"A": self.a, "B": self.b, "C": self.c, "workspace": self.a}[operand]

    def may_split_factors(self, declared: str = "") -> bool:
        """Return whether products may have an error before they are summed, here or in a weaker `declared` class."""
        return self.splits_factors or (bool(declared) and is_weaker(declared, self.product_class))

    @property
    def is_exact(self) -> bool:
        """Whether sums are integers, which are exact modulo 2**bits in every order of summation."""
        return self.accumulator.type.is_integer

    @property
    def keeps_multiples(self) -> bool:
        """Whether doubling A exactly doubles the result. Sums in f16 may be subnormal and then lose bits."""
        return self.is_exact or self.accumulator.type.exponent >= FLOAT32.exponent

    @property
    def epilogue_type(self) -> StorageType:
        """The type in which an epilogue computes: float, or double where sums are double or integers."""
        sums = self.accumulator.type
        return FLOAT64 if self.is_exact or sums == FLOAT64 else FLOAT32

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers that declare the C++ types of this precision, in order."""
        types = self.a, self.b, self.c, self.accumulator.type
        return tuple(dict.fromkeys(kind.header for kind in types if kind.header))

    @property
    def exact_bits(self) -> int:
        """The number of bits up to which integers stay exact both in the sum and in C."""
        return min(self.accumulator.exact_bits, self.c.significand)

    @property
    def result_unit(self) -> float:
        """The unit roundoff of an element of C, which is 0 for integers."""
        return 0.0 if self.c.is_integer else self.c.unit

    @property
    def rounds_result(self) -> bool:
        """Whether storing a sum in C loses bits."""
        return self.c.significand < self.accumulator.exact_bits


_FLOAT32_SUMS = Accumulator(FLOAT32, exact_bits=24)
_TENSOR_SUMS = Accumulator(FLOAT32, exact_bits=24, truncates=True)

_FLOAT16_SUMS = Accumulator(FLOAT16, exact_bits=11, truncates=True)
# Hopper's tensor cores keep about 14 bits of a sum of 8-bit products, and truncate. To be measured: 13 is on the
# safe side.
_FP8_BITS = 13
_FAST_FP8_SUMS = Accumulator(FLOAT32, exact_bits=_FP8_BITS, truncates=True)
_PROMOTED_FP8_SUMS = replace(_FAST_FP8_SUMS, promoted_every=128)


def _make_fp8(name: str, a: StorageType, accumulator: Accumulator, scales: Scales | None = None) -> Precision:
    """Make a precision with A in either 8-bit type, B in e4m3, and C in bf16."""
    return Precision(
        name=name,
        a=a,
        b=E4M3,
        c=BFLOAT16,
        accumulator=accumulator,
        scalar=FLOAT32,
        factor_bits=a.significand,
        product_class=name.partition("_")[0],
        is_scaled=True,
        min_sm=89,
        peak=_FP8_TENSOR,
        scales=scales,
    )


PER_TENSOR = Scales(rows=0, columns=0, depth=0)
_PER_ROW = Scales(rows=1, columns=1, depth=0)
_PER_BLOCK = Scales(rows=1, columns=128, depth=128)


_ALL = (
    Precision(
        name="f32",
        a=FLOAT32,
        b=FLOAT32,
        c=FLOAT32,
        accumulator=_FLOAT32_SUMS,
        scalar=FLOAT32,
        factor_bits=24,
        product_class="f32",
        peak=_FP32_CORES,
    ),
    Precision(
        name="tf32",
        a=FLOAT32,
        b=FLOAT32,
        c=FLOAT32,
        accumulator=_TENSOR_SUMS,
        scalar=FLOAT32,
        factor_bits=11,
        product_class="tf32",
        min_sm=80,
        peak=_TF32_TENSOR,
    ),
    Precision(
        name="3xtf32",
        a=FLOAT32,
        b=FLOAT32,
        c=FLOAT32,
        accumulator=_TENSOR_SUMS,
        scalar=FLOAT32,
        factor_bits=24,
        product_class="3xtf32",
        splits_factors=True,
        min_sm=80,
        peak=_TRIPLE_TF32,
    ),
    Precision(
        name="f64",
        a=FLOAT64,
        b=FLOAT64,
        c=FLOAT64,
        accumulator=Accumulator(FLOAT64, exact_bits=53),
        scalar=FLOAT64,
        factor_bits=53,
        product_class="f64",
        peak=_FP64_TENSOR,
    ),
    Precision(
        name="f16",
        a=FLOAT16,
        b=FLOAT16,
        c=FLOAT16,
        accumulator=_FLOAT32_SUMS,
        scalar=FLOAT32,
        factor_bits=11,
        product_class="f16",
        peak=_HALF_TENSOR,
    ),
    Precision(
        name="f16_f16",
        a=FLOAT16,
        b=FLOAT16,
        c=FLOAT16,
        accumulator=_FLOAT16_SUMS,
        scalar=FLOAT16,
        factor_bits=11,
        product_class="f16",
        peak=_HALF_SUMS_TENSOR,
    ),
    Precision(
        name="bf16",
        a=BFLOAT16,
        b=BFLOAT16,
        c=BFLOAT16,
        accumulator=_FLOAT32_SUMS,
        scalar=FLOAT32,
        factor_bits=8,
        product_class="bf16",
        min_sm=80,
        peak=_HALF_TENSOR,
    ),
    Precision(
        name="f16_f32",
        a=FLOAT16,
        b=FLOAT16,
        c=FLOAT32,
        accumulator=_TENSOR_SUMS,
        scalar=FLOAT32,
        factor_bits=11,
        product_class="f16",
        peak=_HALF_TENSOR,
    ),
    Precision(
        name="bf16_f32",
        a=BFLOAT16,
        b=BFLOAT16,
        c=FLOAT32,
        accumulator=_TENSOR_SUMS,
        scalar=FLOAT32,
        factor_bits=8,
        product_class="bf16",
        min_sm=80,
        peak=_HALF_TENSOR,
    ),
    _make_fp8("e4m3", E4M3, _PROMOTED_FP8_SUMS),
    _make_fp8("e4m3_fast", E4M3, _FAST_FP8_SUMS),
    _make_fp8("e5m2", E5M2, _PROMOTED_FP8_SUMS),
    _make_fp8("e5m2_fast", E5M2, _FAST_FP8_SUMS),
    _make_fp8("e4m3_tensor", E4M3, _PROMOTED_FP8_SUMS, PER_TENSOR),
    _make_fp8("e4m3_tensor_fast", E4M3, _FAST_FP8_SUMS, PER_TENSOR),
    _make_fp8("e4m3_rows", E4M3, _PROMOTED_FP8_SUMS, _PER_ROW),
    _make_fp8("e4m3_rows_fast", E4M3, _FAST_FP8_SUMS, _PER_ROW),
    _make_fp8("e4m3_blocks", E4M3, _PROMOTED_FP8_SUMS, _PER_BLOCK),
    Precision(
        name="int8",
        a=INT8,
        b=INT8,
        c=INT32,
        accumulator=Accumulator(INT32, exact_bits=31),
        scalar=INT32,
        factor_bits=7,
        product_class="int8",
        peak=_INT8_TENSOR,
    ),
)
PRECISIONS = {record.name: record for record in _ALL}
SYNONYMS: Mapping[str, str] = {
    **dict.fromkeys(("float", "fp32", "float32", "single"), "f32"),
    **dict.fromkeys(("double", "fp64", "float64"), "f64"),
    **dict.fromkeys(("half", "__half", "fp16", "float16"), "f16"),
    **dict.fromkeys(("bfloat16", "__nv_bfloat16", "nv_bfloat16"), "bf16"),
    **dict.fromkeys(("__nv_fp8_e4m3", "float8_e4m3fn"), "e4m3"),
    **dict.fromkeys(("__nv_fp8_e5m2", "float8_e5m2"), "e5m2"),
    **dict.fromkeys(("i8", "s8", "int8_t", "signed char"), "int8"),
}
"""Other names of precisions, including those of their element types in C++ and NumPy."""


def resolve_precision(name: str) -> str:
    """Return the usual name of a precision, given a synonym or capital letters. Other words stay unchanged."""
    lower = name.lower()
    return SYNONYMS.get(lower, lower if lower in PRECISIONS else name)


def find_precision(name: str) -> Precision:
    """Return the precision called `name`. Raises UsageError, which suggests the nearest name."""
    try:
        return PRECISIONS[resolve_precision(name)]
    except KeyError:
        known = ", ".join(PRECISIONS)
        is_fp8 = name.lower() in ("fp8", "float8")
        hint = " (did you mean 'e4m3' or 'e5m2'?)" if is_fp8 else nearest(name, [*PRECISIONS, *SYNONYMS])
        raise UsageError(f"unknown precision '{name}'{hint}; known: {known}") from None
