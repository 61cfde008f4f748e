"""What a row could reach at best: the arithmetic at a clock, the memory's bandwidth, and how near it comes.

The roofline model: S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual
performance model for multicore architectures", 2009.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gemmbench.bench.record import Environment, Record

COMPUTE, MEMORY = "compute", "memory"


@dataclass(frozen=True)
class Roofline:
    """Bounds of one row; NaN where the device's rates are not known.

    `bytes` is the least a launch must move, `intensity` FLOP per byte of it. `compute` is the least
    seconds the arithmetic takes at the clock seen, `memory` the least that moving the
    bytes takes, 0 where operands may come from a cache. `percent` is the larger in percent of the time.
    """

    bytes: int
    intensity: float
    compute: float
    memory: float
    percent: float

    @property
    def bound(self) -> str:
        """`compute` or `memory`, whichever takes longer at the least; "" if unknown."""
        if math.isnan(self.compute):
            return ""
        return MEMORY if self.memory > self.compute else COMPUTE


def roofline(environment: Environment, record: Record, seconds: float, clock_hz: float) -> Roofline:
    """The bounds of a row that takes `seconds` a launch at a clock (NaN: unknown)."""
    moved = record.least_bytes
    compute = record.flops / peak(environment, record, clock_hz)
    memory = moved / environment.bandwidth if _from_memory(environment, record) else 0.0
    percent = 100 * max(compute, memory) / seconds if not math.isnan(compute) else math.nan
    return Roofline(moved, record.flops / moved, compute, memory, percent)


def peak(environment: Environment, record: Record, clock_hz: float) -> float:
    """Operations a second at a clock; NaN if unknown, or if the row is of another device than the run."""
    per_cycle = environment.flops_per_cycle.get(record.problem.precision_name, math.nan)
    return per_cycle * clock_hz if record.backend == environment.backend else math.nan


def too_good(environment: Environment, record: Record, seconds: float) -> bool:
    """Faster than the arithmetic at the highest clock, or when cold than the memory, can be."""
    arithmetic = record.flops / peak(environment, record, environment.clock_hz or math.nan)
    memory = record.least_bytes / environment.bandwidth if _from_memory(environment, record) else 0.0
    return seconds < arithmetic or seconds < memory


def _from_memory(environment: Environment, record: Record) -> bool:
    """Every launch finds its operands in memory, and the bandwidth is known."""
    return record.cache == "cold" and record.backend == environment.backend and environment.bandwidth > 0
