"""What a steady load showed of a kernel: a part of its record. Nothing derived is stored."""

from __future__ import annotations

import math
from typing import Annotated

import msgspec

from gemmbench.planning.sizes import Amount, Dimension, Scalar, Seconds


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel alone on the device, launched without a pause.

    Attributes:
        seconds: Seconds that count, after the device had settled.
        launches: Launches in these seconds.
        clock_hz: The mean clock of the multiprocessors; None if unknown.
        joules: Joules between two ticks of the energy counter; None without a counter.
        joules_seconds: Seconds between these ticks.
        temperature: The temperature at the end, in degrees Celsius.
        slowed_by: What held the clock down, such as `power cap`.
        settled: Whether time, clock, power and temperature were steady when counting began.
    """

    seconds: Seconds
    launches: Dimension
    clock_hz: Amount | None = None
    joules: Amount | None = None
    joules_seconds: Amount = 0.0
    temperature: Scalar | None = None
    slowed_by: list[str] = []
    settled: bool = True

    @property
    def time(self) -> float:
        """Seconds per launch."""
        return self.seconds / self.launches


class Sustained(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel under a steady load, in blocks of kernel, baseline, baseline, kernel.

    Attributes:
        own: The loads of this kernel, in order. Those of the baseline are from the blocks of all rows.
        baseline: The loads of the baseline next to them, one for each; empty for the baseline itself.
    """

    own: Annotated[list[Load], msgspec.Meta(min_length=1)]
    baseline: list[Load] = []

    @property
    def time(self) -> float:
        """Seconds per launch, the mean of the blocks."""
        return math.fsum(load.time for load in self.own) / len(self.own)

    @property
    def seconds(self) -> float:
        """Seconds that count."""
        return math.fsum(load.seconds for load in self.own)

    @property
    def clock_hz(self) -> float:
        """The mean clock; NaN if unknown."""
        known = [load.clock_hz for load in self.own if load.clock_hz]
        return math.fsum(known) / len(known) if known else math.nan

    @property
    def watts(self) -> float:
        """The mean power; NaN if unknown."""
        known = [load for load in self.own if load.joules is not None]
        seconds = math.fsum(load.joules_seconds for load in known)
        return math.fsum(load.joules or 0.0 for load in known) / seconds if seconds else math.nan

    @property
    def joules(self) -> float:
        """Joules per launch; NaN if unknown."""
        return self.watts * self.time

    @property
    def temperature(self) -> float | None:
        """The highest temperature."""
        return max((load.temperature for load in self.own if load.temperature is not None), default=None)

    @property
    def slowed_by(self) -> list[str]:
        """What held the clock down in any block."""
        return sorted({name for load in self.own for name in load.slowed_by})

    @property
    def settled(self) -> bool:
        """Whether the device had settled before every block counted."""
        return all(load.settled for load in self.own)

    @property
    def speed_ratio(self) -> float:
        """The speed relative to the baseline, from neighbouring blocks; NaN without a baseline."""
        logs = [math.log(base.time / own.time) for own, base in zip(self.own, self.baseline, strict=False)]
        return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan
