"""The budget of a search."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from gemmbench.errors import UsageError

_UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class Budget:
    """When a strategy is asked for nothing more: after so many configurations, or seconds."""

    configurations: float = math.inf
    seconds: float = math.inf


def parse_budget(text: str | None) -> Budget:
    """A number of configurations, or a time such as `90s`, `5m` or `1h`; None has no end. Raises UsageError."""
    if text is None:
        return Budget()
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)([smh]?)", text.strip())
    value = float(found[1]) if found else 0.0
    if not found or not value or (not found[2] and value != int(value)):
        raise UsageError(f"budget: '{text}' is neither a number of configurations nor a time; write 200, 90s or 5m")
    return Budget(seconds=value * _UNITS[found[2]]) if found[2] else Budget(configurations=value)
