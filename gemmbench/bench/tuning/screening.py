"""The first rounds of a search: every candidate is compiled, checked and timed for a moment.

Compilers run ahead in threads. Whatever is compiled is checked on an awkward problem and gets its first
windows while the next candidates still compile. Where the compilers are slower than the device, the fastest
candidates so far are verified on all awkward problems meanwhile, as they must be before the finals.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from gemmbench.bench.build import Built, wait_for_any
from gemmbench.bench.record import CHECK, Record
from gemmbench.bench.timing import stats
from gemmbench.bench.tuning.batches import CandidateBatches
from gemmbench.bench.tuning.checked_code import CheckedCode
from gemmbench.bench.tuning.standings import FINALISTS, Standing, collect_standings
from gemmbench.bench.tuning.task import Key, TuningTask, find_key, make_key
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.search_space import Strategy

FIRST_ROUNDS = 2
"""A round and its mirror image."""
_LEAST_TOGETHER, _MOST_TOGETHER, _AHEAD = 8, 15, 64
"""Candidates of a batch: at least, unless no more are being compiled, and at most. Those compiled ahead."""
_PERIOD = 0.1
"""Seconds between two looks at the compilers."""


def count_ahead(strategy: Strategy) -> int:
    """How many candidates are compiled before the first of them is timed."""
    return _MOST_TOGETHER if strategy.learns else max(_AHEAD, 4 * (os.cpu_count() or 1))


@dataclass
class Screening:
    """Tries the candidates that a strategy asks for: at most `most` of them, until `is_over`.

    `first` are tried before the strategy is asked. `earlier` are the records of the run that is resumed. `failed`
    says why candidates are not right, `records` holds all that was measured in short rounds. `report` is called
    when the earlier records are known, and after every batch.
    """

    task: TuningTask
    strategy: Strategy
    batches: CandidateBatches
    checked: CheckedCode
    most: int
    is_over: Callable[[], bool]
    report: Callable[[Screening], None]
    first: Sequence[Key] = ()
    records: list[Record] = field(default_factory=list)
    failed: dict[Key, str] = field(default_factory=dict)
    tried: int = 0
    _compiling: dict[Key, list[Future[Built]]] = field(default_factory=dict)
    _known: set[Key] = field(default_factory=set)

    def run(self, earlier: Iterable[Record]) -> None:
        """Try candidates until there are enough."""
        self._take_earlier(earlier)
        self.report(self)
        for step in self.task.baseline.steps if self.task.baseline else ():
            self.batches.pool.submit(step)  # it is in every batch
        asked = self._ask()
        while not self.batches.runner.is_interrupted():
            self._compile_ahead(asked)
            ready = self._wait_for_ready()
            if not ready:
                return
            self._try(ready)
            self.report(self)

    def _take_earlier(self, earlier: Iterable[Record]) -> None:
        """Learn from the records of the run that is resumed; what it has timed is not timed again."""
        timed: dict[Key, Record] = {}
        for record in earlier:
            if record.phase == CHECK:
                self.checked.add(record)
            elif record.is_short_load and record.problem == self.task.problem and record.stopped != "interrupted":
                self.records.append(record)
                if self.task.owns(record):
                    timed.setdefault(find_key(record), record)
        for key, chain in self.task.chains.items():
            if key in timed:
                self._tell(key, timed[key])
            elif self.checked.find(chain):
                self._drop(key, self.checked.find(chain) or "")

    def _ask(self) -> Iterator[Key]:
        """The candidates to try, in order."""
        for key in self.first:
            if key in self.task.chains and key not in self._known:
                self.strategy.tell(dict(key), None)  # it is tried whatever the strategy says
                yield key
        while (configuration := self.strategy.ask()) is not None:
            if (key := make_key(configuration)) not in self._known:
                yield key

    def _compile_ahead(self, asked: Iterator[Key]) -> None:
        ahead = count_ahead(self.strategy)
        while len(self._compiling) < ahead and self.tried + len(self._compiling) < self.most:
            if self.is_over() and (self.tried or self._compiling):
                return
            key = next(asked, None)
            if key is None:
                return
            self._known.add(key)
            steps = self.task.list_first_steps(self.task.chains[key])
            self._compiling[key] = [self.batches.pool.submit(step) for step in steps]

    def _wait_for_ready(self) -> list[Key]:
        """Candidates that are compiled; empty if there are no more, or no time is left to wait for them."""
        while not self.batches.runner.is_interrupted():
            ready = [key for key, jobs in self._compiling.items() if all(job.done() for job in jobs)]
            enough = len(ready) >= min(_LEAST_TOGETHER, len(self._compiling))
            if enough or (self.is_over() and (ready or self.tried)):
                return [] if self.is_over() and self.tried else ready[:_MOST_TOGETHER]
            if self._check_leaders():
                continue
            self.batches.runner.progress("compile", len(ready), len(self._compiling))
            wait_for_any([job for jobs in self._compiling.values() for job in jobs if not job.done()], _PERIOD)
        return []

    def list_standings(self) -> list[Standing]:
        """The candidates that were timed and are right so far, the fastest first."""
        return [each for each in collect_standings(self.task, self.records) if each.key not in self.failed]

    def check_everywhere(self, keys: Sequence[Key]) -> list[Key]:
        """Verify candidates on all awkward problems that they were not verified on; returns those that are right."""
        self._check(self._list_checks(keys))
        for key in keys:
            if fault := self.checked.find(self.task.chains[key]):
                self.failed.setdefault(key, fault)
        return [key for key in keys if key not in self.failed]

    def _check_leaders(self) -> bool:
        """Verify the fastest candidates so far on one more awkward problem; False if there is none left."""
        left = self._list_checks([each.key for each in self.list_standings()[:FINALISTS]])
        self._check([check for check in left if check.problem == left[0].problem])
        return bool(left)

    def _list_checks(self, keys: Iterable[Key]) -> list[Chain]:
        """The chains to verify, at every awkward problem, of candidates that are right so far."""
        chains = [self.task.chains[key] for key in keys]
        right = [chain for chain in chains if not self.checked.find(chain)]
        return [check for chain in right for check in self.task.plan_checks(chain) if not self.checked.knows(check)]

    def _check(self, checks: Sequence[Chain]) -> None:
        for record in self.batches.check(checks) if checks else []:
            self.checked.add(record)
        for check in checks:
            if fault := self.checked.find(check):
                self.failed.setdefault(find_key(check), fault)

    def _try(self, keys: Sequence[Key]) -> None:
        """Check candidates on an awkward problem, and time those that are right."""
        for key in keys:
            del self._compiling[key]
        chains = {key: self.task.chains[key] for key in keys}
        unchecked = [chain for chain in chains.values() if self.checked.find(chain) is None]
        self._check([self.task.find_check(chain) for chain in unchecked])
        right = {key: chain for key, chain in chains.items() if self.checked.find(chain) == ""}
        for key, chain in chains.items():
            if fault := self.checked.find(chain):
                self._drop(key, fault)
        timed = self.batches.time(list(right.values()), self.task.baseline, FIRST_ROUNDS) if right else []
        self.records += timed
        for record in filter(self.task.owns, timed):
            self._tell(find_key(record), record)

    def _tell(self, key: Key, record: Record) -> None:
        if record.status != "ok" or not record.samples:
            self._drop(key, f"{record.status}: {record.reason.partition(chr(10))[0]}")
            return
        self._count(key)
        self.strategy.tell(dict(key), stats.time_interval(record.by_round).value)

    def _drop(self, key: Key, reason: str) -> None:
        self._count(key)
        self.failed[key] = reason
        self.strategy.tell(dict(key), None)

    def _count(self, key: Key) -> None:
        self._known.add(key)
        self.tried += 1
