"""Peak rates: operations of one multiprocessor in one cycle, by compute capability.

Rates are dense, and a multiply-add counts as two operations. Tensor-core rates follow from the data
sheets: TFLOPS / multiprocessors / boost clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_FIRST_GEFORCE = 86


@dataclass(frozen=True)
class PeakRates:
    """Operations of a multiprocessor and cycle; `by_capability` maps 90 (for 9.0) to its rate.

    `geforce` is the rate of GeForce cards from compute capability 8.6 on, where it differs from
    that of the professional cards; None where it does not.
    """

    by_capability: Mapping[int, float] = field(default_factory=dict)
    geforce: float | None = None

    def of_device(self, name: str, sm: int) -> float | None:
        """The rate of a device, or None where no data sheet gives one."""
        if self.geforce is not None and "GeForce" in name and sm >= _FIRST_GEFORCE:
            return self.geforce
        return self.by_capability.get(sm)


# CUDA programming guide, "Arithmetic Instructions", 32-bit floating-point multiply-add: 64 or 128
# a cycle.
FP32_CORES = PeakRates(
    dict.fromkeys((60, 70, 72, 75, 80), 128)
    | dict.fromkeys((50, 52, 53, 61, 62, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121), 256)
)
# A100 156 TFLOPS / 108 / 1.41 GHz, H100 SXM 495 / 132 / 1.83 GHz. GeForce since sm_86 sums in f32 at
# half the rate of the professional cards of the same compute capability (RTX 3090 35.6 TFLOPS / 82 /
# 1.70 GHz, RTX 4090 82.6 / 128 / 2.52 GHz). Those differ among themselves, so theirs is left out.
TF32_TENSOR = PeakRates({80: 1024, 90: 2048}, geforce=256)
# A100 19.5 TFLOPS, H100 SXM 66.9 TFLOPS.
FP64_TENSOR = PeakRates({80: 128, 90: 256})
# A100 312 TFLOPS, H100 SXM 989 TFLOPS, with sums in f32.
HALF_TENSOR = PeakRates({80: 2048, 90: 4096})
