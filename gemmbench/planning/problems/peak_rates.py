"""Peak rates: operations of one multiprocessor in one cycle, by compute capability.

Rates are dense, and a multiply-add counts as two operations. Tensor-core rates follow from the data
sheets: TFLOPS / multiprocessors / boost clock in GHz. Where cards of one compute capability differ,
the table has the highest rate: a time below it is impossible on all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_FIRST_GEFORCE, _FIRST_TF32, _FIRST_FP8 = 75, 80, 89


@dataclass(frozen=True)
class PeakRates:
    """Operations of a multiprocessor and cycle; `by_capability` maps 90 (for 9.0) to its rate.

    `geforce` is the rate of GeForce cards from compute capability 7.5 on, where it differs from
    that of the professional cards; None where it does not. `at_half_rate` names professional cards
    with half the rate of theirs. `of_tensor_cores` if tensor cores reach it.
    """

    by_capability: Mapping[int, float] = field(default_factory=dict)
    geforce: float | None = None
    at_half_rate: tuple[str, ...] = ()
    of_tensor_cores: bool = False

    def of_device(self, name: str, sm: int) -> float | None:
        """The rate of a device, or None where no data sheet gives one."""
        if self.geforce is not None and "GeForce" in name and sm >= _FIRST_GEFORCE:
            return self.geforce if sm in self.by_capability else None
        rate = self.by_capability.get(sm)
        return rate / 2 if rate is not None and name in self.at_half_rate else rate


# CUDA programming guide, "Arithmetic Instructions", 32-bit floating-point multiply-add: 64 or 128
# a cycle.
FP32_CORES = PeakRates(
    dict.fromkeys((60, 70, 72, 75, 80), 128)
    | dict.fromkeys((50, 52, 53, 61, 62, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121), 256)
)
# The same table, 64-bit: 2, 4 or 32 a cycle. Tensor cores double it: A100 19.5 TFLOPS / 108 / 1.41 GHz, H100
# SXM 66.9 TFLOPS / 132 / 1.98 GHz, while B200 has 37 TFLOPS / 148 / 1.97 GHz and B300 1.2 TFLOPS.
FP64_TENSOR = PeakRates(
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
HALF_TENSOR = PeakRates(
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
HALF_SUMS_TENSOR = PeakRates(HALF_TENSOR.by_capability, of_tensor_cores=True)
# Twice the rate of sums in f32, from compute capability 8.9 on: L40S 733 TFLOPS / 142 / 2.52, H100 SXM 1979 / 132 /
# 1.83, B200 4500 / 148 / 1.85, RTX PRO 6000 Blackwell 1007.6 / 188 / 2.62. GeForce cards sum in f32 at half the rate
# here, too: RTX 4090 330.3 / 128 / 2.52, RTX 5090 419 / 170 / 2.41. So does the L40: 362 / 142 / 2.49.
FP8_TENSOR = PeakRates(
    {sm: rate * 2 for sm, rate in HALF_TENSOR.by_capability.items() if sm >= _FIRST_FP8},
    geforce=1024,
    at_half_rate=HALF_TENSOR.at_half_rate,
    of_tensor_cores=True,
)
# Half of that of 16 bits. A100 156 TFLOPS / 108 / 1.41 GHz, A40 74.8 / 84 / 1.74, RTX 3090 35.6 / 82 / 1.70, L40S 183
# / 142 / 2.52, RTX 4090 82.6 / 128 / 2.52, H100 SXM 495 / 132 / 1.83, B200 1125 / 148 / 1.85, RTX PRO 6000 Blackwell
# 251.9 / 188 / 2.62, RTX 5090 104.8 / 170 / 2.41.
TF32_TENSOR = PeakRates(
    {sm: rate / 2 for sm, rate in HALF_TENSOR.by_capability.items() if sm >= _FIRST_TF32},
    geforce=256,
    at_half_rate=HALF_TENSOR.at_half_rate,
    of_tensor_cores=True,
)
# Three TF32 products for each product of f32, where that is faster than the CUDA cores: not on GeForce cards, nor
# on professional ones of compute capability 8.6, 8.9 and 12.
TRIPLE_TF32 = PeakRates(
    {sm: max(rate / 3, FP32_CORES.by_capability[sm]) for sm, rate in TF32_TENSOR.by_capability.items()},
    of_tensor_cores=True,
)
