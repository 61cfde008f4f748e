"""Time limits: what may take how long before it becomes a row that says so."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gemmbench.errors import UsageError


@dataclass(frozen=True)
class TimeLimits:
    """Seconds: for compiling one kernel, for one launch, for the whole sweep (inf: as long as it takes)."""

    compile: float = 120.0
    launch: float = 60.0
    sweep: float = math.inf

    @classmethod
    def make(cls, **asked: float | None) -> TimeLimits:
        """The limits that were asked for, None for the usual one. Raises UsageError."""
        for name, seconds in asked.items():
            if seconds is not None and not seconds > 0:
                raise UsageError(f"--{name}-limit {seconds:g}: give a positive number of seconds")
        return cls(**{name: seconds for name, seconds in asked.items() if seconds is not None})
