"""Precisions: how operands are stored, and how exactly a product is summed."""

from __future__ import annotations

from dataclasses import dataclass

from gemmbench.errors import UsageError, nearest


@dataclass(frozen=True)
class Precision:
    """One precision class.

    `storage` and `result` are NumPy type names of A and B, and of C; `ctype` and
    `result_ctype` their C names. `scalar` is the C type of alpha, beta and the
    accumulator. `factor_bits` is the number of significand bits that survive in a
    factor (24 for f32, 11 for TF32). `unit` is the unit roundoff of the accumulator,
    `result_unit` that of C. `exact_bits`: integers below 2**exact_bits add exactly.
    """

    name: str
    storage: str
    result: str
    ctype: str
    result_ctype: str
    scalar: str
    factor_bits: int
    unit: float
    result_unit: float
    exact_bits: int

    @property
    def storage_bytes(self) -> int:
        """Bytes of one element of A or B."""
        return _bytes(self.storage)

    @property
    def result_bytes(self) -> int:
        """Bytes of one element of C."""
        return _bytes(self.result)


def _bytes(kind: str) -> int:
    return int("".join(filter(str.isdigit, kind))) // 8


_ALL = (
    Precision("f32", "float32", "float32", "float", "float", "float", 24, 2.0**-24, 2.0**-24, 24),
    Precision("tf32", "float32", "float32", "float", "float", "float", 11, 2.0**-23, 2.0**-24, 22),
)
PRECISIONS = {precision.name: precision for precision in _ALL}


def precision(name: str) -> Precision:
    """Return the precision called `name`; raise UsageError with the nearest name."""
    try:
        return PRECISIONS[name]
    except KeyError:
        known = ", ".join(PRECISIONS)
        raise UsageError(f"unknown precision '{name}'{nearest(name, PRECISIONS)}; known: {known}") from None
