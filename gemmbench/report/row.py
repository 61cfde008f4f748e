"""A row: one record with everything that follows from it and from the baseline's record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from gemmbench.bench.record import Environment, Record
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.report.launch_occupancy import LaunchOccupancy, launch_occupancy
from gemmbench.report.roofline import Roofline, is_too_good, peak_flops, roofline

UNKNOWN = Interval(math.nan)
UNRANKED = "unranked"
"""The status of a right result whose products are of a weaker class, or that was timed in another way."""


@dataclass(frozen=True)
class Row:
    """One record of a run; a number that does not exist is NaN.

    `time` is in seconds per launch, `percent_of_baseline` the speed in percent of the baseline's.
    `clock_ratio` is the SM clock relative to the baseline's in the same rounds. `number` counts the
    rows of a run from 1.
    """

    environment: Environment
    record: Record
    time: Interval = UNKNOWN
    percent_of_baseline: Interval = UNKNOWN
    clock_ratio: float = math.nan
    number: int = 0

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
        return self.timed and other.timed and same and one.is_timed_apart == two.is_timed_apart

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
        """The time is shorter than this device can be."""
        return is_too_good(self.environment, self.record, self.time.value)

    @cached_property
    def roofline(self) -> Roofline:
        """The bounds of the row."""
        return roofline(self.environment, self.record, self.time.value, self.clock_hz)

    @cached_property
    def launch_occupancy(self) -> LaunchOccupancy | None:
        """How the launch fills the device, if known."""
        return launch_occupancy(self.environment, self.record)
