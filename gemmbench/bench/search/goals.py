"""What a search looks for: the least time, the least energy, or the least time under a steady load."""

from __future__ import annotations

import math
from collections.abc import Callable

from gemmbench.bench.record import Record
from gemmbench.bench.timing import stats
from gemmbench.errors import UsageError, nearest

TIME, ENERGY, SUSTAINED = "time", "energy", "sustained"


def _find_time(record: Record) -> float:
    return stats.time_interval(record.by_round).value


def _find_energy(record: Record) -> float:
    return record.sustained.joules if record.sustained else math.nan


def _find_sustained_time(record: Record) -> float:
    return record.sustained.time if record.sustained else math.nan


GOALS: dict[str, Callable[[Record], float]] = {TIME: _find_time, ENERGY: _find_energy, SUSTAINED: _find_sustained_time}
"""What is least for the best row: seconds, joules, or seconds under load; NaN if unknown."""


def check_goal(goal: str) -> str:
    """Return the name of a goal. Raises UsageError."""
    if goal not in GOALS:
        raise UsageError(f"unknown goal '{goal}'{nearest(goal, GOALS)}; choose {', '.join(GOALS)}")
    return goal
