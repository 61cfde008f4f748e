"""Measures a plan against itself in the same rounds. Any difference is noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gemmbench.bench.build import Built
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.record import Record
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import MARGIN, Interval, Samples
from gemmbench.bench.workers.messages import Worker
from gemmbench.errors import LaunchError
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.policy import Policy

_ONE_SIDED = 1.645 / 1.96  # one-sided 95 %, in half-widths of a 95 % interval
_SIGMA = 1.4826  # the standard deviation of a normal distribution, in median absolute deviations


@dataclass(frozen=True)
class Noise:
    """The comparison of a plan with itself. `time` is in seconds per launch, and `ratio` should be 1.

    `scatter` is the relative standard deviation of one mirrored pair, estimated from the median absolute deviation.
    """

    record: Record
    time: Interval
    ratio: Interval
    scatter: float

    @property
    def floor(self) -> float:
        """Half the width of the ratio's 95 % interval. 0.001 means +- 0.1 %."""
        return self.ratio.spread

    @property
    def least(self) -> float:
        """The smallest difference in speed that gets a verdict in 95 of 100 such comparisons.

        For a verdict, the whole interval must lie beyond the margin of 1 %, and its centre also varies.
        """
        return MARGIN + self.floor * (1 + _ONE_SIDED)

    @property
    def verdict(self) -> str:
        """The verdict of `gemmbench compare` on the pair, which should be `same`."""
        return stats.verdict(self.ratio)


def compare_with_itself(worker: Worker, plan: Plan, built: Built, policy: Policy) -> Noise:
    """Measure a plan twice in the same rounds. Raises LaunchError if there is no interval."""
    records = worker.experiment(make_gemm_batch((plan, plan), (built, built), policy))
    for record in records:
        if record.status != "ok":
            raise LaunchError(f"{record.variant} at {record.problem.size}: {record.status}: {record.reason}")
    if len(records) < 2 or len(set(records[0].blocks)) < stats.MIN_BLOCKS:
        raise LaunchError(f"{plan.variant.name} at {plan.problem.size}: too few rounds in {policy.max_time:g} s")
    one, other = records
    ratio = stats.speed_ratio(other.by_round, one.by_round)
    return Noise(one, stats.time_interval(one.by_round), ratio, _estimate_scatter(other.by_round, one.by_round))


def _estimate_scatter(samples: Samples, base: Samples) -> float:
    logs = np.array([math.log(base[turn] / samples[turn]) for turn in sorted(samples) if turn in base])
    pairs = logs[: len(logs) // 2 * 2].reshape(-1, 2).mean(axis=1)
    return float(_SIGMA * np.median(np.abs(pairs - np.median(pairs))))
