"""Precisions: how operands are stored, and how exactly a product is summed.

To add a precision, add its record to `_ALL`; the rest of gemmbench reads it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.problems.peak_rates import (
    FP8_TENSOR,
    FP32_CORES,
    FP64_TENSOR,
    HALF_SUMS_TENSOR,
    HALF_TENSOR,
    TF32_TENSOR,
    TRIPLE_TF32,
    PeakRates,
)
from gemmbench.planning.problems.product_classes import is_weaker
from gemmbench.planning.problems.storage import BFLOAT16, E4M3, E5M2, FLOAT16, FLOAT32, FLOAT64, StorageType

Granularity = Literal["none", "tensor", "row", "block"]


@dataclass(frozen=True)
class Accumulator:
    """The type sums are kept in; integers up to 2**exact_bits are summed without error.

    Tensor cores may keep fewer bits than the type has, and truncate where others round. With
    `promoted_every` they sum that many products, and such partial sums are added in the type itself.
    """

    type: StorageType
    exact_bits: int
    truncates: bool = False
    promoted_every: int = 0

    @property
    def loses_bits(self) -> bool:
        """Sums have fewer bits than their type, as those of fp8 on tensor cores."""
        return self.exact_bits < self.type.significand

    def unit(self, products: int) -> float:
        """Unit roundoff u of a sum of K `products`. Truncation doubles it; sums of integers have no error.

        A promoted sum consists of K / n partial sums of n products each. The partial sum of the products
        a b is off by u |a| |b|, which is n / K of u |A| |B|. Data have random signs, and truncation changes a
        partial sum towards 0. So these errors have random signs too, and sqrt(K / n) of them remain of
        K / n: sqrt(n / K) of u |A| |B|. Adding the partial sums costs the unit roundoff of the type.
        """
        if self.type.is_integer:
            return 0.0
        unit = 2.0**-self.exact_bits * (2 if self.truncates else 1)
        if not 0 < self.promoted_every < products:
            return unit
        return unit * math.sqrt(self.promoted_every / products) + self.type.unit


@dataclass(frozen=True)
class ScaleFormat:
    """Factors that A and B are multiplied by: one for a tensor, a row, or `block` elements along K."""

    granularity: Granularity = "none"
    type: StorageType | None = None
    block: int = 0


@dataclass(frozen=True)
class Precision:
    """One way to store operands and to sum their products.

    `a`, `b` and `c` are the storage types of the operands, `scalar` that of alpha and beta.
    `factor_bits` is the number of significand bits of A and B that enter a product (11 for TF32,
    whose operands are stored with 24). `product_class` is what verification must find: the class of
    the error that a single product has. With `splits_factors` a product may be the sum of products of
    parts of its factors, and has an error before it is summed; otherwise it is exact in the
    accumulator or rounded once. `min_sm` is the first compute capability whose hardware offers it
    (0: all), `peak` its peak rates.
    """

    name: str
    a: StorageType
    b: StorageType
    c: StorageType
    accumulator: Accumulator
    scalar: StorageType
    factor_bits: int
    product_class: str
    scale: ScaleFormat = ScaleFormat()
    min_sm: int = 0
    peak: PeakRates = field(default=PeakRates(), compare=False)
    splits_factors: bool = False

    def storage(self, operand: str) -> StorageType:
        """The type of A, B or C. A workspace holds copies of A and B, in the type of A."""
        return {"A": self.a, "B": self.b, "C": self.c, "workspace": self.a}[operand]

    def may_split_factors(self, declared: str = "") -> bool:
        """A product may have an error before it is summed: here, or in a weaker class that is `declared`."""
        return self.splits_factors or (bool(declared) and is_weaker(declared, self.product_class))

    @property
    def keeps_multiples(self) -> bool:
        """A result is exactly twice as large where A is: sums in f16 may be subnormal, and then lose bits."""
        return self.accumulator.type.is_integer or self.accumulator.type.exponent >= FLOAT32.exponent

    @property
    def headers(self) -> tuple[str, ...]:
        """What declares the C++ types of this precision, in order."""
        types = self.a, self.b, self.c, self.accumulator.type
        return tuple(dict.fromkeys(kind.header for kind in types if kind.header))

    @property
    def is_scaled(self) -> bool:
        """A and B have scale factors."""
        return self.scale.granularity != "none"

    @property
    def exact_bits(self) -> int:
        """Integers up to 2**exact_bits survive both the sum and its storage in C."""
        return min(self.accumulator.exact_bits, self.c.significand)

    @property
    def result_unit(self) -> float:
        """Unit roundoff of an element of C; integers are stored without error."""
        return 0.0 if self.c.is_integer else self.c.unit

    @property
    def rounds_result(self) -> bool:
        """Storing a sum in C loses bits."""
        return self.c.significand < self.accumulator.exact_bits


_FLOAT32_SUMS = Accumulator(FLOAT32, exact_bits=24)
_TENSOR_SUMS = Accumulator(FLOAT32, exact_bits=24, truncates=True)

_FLOAT16_SUMS = Accumulator(FLOAT16, exact_bits=11, truncates=True)
# Hopper's tensor cores keep about 14 bits of a sum of 8-bit products, and truncate. To be measured: 13 is on the
# safe side.
_FP8_BITS = 13
_FAST_FP8_SUMS = Accumulator(FLOAT32, exact_bits=_FP8_BITS, truncates=True)
_PROMOTED_FP8_SUMS = replace(_FAST_FP8_SUMS, promoted_every=128)


def _make_fp8(name: str, a: StorageType, accumulator: Accumulator) -> Precision:
    """A in either 8-bit type, B in e4m3, C in bf16; each factor of a tensor is 1 here, so nothing is scaled."""
    return Precision(
        name=name,
        a=a,
        b=E4M3,
        c=BFLOAT16,
        accumulator=accumulator,
        scalar=FLOAT32,
        factor_bits=a.significand,
        product_class=name.partition("_")[0],
        scale=ScaleFormat("tensor", FLOAT32),
        min_sm=89,
        peak=FP8_TENSOR,
    )


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
        peak=FP32_CORES,
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
        peak=TF32_TENSOR,
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
        peak=TRIPLE_TF32,
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
        peak=FP64_TENSOR,
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
        peak=HALF_TENSOR,
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
        peak=HALF_SUMS_TENSOR,
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
        peak=HALF_TENSOR,
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
        peak=HALF_TENSOR,
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
        peak=HALF_TENSOR,
    ),
    _make_fp8("e4m3", E4M3, _PROMOTED_FP8_SUMS),
    _make_fp8("e4m3_fast", E4M3, _FAST_FP8_SUMS),
    _make_fp8("e5m2", E5M2, _PROMOTED_FP8_SUMS),
    _make_fp8("e5m2_fast", E5M2, _FAST_FP8_SUMS),
)
PRECISIONS = {record.name: record for record in _ALL}


def find_precision(name: str) -> Precision:
    """Return the precision called `name`; raise UsageError with the nearest name."""
    try:
        return PRECISIONS[name]
    except KeyError:
        known = ", ".join(PRECISIONS)
        raise UsageError(f"unknown precision '{name}'{nearest(name, PRECISIONS)}; known: {known}") from None
