"""Classes of products: how exactly a kernel multiplies two numbers, whatever its precision is called.

A tensor core can imitate float32 by several products of parts of the factors. Such a kernel is
faster and less exact than one that multiplies float32, and the two must not be ranked together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ProductClass:
    """A class of products.

    `largest` is the largest error of one product, in units of the last of 24 significand bits, so
    that one scale serves all results. It leaves room for sums that are truncated, and is about the
    geometric mean of the errors of this class and the next. `words` say how such a product is computed.
    """

    name: str
    largest: float
    words: str


_ALL = (
    ProductClass("f64", 0.0, "float64 products"),
    ProductClass("f32", 0.5, "float32 products"),
    ProductClass("bf16x6", 8.0, "six or more products of bf16 parts"),
    ProductClass("3xtf32", 32.0, "three products of TF32 parts"),
    ProductClass("bf16x3", 1500.0, "three products of bf16 parts"),
    ProductClass("f16", 40_000.0, "factors rounded to 11 bits"),
    ProductClass("tf32", 40_000.0, "factors rounded to 11 bits"),
    ProductClass("bf16", 400_000.0, "factors rounded to 8 bits"),
)
CLASSES: Mapping[str, ProductClass] = {each.name: each for each in _ALL}
"""Every class by its name, the most exact first."""
_LADDER = ("f32", "bf16x6", "3xtf32", "bf16x3", "tf32", "bf16")
"""The classes that an error can tell apart."""
_ROUNDED_FACTORS = 4.0


def is_weaker(name: str, other: str) -> bool:
    """Whether a product of the first class may have a larger error than any of the second.

    A class that is unknown here is weaker than those that are known.
    """
    return _bound_error(name) > _bound_error(other)


def choose_weaker(name: str, other: str) -> str:
    """The weaker one of two classes; "" is none."""
    return name if name and is_weaker(name, other) else other


def name_class(stored: str, largest: float, split_error: float) -> str:
    """The class of products with these errors, or "" if they are beyond all of them.

    `stored` is the class of an exact product of numbers as they are stored, which was not found.
    `largest` is the largest error, `split_error` that of products by powers of two, which is 0 where
    a kernel computes with parts that add up to the factors. Both are in units of the last of 24
    significand bits.
    """
    weaker = [CLASSES[name] for name in _LADDER if is_weaker(name, stored)]
    return next((one.name for one in weaker if _fits(one, largest, split_error)), "")


def _fits(one: ProductClass, largest: float, split_error: float) -> bool:
    if one.name == "f32":  # factors of another type were rounded to float32 before they were multiplied
        return largest <= _ROUNDED_FACTORS
    return largest <= one.largest and not (one.name == "bf16x6" and split_error)


def _bound_error(name: str) -> float:
    return CLASSES[name].largest if name in CLASSES else float("inf")
