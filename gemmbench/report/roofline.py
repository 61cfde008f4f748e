"""The bounds of a row, arithmetic at a clock and memory bandwidth, and how near it comes to them.

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
    """Bounds of one row; NaN where the device's rates are unknown.

    `bytes` is the least that a launch must move, `intensity` FLOP per byte of it. `compute` is the
    least number of seconds for the arithmetic at the measured clock and `memory` the least for
    moving the bytes, 0 if operands may come from a cache. `percent` is the larger of the two in
    percent of the measured time.
    """

    bytes: int
    intensity: float
    compute: float
    memory: float
    percent: float

    @property
    def bound(self) -> str:
        """`compute` or `memory`, whichever takes longer; "" if unknown."""
        if math.isnan(self.compute):
            return ""
        return MEMORY if self.memory > self.compute else COMPUTE


def roofline(environment: Environment, record: Record, seconds: float, clock_hz: float) -> Roofline:
    """The bounds of a row that takes `seconds` per launch at a clock (NaN: unknown)."""
    compute = record.flops / peak_flops(environment, record, clock_hz)
    memory = _memory_seconds(environment, record)
    percent = 100 * max(compute, memory) / seconds if not math.isnan(compute) else math.nan
    return Roofline(record.least_bytes, record.flops / record.least_bytes, compute, memory, percent)


def peak_flops(environment: Environment, record: Record, clock_hz: float) -> float:
    """Operations per second at a clock; NaN if unknown, and for rows of the CPU in a run on a GPU."""
    per_cycle = environment.flops_per_cycle.get(record.problem.precision_name, math.nan)
    return per_cycle * clock_hz if record.backend == environment.backend else math.nan


def is_too_good(environment: Environment, record: Record, seconds: float) -> bool:
    """The time is shorter than the arithmetic can take or, for cold rows, the memory traffic."""
    arithmetic = record.flops / peak_flops(environment, record, environment.clock_hz or math.nan)
    return seconds < arithmetic or seconds < _memory_seconds(environment, record)


def _memory_seconds(environment: Environment, record: Record) -> float:
    """Seconds to move the least bytes; 0 if unknown, or if operands may come from a cache."""
    known = record.backend == environment.backend and environment.bandwidth > 0
    return record.least_bytes / environment.bandwidth if known and record.cache == "cold" else 0.0
