"""Precisions: how operands are stored, and how exactly a product is summed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gemmbench.errors import UsageError, nearest

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Precision:
    """One precision class.

    `storage` is the NumPy type of A, B and C, `ctype` its C name and `header` what declares
    it. `scalar` is the C type of alpha, beta and the accumulator. `factor_bits` is the
    number of significand bits that survive in a factor (24 for f32, 11 for TF32). `unit` is
    the unit roundoff of the accumulator, `result_unit` that of C, whose integers are exact
    below 2**result_bits.
    """

    name: str
    storage: str
    ctype: str
    scalar: str
    factor_bits: int
    unit: float
    result_bits: int
    header: str = ""

    @property
    def bytes(self) -> int:
        """Bytes of one element."""
        return int("".join(filter(str.isdigit, self.storage))) // 8

    def numpy_type(self) -> np.dtype:
        """The NumPy type of one element."""
        import numpy as np

        if self.storage == "bfloat16":
            import ml_dtypes

            return np.dtype(ml_dtypes.bfloat16)
        return np.dtype(self.storage)

    @property
    def result_unit(self) -> float:
        """Unit roundoff of an element of C."""
        return 2.0**-self.result_bits


_ALL = (
    Precision("f32", "float32", "float", "float", 24, 2.0**-24, 24),
    # Tensor cores cut where others round, which doubles the unit.
    Precision("tf32", "float32", "float", "float", 11, 2.0**-23, 24),
    Precision("f64", "float64", "double", "double", 53, 2.0**-53, 53),
    Precision("f16", "float16", "__half", "float", 11, 2.0**-24, 11, "cuda_fp16.h"),
    Precision("bf16", "bfloat16", "__nv_bfloat16", "float", 8, 2.0**-24, 8, "cuda_bf16.h"),
)
PRECISIONS = {precision.name: precision for precision in _ALL}


def precision(name: str) -> Precision:
    """Return the precision called `name`; raise UsageError with the nearest name."""
    try:
        return PRECISIONS[name]
    except KeyError:
        known = ", ".join(PRECISIONS)
        raise UsageError(f"unknown precision '{name}'{nearest(name, PRECISIONS)}; known: {known}") from None
