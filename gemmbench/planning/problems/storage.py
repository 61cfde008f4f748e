"""Element types: bits, C name, NumPy type.

Sizes are counted in bits, because a type may take less than a byte; each row of a matrix begins
on a byte of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class StorageType:
    """One element type.

    `name` is NumPy's or ml_dtypes' name, `ctype` the name in C++ and `header` the file that
    declares it. `significand` is the number of significand bits, the hidden one included: integers
    up to 2**significand are exact. `exponent` is the number of exponent bits, 0 for an integer.
    """

    name: str
    bits: int
    significand: int
    exponent: int
    ctype: str
    header: str = ""

    @property
    def is_integer(self) -> bool:
        """The type holds integers only."""
        return self.exponent == 0

    @property
    def unit(self) -> float:
        """Unit roundoff: the relative error of storing a number of normal size."""
        return 2.0**-self.significand

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number with a full significand; the type is not an integer."""
        return float(2.0 ** (2 - 2 ** (self.exponent - 1)))

    @property
    def subnormal_step(self) -> float:
        """The distance of two neighbours below `smallest_normal`; the type is not an integer."""
        return float(self.smallest_normal * 2.0 ** (1 - self.significand))

    def nbytes(self, elements: int) -> int:
        """Bytes of consecutive elements, rounded up."""
        return -(-elements * self.bits // 8)

    def numpy_type(self) -> np.dtype:
        """The NumPy type of an element on the host. It takes at least a byte, also where `bits` is below 8."""
        # Planning needs no arrays, and `gemmbench list` would take twice as long with NumPy imported.
        import ml_dtypes
        import numpy as np

        return np.dtype(getattr(ml_dtypes, self.name, self.name))


FLOAT32 = StorageType("float32", 32, 24, 8, "float")
FLOAT64 = StorageType("float64", 64, 53, 11, "double")
FLOAT16 = StorageType("float16", 16, 11, 5, "__half", "cuda_fp16.h")
BFLOAT16 = StorageType("bfloat16", 16, 8, 8, "__nv_bfloat16", "cuda_bf16.h")
E4M3 = StorageType("float8_e4m3fn", 8, 4, 4, "__nv_fp8_e4m3", "cuda_fp8.h")
E5M2 = StorageType("float8_e5m2", 8, 3, 5, "__nv_fp8_e5m2", "cuda_fp8.h")
INT8 = StorageType("int8", 8, 7, 0, "signed char")
INT32 = StorageType("int32", 32, 31, 0, "int")
