"""What a device says of itself while it works, beside `base.Backend`: power, temperature, clocks, other users.

A back end that can tell has a `Monitor`; the others have None.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Conditions:
    """How a GPU is set up; it stays so for a run. None where it does not say.

    `power_limit` is in watts, the clocks are the highest the GPU may have, in Hz.
    """

    mig: bool | None = None
    ecc: bool | None = None
    persistence: bool | None = None
    power_limit: float | None = None
    max_sm_clock: float | None = None
    max_memory_clock: float | None = None


@dataclass(frozen=True)
class Reading:
    """One look: watts, degrees Celsius, Hz, NaN where the device does not say.

    `slowed` names what holds the clock down at that moment, such as "power cap".
    """

    power: float = math.nan
    temperature: float = math.nan
    sm_clock: float = math.nan
    memory_clock: float = math.nan
    slowed: frozenset[str] = frozenset()


class Monitor(Protocol):
    """Looks at an open device; may be used from a thread of its own, and raises nothing."""

    def read(self) -> Reading:
        """One look; it may take milliseconds."""

    def energy(self) -> float:
        """Joules drawn since a moment that stays the same, NaN if unknown."""

    def count_other_processes(self) -> int | None:
        """Processes of others that have the device open for computing, None if unknown."""
