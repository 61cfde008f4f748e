"""A search: first rounds for all candidates, longer rounds for those that are left, the full method for the last.

The method is successive halving (Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and
Hyperparameter Optimization", AISTATS 2016), except that a candidate goes only if it is clearly slower than
the best, however many that are. Of many that differ by 10 % and more, that is most of them at once. Ties
stay and get twice the rounds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gemmbench.bench.record import Record
from gemmbench.bench.tuning.batches import CandidateBatches
from gemmbench.bench.tuning.checked_code import CheckedCode
from gemmbench.bench.tuning.contenders import Contenders
from gemmbench.bench.tuning.outcome import SearchOutcome
from gemmbench.bench.tuning.screening import Screening
from gemmbench.bench.tuning.standings import SHARED_FINALISTS, Standing
from gemmbench.bench.tuning.task import Key, TuningTask, find_key
from gemmbench.planning.search_space import make_strategy

_SCREENING_SHARE = 0.7
"""Of the seconds of a search: when the first rounds end, to leave time for the finals."""


@dataclass(frozen=True)
class SearchSettings:
    """How to search. `configurations` and `seconds` limit the first rounds; `first` are tried before any other."""

    strategy: str
    seed: int
    goal: str
    configurations: int
    seconds: float
    first: Sequence[Key] = ()


@dataclass
class Search:
    """One search, in two parts. Several searches of one problem may share their finals: see find_slowest_finalist.

    `earlier` are the records of the run that is resumed, and `report` is called after every batch.
    """

    task: TuningTask
    batches: CandidateBatches
    checked: CheckedCode
    settings: SearchSettings
    earlier: Sequence[Record]
    report: Callable[[Screening], None]

    def screen(self) -> Sequence[Standing]:
        """Try the candidates in short rounds; returns those that are left, the fastest first.

        Raises UsageError for an unknown strategy and DeviceError.
        """
        task, settings = self.task, self.settings
        end = time.monotonic() + _SCREENING_SHARE * settings.seconds
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
        self._contenders = Contenders(screening, measured=bool(self._finals))
        self._contenders.narrow()
        return self._contenders.left

    def finish(self, slowest: float = math.inf) -> SearchOutcome:
        """Measure what is left in full, but nothing whose standing is behind `slowest`. Raises DeviceError."""
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
            _find_best_so_far(task, standings, screening.records) if interrupted else None,
        )


def find_slowest_finalist(found: Iterable[Sequence[Standing]]) -> float:
    """Where the finals end for searches of one problem, by what each has left: SHARED_FINALISTS in all."""
    means = sorted(standing.mean for left in found for standing in left)
    return means[SHARED_FINALISTS - 1] if len(means) >= SHARED_FINALISTS else math.inf


def _find_best_so_far(task: TuningTask, standings: Sequence[Standing], records: Sequence[Record]) -> Record | None:
    """The last short load of the fastest candidate."""
    timed = [record for record in records if task.owns(record) and record.status == "ok" and record.samples]
    return next((each for each in reversed(timed) if standings and find_key(each) == standings[0].key), None)


def _find_finals(task: TuningTask, earlier: Sequence[Record]) -> list[Record]:
    """The finals of this search in the run that is resumed, if they were complete."""
    groups: dict[str, list[Record]] = {}
    for record in earlier:
        if record.phase == "final" and record.problem == task.problem:
            groups.setdefault(record.batch_key, []).append(record)
    whole = [rows for rows in groups.values() if any(map(task.owns, rows)) and _is_complete(rows)]
    return [record for rows in whole for record in rows]


def _is_complete(rows: Sequence[Record]) -> bool:
    return bool(rows) and len(rows) >= rows[-1].batch_rows and all(row.stopped != "interrupted" for row in rows)
