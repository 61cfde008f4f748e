"""What the batches of a run cost on a kind of device, and what a launch takes; nothing is launched.

The constants are typical of an H200 with 16 cores and of a server with 2 cores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gemmbench.backends.base import Device
from gemmbench.bench.host_probe import HostSpeed
from gemmbench.bench.operands.cold_sets import count_cold_sets, find_room
from gemmbench.bench.operands.layouts import GemmLayout, NetworkLayout
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.problems import Problem


@dataclass(frozen=True)
class Habits:
    """What is typical of a kind of device.

    Seconds to open it, compile a kernel, bind a row and make an operand set ready; the modes of an
    exact verification; the rounds until an interval is narrow; the share of `policy`'s warm-up;
    whether rows get a steady load.
    """

    open: float
    compile: float
    bind: float
    set: float
    modes: int
    rounds: int
    warm: float
    steady: bool


_GPU = Habits(open=1.8, compile=0.8, bind=0.002, set=1e-4, modes=1, rounds=30, warm=0.05, steady=True)
_CPU = Habits(open=0.1, compile=1.5, bind=0.015, set=2e-5, modes=2, rounds=96, warm=0.5, steady=False)

_FILL, _JUDGE = 2e8, 2e8  # elements/s and core that are filled at random, and that are compared
_LIBRARY_SHARE, _KERNEL_SHARE = 0.7, 0.15  # of the peak of a GPU
_UNKNOWN_PEAK = 1e13
_LAUNCH = 3e-6
_KERNEL_RATE, _LOOP_RATE = 4e9, 2e9  # flops/s and core of a kernel on the CPU, and of a C++ loop
_LIBRARY_FACTOR = 1.8  # float32 products next to float64
_FEW, _ALL = 128, 1024**3  # rows that are verified of a large problem, and what is small
_VECTORS = 32


@dataclass(frozen=True)
class Work:
    """What a batch computes: bytes of an operand set and of its parts, elements, what verifies it."""

    problem: Problem
    set_bytes: int
    touched: int
    result_bytes: int
    exact_cases: int
    small: bool

    @classmethod
    def of(cls, chain: Chain) -> Work:
        """What the batch of this chain computes."""
        network, problem = chain.network, chain.problem
        if network:
            total = NetworkLayout(network).guarded.total
            return cls(problem, total, network.bytes, 4 * network.batch * network.sizes[-1], 3, True)
        touched = sum(problem.operand_bytes(name) for name in "ABC")
        small = problem.M * problem.N * problem.K <= _ALL
        cases = 2 if problem.beta else 1
        return cls(problem, GemmLayout(problem).guarded.total, touched, problem.operand_bytes("C"), cases, small)

    @property
    def elements(self) -> int:
        """Of A, B and C."""
        return sum(math.prod(self.problem.shape(name)) for name in "ABC")

    def count_sets(self, device: Device) -> int:
        """Operand sets that keep every launch cold."""
        target = device.target
        return count_cold_sets(self.touched, self.set_bytes, target.l2, find_room(target))[0]

    def estimate_references(self, host: HostSpeed) -> float:
        """Seconds to make the right results: three products, or some rows of two and a few vectors."""
        M, N, K = self.problem.M, self.problem.N, self.problem.K
        flops = 6 * M * N * K if self.small else 4 * _FEW * N * K + 4 * _VECTORS * (M * K + K * N)
        return flops / (host.product * host.cores * host.share) + 2 * self.estimate_filling(host)

    def estimate_filling(self, host: HostSpeed) -> float:
        """Seconds to make A, B and C on the host."""
        return self.elements / (_FILL * host.cores * host.share)

    def estimate_judgement(self, host: HostSpeed) -> float:
        """Seconds to read a result and to compare it."""
        cells = self.problem.M * self.problem.N
        compared = cells if self.small else cells / 8
        return self.result_bytes / host.copy + compared / _JUDGE


def find_habits(device: Device) -> Habits:
    """What is typical of a device."""
    return _GPU if device.target.is_gpu else _CPU


def estimate_launch(chain: Chain, device: Device, host: HostSpeed) -> float:
    """Seconds of one launch of every step."""
    rate = _estimate_rate(chain, device, host)
    flops = chain.network.flops if chain.network else chain.problem.flops
    return len(chain.steps) * (_LAUNCH if device.target.is_gpu else 0.0) + flops / rate


def _estimate_rate(chain: Chain, device: Device, host: HostSpeed) -> float:
    """flops/s of a row."""
    library = chain.variant.is_library
    if device.target.is_gpu:
        peak = device.flops_per_cycle.get(chain.problem.precision_name, 0.0) * device.clock_hz or _UNKNOWN_PEAK
        return peak * (_LIBRARY_SHARE if library else _KERNEL_SHARE)
    if library:
        return _LIBRARY_FACTOR * host.product * host.cores * host.share
    return _KERNEL_RATE * host.cores * host.share if chain.variant.is_kernel else _LOOP_RATE
