"""How candidates compare after short rounds, and which of them are clearly slower than the best.

A candidate is compared with the baseline of its own batch, in the rounds that both shared, so that
candidates of different batches can be compared with each other: the drift between batches cancels. A
round gives one value, the logarithm of that ratio. A short measurement has too few rounds to know its own
scatter, so all candidates of a search share one estimate of it, pooled over their rounds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gemmbench.bench.record import Record
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Samples
from gemmbench.bench.tuning.task import Key, TuningTask, find_key

FINALISTS = 8
SHARED_FINALISTS = 4
"""Of all kernels that a variant picks from, at one problem: a row of its `pick` goes by many problems."""
LEAST_DIFFERENCE = 0.01
"""How much slower than the best a candidate is at least if it is to be dropped before the finals."""


@dataclass(frozen=True)
class Standing:
    """A candidate after short rounds: the logarithm of its time, relative to the baseline, in every round."""

    key: Key
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The estimate of the logarithm."""
        return statistics.fmean(self.values)

    def slowdown(self, best: Standing) -> float:
        """How many times as long as the best it takes."""
        return math.exp(self.mean - best.mean)


def collect_standings(task: TuningTask, records: Iterable[Record]) -> list[Standing]:
    """The candidates of a search that were timed in short rounds, the fastest first.

    Rounds without the baseline do not count if there is one.
    """
    baseline = task.baseline
    batches: dict[tuple[int, str], list[Record]] = {}
    for record in records:
        if record.is_short_load and record.problem == task.problem and record.status == "ok" and record.samples:
            batches.setdefault((record.batch, record.batch_key), []).append(record)
    values: dict[Key, list[float]] = {}
    for batch in batches.values():
        anchor = next((each for each in batch if baseline and is_record_of(each, baseline.kernel_key)), None)
        if baseline and anchor is None:
            continue
        for record in filter(task.owns, batch):
            values.setdefault(find_key(record), []).extend(_find_values(record.by_round, anchor))
    standings = [Standing(key, tuple(found)) for key, found in values.items() if found]
    return sorted(standings, key=lambda each: each.mean)


def is_record_of(record: Record, kernel_key: tuple[object, ...]) -> bool:
    """Whether a record is that of the chain with this key."""
    return record.kernel_key == kernel_key


def _find_values(samples: Samples, anchor: Record | None) -> list[float]:
    base: Mapping[stats.Round, float] = anchor.by_round if anchor else dict.fromkeys(samples, 1.0)
    return [math.log(seconds / base[round_]) for round_, seconds in samples.items() if round_ in base]


def make_slowness_test(standings: Sequence[Standing]) -> Callable[[Standing], bool]:
    """A test whether a candidate is clearly slower than the first of the standings, which is the best.

    That is if the whole interval of the difference lies beyond LEAST_DIFFERENCE. The interval is that of
    Student's t with the pooled scatter, as wide as intervals elsewhere. It begins at the fastest round of the
    candidate: what disturbs a round makes it slower.
    """
    best = standings[0]
    freedom = sum(len(each.values) - 1 for each in standings)
    squares = math.fsum((value - each.mean) ** 2 for each in standings for value in each.values)
    scatter = math.sqrt(squares / freedom) if freedom else math.inf
    quantile = stats.WIDENING * stats.t_quantile(max(freedom, 1))

    def is_clearly_slower(candidate: Standing) -> bool:
        reach = quantile * scatter * math.sqrt(1 / len(candidate.values) + 1 / len(best.values))
        return min(candidate.values) - best.mean - reach > math.log1p(LEAST_DIFFERENCE)

    return is_clearly_slower
