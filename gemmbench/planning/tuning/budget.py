"""The budget of a search: a time, or a number of configurations."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from gemmbench.errors import UsageError
from gemmbench.planning.bounds import check_digits

LEAST_CONFIGURATIONS, LEAST_SECONDS = 2, 1.0
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_WRITTEN = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")


@dataclass(frozen=True)
class Budget:
    """The seconds of all searches of a command together, and the configurations that each may try."""

    seconds: float = math.inf
    configurations: int | None = None

    def count(self, space: int) -> int:
        """How many of the configurations of a space a search may try."""
        return space if self.configurations is None else min(space, self.configurations)

    def share(self, searches: int) -> float:
        """The seconds of each search."""
        return self.seconds / max(searches, 1)


def parse_budget(text: str | None) -> Budget:
    """Parse `90s`, `5m`, `1h` or a number of configurations; None has no limit. Raises UsageError."""
    if text is None:
        return Budget()
    check_digits("--budget", text)
    found = _WRITTEN.fullmatch(text.strip())
    if found is None or not (found[2] or found[1].isdecimal()):
        raise UsageError(
            f"cannot parse --budget '{text[:40]}'; write a time such as 90s, 5m or 1h, or a number such as 200"
        )
    if not found[2]:
        count = int(found[1])
        if count < LEAST_CONFIGURATIONS:
            raise UsageError(
                f"--budget {count}: a search compares at least {LEAST_CONFIGURATIONS} configurations; give more"
            )
        return Budget(configurations=count)
    seconds = float(found[1]) * _UNITS[found[2]]
    if seconds < LEAST_SECONDS:
        raise UsageError(f"--budget {text}: too short for one round of windows; give at least {LEAST_SECONDS:g}s")
    return Budget(seconds=seconds)
