"""A search: short loads for what a strategy asks for, heats for the better ones, a final for the best.

The next configurations compile while the last ones run. What a strategy asks for is verified on one small, odd
problem, then gets one pair of rounds. Heats have more and more rounds, and after each only the better half goes on
(`halving`). The last eight are verified and measured as the rows of every run are, in the same rounds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice

from gemmbench.backends.base import Compiler
from gemmbench.bench.build import Built, compile_plans
from gemmbench.bench.experiments.batch import ChainBatch
from gemmbench.bench.experiments.context import ignore_progress
from gemmbench.bench.experiments.selection.splitting import LARGEST
from gemmbench.bench.record import CHECK, RANKING, Record
from gemmbench.bench.runner import Runner
from gemmbench.bench.search.halving import FINALISTS, choose_survivors, rank
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.planning.plans.chain import Chain, list_plans
from gemmbench.planning.plans.plan import Config, Plan
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.tuning.budget import Budget
from gemmbench.planning.tuning.space import Configuration
from gemmbench.planning.tuning.strategy import Strategy

_FIRST_ROUNDS, _HEAT_ROUNDS, _MOST_ROUNDS = 2, 10, 80


@dataclass(frozen=True)
class Candidate:
    """A configuration to search: its row, and the same on a small problem, if it fits one."""

    chain: Chain
    check: Chain | None

    @property
    def chains(self) -> list[Chain]:
        """Both."""
        return [self.chain, *([self.check] if self.check else [])]


@dataclass(frozen=True)
class ConfigurationSearch:
    """A search at one problem; `candidates` by their configurations. The `baseline` takes part in the final."""

    candidates: Mapping[Config, Candidate]
    strategy: Strategy
    policy: Policy
    baseline: Chain | None = None
    budget: Budget = field(default_factory=Budget)
    shuffle: int = 0


@dataclass
class SearchResult:
    """What a search found: seconds of what was timed, the rows of the final, and rows that are not right."""

    times: dict[Config, Interval] = field(default_factory=dict)
    finals: list[Record] = field(default_factory=list)
    failures: list[Record] = field(default_factory=list)

    @property
    def tried(self) -> int:
        """Configurations that were compiled and launched."""
        return len(self.times) + len(self.failures)


class SearchRun:
    """Runs a search on the worker of a runner."""

    def __init__(self, runner: Runner[Record], compilers: Mapping[str, Compiler], search: ConfigurationSearch):
        self._runner, self._compilers, self._search = runner, compilers, search
        self._result, self._batches = SearchResult(), 0
        self._built: dict[Plan, Built] = {}

    def run(self) -> SearchResult:
        """Try, halve, and measure the best; after an interruption what there is."""
        self._try_all()
        self._halve()
        self._measure_final()
        return self._result

    @property
    def _is_over(self) -> bool:
        return self._runner.is_interrupted()

    def _try_all(self) -> None:
        """Give what the strategy asks for one pair of rounds; the next ones compile meanwhile."""
        started, asked = time.monotonic(), 0

        def ask() -> list[Config]:
            nonlocal asked
            spent = time.monotonic() - started >= self._search.budget.seconds
            count = 0 if spent or self._is_over else min(LARGEST, self._search.budget.configurations - asked)
            group = list(islice(self._ask_strategy(), int(count)))
            asked += len(group)
            return group

        with _compile_ahead() as pool:
            group = ask()
            code = self._compile(pool, group)
            while group:
                following = ask()
                later = self._compile(pool, following)
                self._built |= code.result()
                self._try(group)
                group, code = following, later

    def _ask_strategy(self) -> Iterator[Config]:
        while (asked := self._search.strategy.ask()) is not None:
            yield make_config(asked)

    def _compile(self, pool: ThreadPoolExecutor, group: Sequence[Config]) -> Future[dict[Plan, Built]]:
        chains = [chain for config in group for chain in self._search.candidates[config].chains]
        if self._search.baseline and not self._built:
            chains.append(self._search.baseline)
        return pool.submit(compile_plans, list_plans(chains), self._compilers, ignore_progress)

    def _try(self, group: Sequence[Config]) -> None:
        candidates = [self._search.candidates[config] for config in group]
        checks = [candidate.check for candidate in candidates if candidate.check]
        wrong = {
            make_config(record.config): record
            for record in self._measure(checks, CHECK, self._search.policy)
            if _failed(record)
        }
        right = [candidate.chain for candidate in candidates if candidate.chain.config not in wrong]
        self._result.failures += wrong.values()
        self._time(right, _FIRST_ROUNDS)
        for config in group:
            found = self._result.times.get(config)
            self._search.strategy.tell(dict(config.values), found.value if found else None)
        self._report(f"{len(self._result.times)} tried")

    def _halve(self) -> None:
        """Measure the better ones for longer and longer, until eight are left or there is nothing to tell apart."""
        times, rounds = self._result.times, _HEAT_ROUNDS
        alive = choose_survivors(times)
        while len(alive) > FINALISTS and rounds <= _MOST_ROUNDS and not self._is_over:
            self._time([self._search.candidates[config].chain for config in alive], rounds)
            alive = choose_survivors({config: times[config] for config in alive if config in times})
            self._report(f"{len(alive)} left")
            rounds *= 2

    def _measure_final(self) -> None:
        times = self._result.times
        if self._is_over or not times:
            return
        chains = [self._search.candidates[config].chain for config in rank(times)[:FINALISTS]]
        baseline = self._search.baseline
        finals = [*chains, *([baseline] if baseline else [])]
        anchors = (baseline.name,) if baseline else ()
        self._result.finals = self._measure(finals, "final", self._search.policy, anchors)

    def _time(self, chains: Sequence[Chain], rounds: int) -> None:
        """Short loads; what fails has no time any more."""
        policy = replace(self._search.policy, rounds=rounds, until=0.0, sustained=0.0)
        for first in range(0, len(chains), LARGEST):
            for record in self._measure(chains[first : first + LARGEST], RANKING, policy):
                config = make_config(record.config)
                self._result.times.pop(config, None)
                if _failed(record):
                    self._result.failures.append(record)
                elif record.samples:
                    self._result.times[config] = stats.time_interval(record.by_round)

    def _measure(
        self, chains: Sequence[Chain], phase: str, policy: Policy, anchors: tuple[str, ...] = ()
    ) -> list[Record]:
        if not chains or self._is_over:
            return []
        self._batches += 1
        built = tuple(tuple(self._built[step] for step in chain.steps) for chain in chains)
        batch = ChainBatch(
            policy=policy,
            chains=tuple(chains),
            built=built,
            index=self._batches,
            phase=phase,
            anchors=anchors,
            shuffle=self._search.shuffle,
        )
        return self._runner.run([batch])

    def _report(self, stage: str) -> None:
        """Report the best so far."""
        times = self._result.times
        best = f", the best takes {min(each.value for each in times.values()) * 1e3:.4g} ms" if times else ""
        self._runner.progress(f"{stage}{best}", 0, 0)


def _failed(record: Record) -> bool:
    return record.status not in ("ok", "skipped")


def make_config(values: Configuration) -> Config:
    """The configuration of these values."""
    return Config(tuple(values.items()))


@contextmanager
def _compile_ahead() -> Iterator[ThreadPoolExecutor]:
    """One thread that hands plans to the compilers of all cores, one group after the other."""
    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
