"""A search: first rounds for all candidates, longer rounds for those that remain, and the full method for finalists."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from gemmbench.bench.record import Record
from gemmbench.bench.tuning.outcome import SearchOutcome
from gemmbench.bench.tuning.screening import (
    FINALISTS,
    FIRST_ROUNDS,
    SHARED_FINALISTS,
    CandidateBatches,
    CheckedCode,
    Screening,
    Standing,
    make_slowness_test,
)
from gemmbench.bench.tuning.tuning_task import Key, TuningTask, find_key
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.search_space import make_strategy

_MOST_TURNS = 4
"""The most turns of longer rounds. Candidates that still tie with the best after them are cut by rank."""


@dataclass
class Contenders:
    """The candidates that remain after the first rounds. If they were `measured` before, they are not measured again.

    `left` holds the best, fastest first, and `dropped` says why the others were dropped.
    """

    screening: Screening
    measured: bool = False
    begin_finals: Callable[[Sequence[Chain]], None] = lambda chains: None
    left: list[Standing] = field(default_factory=list)
    dropped: dict[Key, str] = field(default_factory=dict)

    def narrow(self) -> None:
        """Drop clearly slower candidates and time the rest in longer rounds, until only the finalists remain."""
        screening, batches = self.screening, self.screening.batches
        task, rounds = screening.task, FIRST_ROUNDS
        self.left = screening.list_standings()
        for turn in range(1 + _MOST_TURNS):
            self._drop_slow()
            stops = self.measured or screening.is_over() or batches.runner.is_interrupted()
            if len(self.left) <= FINALISTS or turn == _MOST_TURNS or stops:
                return
            rounds *= 2
            chains = [task.chains[each.key] for each in self.left]
            screening.records += batches.time(chains, task.baseline, rounds)
            screening.report(screening)
            kept = {each.key for each in self.left}
            self.left = [each for each in screening.list_standings() if each.key in kept]

    def _drop_slow(self) -> None:
        if len(self.left) <= FINALISTS:
            return
        is_clearly_slower, best = make_slowness_test(self.left), self.left[0]
        for candidate in self.left[FINALISTS:]:
            if is_clearly_slower(candidate):
                rounds = len(candidate.values)
                slowdown = candidate.slowdown(best)
                self.dropped[candidate.key] = f"{slowdown:.2f}x the time of the best after {rounds} rounds"
        self.left = [each for each in self.left if each.key not in self.dropped]

    def measure_finals(self, slowest: float) -> list[Record]:
        """Verify the best on every awkward problem and measure them in full.

        If none is right, continue with the next best.

        Candidates slower than `slowest` are left out.
        """
        screening, batches = self.screening, self.screening.batches
        task, standings = screening.task, screening.list_standings()
        for behind in (each for each in standings if each.mean > slowest):
            self.dropped.setdefault(behind.key, f"not among the {SHARED_FINALISTS} best of all kernels")
        queue = [each.key for each in standings if each.mean <= slowest]
        queue.sort(key=lambda key: key in self.dropped)
        while queue and not batches.runner.is_interrupted():
            keys, queue = queue[:FINALISTS], queue[FINALISTS:]
            finals = self._measure(screening.check_everywhere(keys))
            if any(record.ranked for record in finals if task.owns(record)):
                self._explain_rest(queue)
                return finals
        return []

    def _measure(self, keys: Sequence[Key]) -> list[Record]:
        screening = self.screening
        chains = [screening.task.chains[key] for key in keys]
        self.begin_finals(chains)
        records = screening.batches.measure(chains, screening.task.baseline, contest=True) if chains else []
        for record in filter(screening.task.owns, records):
            self.dropped.pop(find_key(record), None)
            if record.status != "ok":
                screening.failed[find_key(record)] = f"{record.status}: {record.reason.partition(chr(10))[0]}"
        return records

    def _explain_rest(self, keys: Sequence[Key]) -> None:
        for key in keys:
            self.dropped.setdefault(key, f"not among the {FINALISTS} best, though not clearly slower than the best")


SCREENING_SHARE = 0.7
"""The fraction of a search's time after which the first rounds end, to leave time for the finals."""


@dataclass(frozen=True)
class SearchSettings:
    """How to search. `configurations` and `seconds` limit the first rounds. `first` are tried before all others."""

    strategy: str
    seed: int
    goal: str
    configurations: int
    seconds: float
    first: Sequence[Key] = ()


@dataclass
class Search:
    """One search, in two parts. Several searches of one problem may share their finals. See find_slowest_finalist.

    `earlier` holds the records of the resumed run. `report` is called after every batch, and `begin_finals` before
    finalists are measured.
    """

    task: TuningTask
    batches: CandidateBatches
    checked: CheckedCode
    settings: SearchSettings
    earlier: Sequence[Record]
    report: Callable[[Screening], None]
    begin_finals: Callable[[Sequence[Chain]], None] = lambda chains: None

    def screen(self) -> Sequence[Standing]:
        """Try the candidates in short rounds. Returns those that remain, fastest first.

        Raises UsageError for an unknown strategy and DeviceError.
        """
        task, settings = self.task, self.settings
        end = time.monotonic() + SCREENING_SHARE * settings.seconds
        strategy = make_strategy(settings.strategy, task.space, settings.seed)
        self._finals = _find_finals(task, self.earlier)
        most = 0 if self._finals else settings.configurations
        screening = Screening(
            task,
            strategy,
            self.batches,
            self.checked,
            most,
            lambda: time.monotonic() > end,
            self.report,
            settings.first,
        )
        screening.run(self.earlier)
        self._contenders = Contenders(screening, bool(self._finals), self.begin_finals)
        self._contenders.narrow()
        return self._contenders.left

    def finish(self, slowest: float = math.inf) -> SearchOutcome:
        """Measure the remaining candidates that are not behind `slowest` in full. Raises DeviceError."""
        task, contenders, finals = self.task, self._contenders, self._finals
        runner, screening = self.batches.runner, contenders.screening
        if not finals and not runner.is_interrupted():
            finals = contenders.measure_finals(slowest)
        interrupted = runner.is_interrupted()
        finals = [] if interrupted and not _is_complete(finals) else finals
        standings = screening.list_standings()
        return SearchOutcome(
            task,
            self.settings.goal,
            standings,
            contenders.dropped,
            screening.failed,
            [record for record in finals if task.owns(record)],
            interrupted,
            [record for record in finals if not task.owns(record)],
        )


def find_slowest_finalist(found: Iterable[Sequence[Standing]]) -> float:
    """Return the limit for finalists if several searches of one problem share SHARED_FINALISTS finalists."""
    means = sorted(standing.mean for left in found for standing in left)
    return means[SHARED_FINALISTS - 1] if len(means) >= SHARED_FINALISTS else math.inf


def _find_finals(task: TuningTask, earlier: Sequence[Record]) -> list[Record]:
    """Return the finals of this search in the resumed run, if they are complete."""
    groups: dict[str, list[Record]] = {}
    for record in earlier:
        if record.phase == "final" and record.problem == task.problem:
            groups.setdefault(record.batch_key, []).append(record)
    whole = [rows for rows in groups.values() if any(map(task.owns, rows)) and _is_complete(rows)]
    return [record for rows in whole for record in rows]


def _is_complete(rows: Sequence[Record]) -> bool:
    return bool(rows) and len(rows) >= rows[-1].batch_rows and all(row.stopped != "interrupted" for row in rows)
