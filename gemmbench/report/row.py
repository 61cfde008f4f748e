"""A row: one record with everything that follows from it and from the baseline's record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from gemmbench.analysis.occupancy import Occupancy, theoretical_occupancy
from gemmbench.bench.record import Environment, Record
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.errors import DeviceError

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


_MOST_ELAPSED = 1.5
"""The highest accepted ratio of the time that gemmbench waited to the time reported; honest kernels have about 1."""


def is_forged(record: Record) -> bool:
    """The kernel's process reports much less time than gemmbench has waited for it."""
    return (record.elapsed_ratio or 0.0) > _MOST_ELAPSED


def is_too_good(environment: Environment, record: Record, seconds: float) -> bool:
    """The time is shorter than gemmbench waited, than the arithmetic can take or, if cold, the memory traffic."""
    if is_forged(record):
        return True
    arithmetic = record.flops / peak_flops(environment, record, environment.clock_hz or math.nan)
    return seconds < arithmetic or seconds < _memory_seconds(environment, record)


def _memory_seconds(environment: Environment, record: Record) -> float:
    """Seconds to move the least bytes; 0 if unknown, or if operands may come from a cache."""
    known = record.backend == environment.backend and environment.bandwidth > 0
    return record.least_bytes / environment.bandwidth if known and record.cache == "cold" else 0.0


@dataclass(frozen=True)
class LaunchOccupancy:
    """A wave is one full load of all multiprocessors; `last_wave` is the filled share of the last."""

    blocks: int
    occupancy: Occupancy
    waves: float
    last_wave: float


def launch_occupancy(environment: Environment, record: Record) -> LaunchOccupancy | None:
    """The occupancy of a record's launch.

    None for a library, several launches, a CPU, a row that never ran or an unknown architecture.

    Clusters can lower it further, because all blocks of a cluster must fit into one group of
    multiprocessors.
    """
    if not environment.on_gpu(record.backend) or not record.grid or record.registers < 0 or not environment.sms:
        return None
    shared = max(record.shared_static, 0) + record.shared_dynamic
    try:
        occupancy = theoretical_occupancy(environment.sm, math.prod(record.block), record.registers, shared)
    except DeviceError:
        return None
    blocks, wave = math.prod(record.grid), occupancy.blocks_per_sm * environment.sms
    if not wave:
        return None
    return LaunchOccupancy(blocks, occupancy, blocks / wave, (blocks % wave or wave) / wave)


UNKNOWN = Interval(math.nan)
UNRANKED = "unranked"
"""The status of a right result whose products are of a weaker class, or that was timed in another way."""


@dataclass(frozen=True)
class Row:
    """One record of a run; a number that does not exist is NaN.

    `time` is in seconds per launch, `percent_of_baseline` the speed in percent of the baseline's.
    `clock_ratio` is the SM clock relative to the baseline's in the same rounds. `number` counts the
    rows of a run from 1. `percent_of_best` is the speed in percent of the best of the libraries.
    """

    environment: Environment
    record: Record
    time: Interval = UNKNOWN
    percent_of_baseline: Interval = UNKNOWN
    clock_ratio: float = math.nan
    number: int = 0
    percent_of_best: Interval = UNKNOWN

    @property
    def timed(self) -> bool:
        """The result is right, and the time is possible."""
        return self.valid and bool(self.record.samples) and not self.too_good

    @property
    def ranked(self) -> bool:
        """It is timed as others are, and its products are of the class of its precision."""
        return self.timed and self.record.ranked

    def is_comparable_with(self, other: Row) -> bool:
        """Both are timed, both in the same way, and their products are of the same class."""
        one, two = self.record, other.record
        same = one.product_class == two.product_class or not (one.is_of_weaker_class or two.is_of_weaker_class)
        return self.timed and other.timed and same and one.pdl == two.pdl

    @property
    def valid(self) -> bool:
        """The result is right."""
        return self.record.status == "ok"

    @property
    def status(self) -> str:
        """The record's status, `too good` for a time that the device cannot reach, or UNRANKED."""
        if self.too_good:
            return "too good"
        return UNRANKED if self.valid and not self.record.ranked else self.record.status

    @property
    def shortest_time(self) -> float:
        """Seconds of the row or of the baseline, whichever is shorter; without a ratio, of the row."""
        percent = self.percent_of_baseline.value
        return self.time.value * (1.0 if math.isnan(percent) else min(1.0, percent / 100))

    @property
    def gflops(self) -> float:
        """Operations per second, in 1e9."""
        return self.record.flops / self.time.value / 1e9

    @property
    def clock_hz(self) -> float:
        """The SM clock in the row's windows, the median."""
        return stats.median(self.record.clocks_hz)

    @property
    def sustained_gflops(self) -> float:
        """Operations per second under a steady load, in 1e9."""
        return self.record.flops / self.record.sustained.time / 1e9 if self.record.sustained else math.nan

    @property
    def sustained_percent(self) -> float:
        """The speed in percent of the baseline's, both under a steady load; blocks are too few for an interval."""
        if not self.record.sustained or not self.record.ranked:
            return math.nan
        if self.record.variant == self.environment.baseline:
            return 100.0
        return 100 * self.record.sustained.speed_ratio

    @cached_property
    def percent_of_peak(self) -> float:
        """Percent of the arithmetic peak at the measured clock."""
        return 100 * self.gflops * 1e9 / peak_flops(self.environment, self.record, self.clock_hz)

    @cached_property
    def too_good(self) -> bool:
        """The time is shorter than this device can be, or than gemmbench's own clock allows."""
        return is_too_good(self.environment, self.record, self.time.value)

    @cached_property
    def roofline(self) -> Roofline:
        """The bounds of the row."""
        return roofline(self.environment, self.record, self.time.value, self.clock_hz)

    @cached_property
    def launch_occupancy(self) -> LaunchOccupancy | None:
        """How the launch fills the device, if known."""
        return launch_occupancy(self.environment, self.record)
