"""The first rounds of a search. Every candidate is compiled, checked, timed briefly and compared with the best."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial

from gemmbench.bench.build import Built, CompilerPool, wait_for_any
from gemmbench.bench.estimate import fit_together
from gemmbench.bench.experiments.batch import ChainBatch
from gemmbench.bench.record import CHECK, RANKING, Record
from gemmbench.bench.runner import Runner
from gemmbench.bench.selection import split_chains
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Samples
from gemmbench.bench.tuning.tuning_task import Key, TuningTask, find_key, make_key
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.problems import Problem
from gemmbench.planning.search_space import Strategy
from gemmbench.planning.sweeps.policy import Policy

_Code = tuple[object, ...]
"""A variant in a configuration, with a layout and a precision."""


@dataclass
class CheckedCode:
    """Results on awkward problems. All searches of a command share them, because they are valid for all sizes.

    `faults` says why a configuration is wrong, or "" if it is right. `checked` holds the problems checked for each.
    """

    faults: dict[_Code, str] = field(default_factory=dict)
    checked: set[tuple[_Code, Problem]] = field(default_factory=set)

    def add(self, record: Record) -> None:
        """Add the record of a check."""
        code = _find_code(record)
        self.checked.add((code, record.problem))
        if record.status != "ok":
            reason = record.reason.partition(chr(10))[0]
            self.faults[code] = f"{record.status} at {record.problem.size}: {reason}"
        else:
            self.faults.setdefault(code, "")

    def find(self, chain: Chain) -> str | None:
        """Return why a candidate is wrong; "" if it is right, and None if it was not checked."""
        return self.faults.get(_find_code(chain))

    def knows(self, check: Chain) -> bool:
        """Return whether a chain was checked on its problem."""
        return (_find_code(check), check.problem) in self.checked


def _find_code(row: Chain | Record) -> _Code:
    name = row.variant if isinstance(row, Record) else row.name
    return (name, row.problem.layout, row.problem.precision_name, find_key(row))


FINALISTS = 8
SHARED_FINALISTS = 4
"""The number of finalists per problem for a variant with a `pick`, where many problems decide each row."""
_LEAST_DIFFERENCE = 0.01
"""The smallest slowdown relative to the best for which a candidate is dropped before the finals."""


@dataclass(frozen=True)
class Standing:
    """A candidate after short rounds, with the logarithm of its time relative to the baseline in every round."""

    key: Key
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The estimated logarithm."""
        return statistics.fmean(self.values)

    def slowdown(self, best: Standing) -> float:
        """Return this candidate's time divided by that of the best."""
        return math.exp(self.mean - best.mean)


def collect_standings(task: TuningTask, records: Iterable[Record]) -> list[Standing]:
    """Return the candidates of a search that were timed in short rounds, fastest first.

    If there is a baseline, rounds without it do not count.
    """
    baseline = task.baseline
    batches: dict[tuple[int, str], list[Record]] = {}
    for record in records:
        if record.is_short_load and record.problem == task.problem and record.status == "ok" and record.samples:
            batches.setdefault((record.batch, record.batch_key), []).append(record)
    values: dict[Key, list[float]] = {}
    for batch in batches.values():
        anchor = next((each for each in batch if baseline and _is_record_of(each, baseline.kernel_key)), None)
        if baseline and anchor is None:
            continue
        for record in filter(task.owns, batch):
            values.setdefault(find_key(record), []).extend(_find_values(record.by_round, anchor))
    standings = [Standing(key, tuple(found)) for key, found in values.items() if found]
    return sorted(standings, key=lambda each: each.mean)


def _is_record_of(record: Record, kernel_key: tuple[object, ...]) -> bool:
    """Return whether a record belongs to the chain with this key."""
    return record.kernel_key == kernel_key


def _find_values(samples: Samples, anchor: Record | None) -> list[float]:
    base: Mapping[stats.Round, float] = anchor.by_round if anchor else dict.fromkeys(samples, 1.0)
    return [math.log(seconds / base[round_]) for round_, seconds in samples.items() if round_ in base]


def make_slowness_test(standings: Sequence[Standing]) -> Callable[[Standing], bool]:
    """Return a function that tests whether a candidate is clearly slower than the best, which is the first standing.

    It is slower if the whole interval of the difference lies beyond _LEAST_DIFFERENCE. The interval uses Student's t
    with the pooled scatter and is as wide as intervals elsewhere. It starts from the candidate's fastest round, because
    disturbances can only make rounds slower.
    """
    best = standings[0]
    freedom = sum(len(each.values) - 1 for each in standings)
    squares = math.fsum((value - each.mean) ** 2 for each in standings for value in each.values)
    scatter = math.sqrt(squares / freedom) if freedom else math.inf
    quantile = stats.WIDENING * stats.t_quantile(max(freedom, 1))

    def is_clearly_slower(candidate: Standing) -> bool:
        reach = quantile * scatter * math.sqrt(1 / len(candidate.values) + 1 / len(best.values))
        return min(candidate.values) - best.mean - reach > math.log1p(_LEAST_DIFFERENCE)

    return is_clearly_slower


@dataclass
class CandidateBatches:
    """Runs candidates in batches through the runner. Each batch includes the baseline.

    Batches are numbered starting at `number`. Each has its own placement and permutations.
    """

    runner: Runner[Record]
    pool: CompilerPool
    policy: Policy
    shuffle: int
    number: int = 1

    def check(self, chains: Sequence[Chain]) -> list[Record]:
        """Verify chains without timing them."""
        return self._run(chains, None, replace(self.policy, sustained=0.0), CHECK)

    def time(self, chains: Sequence[Chain], baseline: Chain | None, rounds: int) -> list[Record]:
        """Time chains for this many rounds, in blocks of one mirrored pair, without verifying them."""
        return self._run(chains, baseline, replace(self.policy, rounds=rounds, until=0.0, sustained=0.0), RANKING)

    def measure(self, chains: Sequence[Chain], baseline: Chain | None, contest: bool = False) -> list[Record]:
        """Verify and measure chains with the full method. A `contest` ends once it is clear which one wins."""
        return self._run(chains, baseline, self.policy, "final", contest)

    def _run(
        self, chains: Sequence[Chain], baseline: Chain | None, policy: Policy, phase: str, contest: bool = False
    ) -> list[Record]:
        together = [*chains, *([baseline] if baseline else [])]
        name = baseline.name if baseline else ""
        groups = split_chains(together, name, partial(fit_together, self.runner.worker.devices))
        batches = [
            ChainBatch(
                policy=policy,
                chains=group,
                built=tuple(tuple(self.pool.submit(step).result() for step in chain.steps) for chain in group),
                index=self.number + number,
                phase=phase,
                anchors=(name,) if baseline else (),
                shuffle=self.shuffle,
                contest=contest,
            )
            for number, group in enumerate(groups)
        ]
        self.number += len(batches)
        return self.runner.run(batches)


FIRST_ROUNDS = 2
"""A round and its mirror image."""
_LEAST_TOGETHER, _MOST_TOGETHER, _AHEAD = 8, 15, 64
"""The fewest candidates in a batch (unless no more are being compiled), the most, and how many to compile ahead."""
_PERIOD = 0.1
"""Seconds between checks of the compilers."""


def count_ahead(strategy: Strategy) -> int:
    """Return how many candidates to compile before the first of them is timed."""
    return _MOST_TOGETHER if strategy.learns else max(_AHEAD, 4 * (os.cpu_count() or 1))


@dataclass
class Screening:
    """Tries the candidates that a strategy suggests: at most `most` of them, until `is_over`.

    `first` are tried before the strategy is asked. `failed` says why candidates are wrong. `records` holds everything
    measured in short rounds. `report` is called when the earlier records are known and after every batch. `began` is
    when the first candidate was compiled, which may take much longer than the others.
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
    began: float = math.inf
    _compiling: dict[Key, list[Future[Built]]] = field(default_factory=dict)
    _known: set[Key] = field(default_factory=set)

    def run(self, earlier: Iterable[Record]) -> None:
        """Try candidates until enough have been tried."""
        self._take_earlier(earlier)
        self.report(self)
        for step in self.task.baseline.steps if self.task.baseline else ():
            self.batches.pool.submit(step)  # the baseline is in every batch
        asked = self._ask()
        while not self.batches.runner.is_interrupted():
            self._compile_ahead(asked)
            ready = self._wait_for_ready()
            if not ready:
                break
            self._try(ready)
            self.report(self)
        # Compiling candidates that will not be tried would take cores from the finals.
        self.batches.pool.cancel(job for jobs in self._compiling.values() for job in jobs)

    def _take_earlier(self, earlier: Iterable[Record]) -> None:
        """Learn from the records of the resumed run. Candidates that it timed are not timed again."""
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
        """Yield the candidates to try, in order."""
        for key in self.first:
            if key in self.task.chains and key not in self._known:
                self.strategy.tell(dict(key), None)  # it is tried regardless of the strategy
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
        """Return compiled candidates, or none if there are no more or there is no time to wait for them."""
        while not self.batches.runner.is_interrupted():
            ready = [key for key, jobs in self._compiling.items() if all(job.done() for job in jobs)]
            self.began = min(self.began, time.monotonic()) if ready else self.began
            enough = len(ready) >= min(_LEAST_TOGETHER, len(self._compiling))
            if enough or (self.is_over() and (ready or self.tried)):
                return [] if self.is_over() and self.tried else ready[:_MOST_TOGETHER]
            if self._check_leaders():
                continue
            self.batches.runner.progress("compile", len(ready), len(self._compiling))
            wait_for_any([job for jobs in self._compiling.values() for job in jobs if not job.done()], _PERIOD)
        return []

    def list_standings(self) -> list[Standing]:
        """Return the candidates that were timed and are right so far, fastest first."""
        return [each for each in collect_standings(self.task, self.records) if each.key not in self.failed]

    def check_everywhere(self, keys: Sequence[Key]) -> list[Key]:
        """Verify candidates on all awkward problems that have not been checked. Returns those that are right."""
        self._check(self._list_checks(keys))
        for key in keys:
            if fault := self.checked.find(self.task.chains[key]):
                self.failed.setdefault(key, fault)
        return [key for key in keys if key not in self.failed]

    def _check_leaders(self) -> bool:
        """Verify the fastest candidates so far on another awkward problem. Returns False if none is left."""
        left = self._list_checks([each.key for each in self.list_standings()[:FINALISTS]])
        self._check([check for check in left if check.problem == left[0].problem])
        return bool(left)

    def _list_checks(self, keys: Iterable[Key]) -> list[Chain]:
        """Return the chains to verify at every awkward problem, for candidates that are right so far."""
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
        """Check candidates on an awkward problem and time those that are right."""
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
