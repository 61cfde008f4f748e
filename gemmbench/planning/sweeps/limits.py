"""Time limits: how long a compilation, a launch and a sweep may take."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gemmbench.errors import UsageError


@dataclass(frozen=True)
class TimeLimits:
    """Seconds for compiling one kernel, for one launch and for the whole sweep (inf: no limit)."""

    compile: float = 120.0
    launch: float = 60.0
    sweep: float = math.inf

    @classmethod
    def make(cls, **given: float | None) -> TimeLimits:
        """Return the given limits, None for the default. Raises UsageError."""
        for name, seconds in given.items():
            if seconds is not None and not seconds > 0:
                raise UsageError(f"--{name}-limit {seconds:g}: give a positive number of seconds")
        return cls(**{name: seconds for name, seconds in given.items() if seconds is not None})
