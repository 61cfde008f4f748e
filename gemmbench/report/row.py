"""A row: one record with the figures derived from it and from the baseline's record."""

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
    """The bounds of one row; NaN if the device's rates are unknown.

    `bytes` is the least that a launch must move, and `intensity` is FLOP per byte. `compute` is the least number of
    seconds for the arithmetic at the measured clock. `memory` is the least number of seconds for moving the bytes, or 0
    if operands may come from a cache. `percent` is the larger of the two as a percentage of the measured time.
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
    """Compute the bounds of a row that takes `seconds` per launch at a clock (NaN: unknown)."""
    compute = record.flops / peak_flops(environment, record, clock_hz)
    memory = _memory_seconds(environment, record)
    percent = 100 * max(compute, memory) / seconds if not math.isnan(compute) else math.nan
    return Roofline(record.least_bytes, record.flops / record.least_bytes, compute, memory, percent)


def peak_flops(environment: Environment, record: Record, clock_hz: float) -> float:
    """Return the peak in operations per second at a clock; NaN if unknown, or for a CPU row in a run on a GPU."""
    per_cycle = environment.flops_per_cycle.get(record.problem.precision_name, math.nan)
    return per_cycle * clock_hz if record.backend == environment.backend else math.nan


_MOST_ELAPSED = 1.5
"""The highest ratio of the time that gemmbench waited to the reported time. Honest kernels have about 1."""


def is_forged(record: Record) -> bool:
    """Return whether the kernel's process reports much less time than gemmbench waited for it."""
    return (record.elapsed_ratio or 0.0) > _MOST_ELAPSED


def is_too_good(environment: Environment, record: Record, seconds: float) -> bool:
    """Return whether the time is too short for the arithmetic, the memory traffic (if cold) or the host's own clock."""
    if is_forged(record):
        return True
    arithmetic = record.flops / peak_flops(environment, record, environment.clock_hz or math.nan)
    return seconds < arithmetic or seconds < _memory_seconds(environment, record)


def _memory_seconds(environment: Environment, record: Record) -> float:
    """Return the seconds needed to move the least bytes; 0 if unknown, or if operands may come from a cache."""
    known = record.backend == environment.backend and environment.bandwidth > 0
    return record.least_bytes / environment.bandwidth if known and record.cache == "cold" else 0.0


@dataclass(frozen=True)
class LaunchOccupancy:
    """How a launch fills the device in waves. A wave is one full load of all multiprocessors.

    `last_wave` is the share of the last wave that is filled.
    """

    blocks: int
    occupancy: Occupancy
    waves: float
    last_wave: float


def launch_occupancy(environment: Environment, record: Record) -> LaunchOccupancy | None:
    """Compute the occupancy of a record's launch.

    Returns None for a library, several launches, a CPU, a row that never ran, or an unknown architecture.

    Clusters can lower the occupancy further, because all blocks of a cluster must fit into one group of
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
"""The status of a correct result whose products are of a weaker class, or that was timed differently."""


@dataclass(frozen=True)
class Row:
    """One record of a run and its figures. A figure that cannot be computed is NaN.

    `time` is in seconds per launch. `percent_of_baseline` is the speed as a percentage of the baseline's. `clock_ratio`
    is the SM clock relative to the baseline's in the same rounds. `number` counts the rows of a run from 1.
    `percent_of_best` is the speed as a percentage of the best library's.
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
        """Whether the result is correct and the time is possible."""
        return self.valid and bool(self.record.samples) and not self.too_good

    @property
    def ranked(self) -> bool:
        """Whether the row is timed like the others and its products are in the class of its precision."""
        return self.timed and self.record.ranked

    def is_comparable_with(self, other: Row) -> bool:
        """Return whether both rows are timed in the same way and their products are in the same class."""
        one, two = self.record, other.record
        same = one.product_class == two.product_class or not (one.is_of_weaker_class or two.is_of_weaker_class)
        return self.timed and other.timed and same and one.pdl == two.pdl

    @property
    def valid(self) -> bool:
        """Whether the result is correct."""
        return self.record.status == "ok"

    @property
    def status(self) -> str:
        """The record's status, UNRANKED, or `too good` if the time is impossible on the device."""
        if self.too_good:
            return "too good"
        return UNRANKED if self.valid and not self.record.ranked else self.record.status

    @property
    def shortest_time(self) -> float:
        """The time of the row or of the baseline in seconds, whichever is shorter; the row's own without a ratio."""
        percent = self.percent_of_baseline.value
        return self.time.value * (1.0 if math.isnan(percent) else min(1.0, percent / 100))

    @property
    def gflops(self) -> float:
        """The speed in GFLOPS (1e9 operations per second)."""
        return self.record.flops / self.time.value / 1e9

    @property
    def clock_hz(self) -> float:
        """The median SM clock during the row's windows."""
        return stats.median(self.record.clocks_hz)

    @property
    def sustained_gflops(self) -> float:
        """The speed under a steady load in GFLOPS."""
        return self.record.flops / self.record.sustained.time / 1e9 if self.record.sustained else math.nan

    @property
    def sustained_percent(self) -> float:
        """The speed as a percentage of the baseline's, both under a steady load.

        It has no interval, since there are too few blocks.
        """
        if not self.record.sustained or not self.record.ranked:
            return math.nan
        if self.record.variant == self.environment.baseline:
            return 100.0
        return 100 * self.record.sustained.speed_ratio

    @cached_property
    def percent_of_peak(self) -> float:
        """The speed as a percentage of the arithmetic peak at the measured clock."""
        return 100 * self.gflops * 1e9 / peak_flops(self.environment, self.record, self.clock_hz)

    @cached_property
    def too_good(self) -> bool:
        """Whether the time is shorter than the device or gemmbench's own clock allows."""
        return is_too_good(self.environment, self.record, self.time.value)

    @cached_property
    def roofline(self) -> Roofline:
        """The bounds of the row."""
        return roofline(self.environment, self.record, self.time.value, self.clock_hz)

    @cached_property
    def launch_occupancy(self) -> LaunchOccupancy | None:
        """How the launch fills the device; None if unknown."""
        return launch_occupancy(self.environment, self.record)
