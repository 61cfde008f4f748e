"""What changes on a device while it works: power, temperature, clocks and other users.

A back end that can read them has a `Monitor`; the others have None.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from gemmbench.planning.sizes import Amount


@dataclass(frozen=True)
class Conditions:
    """How a GPU is set up, which does not change during a run; None where unknown.

    `power_limit` is in watts, the clocks are the highest the GPU may have, in Hz.
    """

    mig: bool | None = None
    ecc: bool | None = None
    persistence: bool | None = None
    power_limit: Amount | None = None
    max_sm_clock: Amount | None = None
    max_memory_clock: Amount | None = None


@dataclass(frozen=True)
class Reading:
    """One reading: watts, degrees Celsius, Hz; NaN where unknown.

    `slowed` names what limits the clock at that moment, such as "power cap".
    """

    power: float = math.nan
    temperature: float = math.nan
    sm_clock: float = math.nan
    memory_clock: float = math.nan
    slowed: frozenset[str] = frozenset()


class Monitor(Protocol):
    """Reads the sensors of an open device, from any thread; raises nothing."""

    def read(self) -> Reading:
        """Take a reading; it may take milliseconds."""

    def now(self) -> float:
        """Seconds on the clock by which power draws energy."""

    def energy(self) -> float:
        """Joules drawn since a fixed moment; NaN if unknown. The counter ticks: it grows every 20 to 100 ms."""

    def count_other_processes(self) -> int | None:
        """How many other processes compute on the device; None if unknown."""
