"""The outcome of a search: the winner, configurations that tie with it, and the choices for the rows of a `pick`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gemmbench.bench.record import Record
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.bench.tuning.screening import Standing
from gemmbench.bench.tuning.tuning_task import Key, TuningTask, find_key
from gemmbench.planning.manifests.variant import Candidate, Variant
from gemmbench.planning.problems import Problem

_TIE = 0.005
"""Values closer than this count as ties under a steady load, which has too few blocks for an interval."""


def _find_time(record: Record) -> float:
    return stats.time_interval(record.by_round).value if record.samples else math.nan


def _find_sustained_time(record: Record) -> float:
    return record.sustained.time if record.sustained else math.nan


def _find_energy(record: Record) -> float:
    return record.sustained.joules if record.sustained else math.nan


GOALS: Mapping[str, Callable[[Record], float]] = {
    "time": _find_time,
    "sustained": _find_sustained_time,
    "energy": _find_energy,
}
"""What the finals minimize: seconds per launch, seconds per launch under a steady load, or joules per launch."""


def compare_values(goal: str, best: Record, other: Record) -> Interval:
    """Return the value of `other` relative to that of `best`, with an interval only for the goal `time`."""
    if GOALS[goal] is _find_time:
        return stats.speed_ratio(best.by_round, other.by_round)
    return Interval(GOALS[goal](other) / GOALS[goal](best))


@dataclass(frozen=True)
class SearchOutcome:
    """The result of a search.

    `standings` are the correct candidates that were timed in short rounds, fastest first. `dropped` holds the reasons
    why others did not reach the finals, and `failed` the reasons why some are wrong. `finals` are the records that were
    measured in full, and `anchors` those of the baseline in the same batches. An interrupted search has no finals.
    """

    task: TuningTask
    goal: str
    standings: Sequence[Standing]
    dropped: Mapping[Key, str]
    failed: Mapping[Key, str]
    finals: Sequence[Record]
    interrupted: bool = False
    anchors: Sequence[Record] = ()

    @property
    def ranking(self) -> list[Record]:
        """The finalists that are right, best first."""
        find_value = GOALS[self.goal]
        right = [record for record in self.finals if record.ranked and math.isfinite(find_value(record))]
        return sorted(right, key=find_value)

    @property
    def winner(self) -> Record | None:
        """The best finalist; None if none is right or the search was interrupted."""
        return next(iter(self.ranking), None)

    @property
    def is_outdone(self) -> bool:
        """Whether no candidate became a finalist because other kernels of the same `pick` are faster."""
        fastest = self.standings[0].key if self.standings else None
        return not self.finals and not self.interrupted and fastest in self.dropped

    @property
    def ties(self) -> list[Record]:
        """The finalists that are not clearly worse than the winner."""
        ranking = self.ranking
        return [other for other in ranking[1:] if self._is_tied(ranking[0], other)]

    def _is_tied(self, best: Record, other: Record) -> bool:
        ratio = compare_values(self.goal, best, other)
        if GOALS[self.goal] is not _find_time:
            return ratio.value <= 1 + _TIE
        return not ratio.known or ratio.low <= 1

    @property
    def tried(self) -> int:
        """The number of configurations that were checked."""
        return len(self.standings) + len(self.failed)

    @property
    def relative_values(self) -> dict[Key, float]:
        """The logarithm of each correct candidate's value relative to the baseline, from the finals if available.

        If the goal is not `time`, other candidates are assumed to differ from their short rounds as much as the
        finalists do on average.
        """
        short = {each.key: each.mean for each in self.standings}
        full = {find_key(record): self._compare_with_baseline(record) for record in self.finals if record.ranked}
        full = {key: value for key, value in full.items() if math.isfinite(value)}
        shifts = [value - short[key] for key, value in full.items() if key in short]
        shift = statistics.fmean(shifts) if shifts and self.goal != "time" else 0.0
        return {key: value + shift for key, value in short.items()} | full

    def find_anchor(self, record: Record) -> Record | None:
        """Return the baseline's row in the batch of a finalist; None if it is not right."""
        mine = (each for each in self.anchors if each.batch_key == record.batch_key)
        return next((each for each in mine if each.samples and each.status == "ok"), None)

    def _compare_with_baseline(self, record: Record) -> float:
        anchor = self.find_anchor(record)
        ratio = compare_values(self.goal, anchor, record).value if anchor else math.nan
        return math.log(ratio) if ratio > 0 else math.nan


@dataclass(frozen=True)
class ChosenRow:
    """A row of `pick` after the searches: the candidate that it should name, chosen on `problems`.

    `loss` is how much slower it is on these than the best for each problem, as a geometric mean. `reason` says why a
    row stays unchanged.
    """

    number: int
    when: str
    problems: tuple[Problem, ...]
    candidate: Candidate | None
    loss: float
    reason: str = ""


@dataclass(frozen=True)
class HeldOut:
    """A problem that was not used for the choice, with the candidate that its row picks and the best candidate.

    `loss` is the time of the pick divided by that of the best. It is NaN if the pick cannot run.
    """

    problem: Problem
    picked: Candidate
    best: Candidate
    loss: Interval


@dataclass(frozen=True)
class DispatchTable:
    """The rows of a variant's `pick`, and how good they are on held-out problems.

    `path` is the file that was written.
    """

    variant: Variant
    rows: Sequence[ChosenRow]
    held_out: Sequence[HeldOut] = ()
    path: Path | None = None
