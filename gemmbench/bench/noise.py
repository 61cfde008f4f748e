"""A against A: the same plan twice in the same rounds, so that all that differs is noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gemmbench.bench.build import Built
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.record import Record
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import MARGIN, Interval
from gemmbench.bench.worker.worker import Worker
from gemmbench.errors import LaunchError
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.policy import Policy

_FOUND = 1.645 / 1.96  # one-sided 95 %, in half-widths of a 95 % interval
_SIGMAS = 1.4826  # of a normal distribution, in median absolute deviations


@dataclass(frozen=True)
class Noise:
    """One plan against itself: `time` in seconds a launch, `ratio` of the two speeds, which should be 1.

    `scatter` is the standard deviation of one mirrored pair, as a share, estimated by the median absolute deviation.
    """

    record: Record
    time: Interval
    ratio: Interval
    scatter: float

    @property
    def floor(self) -> float:
        """Half the width of the 95 % interval of the ratio: 0.001 is +- 0.1 %."""
        return self.ratio.spread

    @property
    def least(self) -> float:
        """The least difference in speed that ends in a verdict in 95 of 100 comparisons of so many rounds.

        The whole interval must lie beyond the margin of 1 %, and its middle itself varies.
        """
        return MARGIN + self.floor * (1 + _FOUND)

    @property
    def verdict(self) -> str:
        """What `gemmbench compare` would say of the two: `same`, if all is well."""
        return stats.verdict(self.ratio)


def against_itself(worker: Worker, plan: Plan, built: Built, policy: Policy) -> Noise:
    """Measure a plan twice in the same rounds, all of them. Raises LaunchError where it fails or has no interval."""
    records = worker.experiment(make_gemm_batch((plan, plan), (built, built), policy))
    for record in records:
        if record.status != "ok":
            raise LaunchError(f"{record.variant} at {record.problem.size}: {record.status}: {record.reason}")
    if len(records) < 2 or len(records[0].samples) < 2 * stats.LEAST_PAIRS:
        raise LaunchError(f"{plan.variant.name} at {plan.problem.size}: too few rounds in {policy.max_time:g} s")
    one, other = records
    ratio = stats.speed_ratio(other.by_round, one.by_round)
    return Noise(one, stats.summarize(one.by_round), ratio, _scatter(other.by_round, one.by_round))


def _scatter(samples: Mapping[int, float], base: Mapping[int, float]) -> float:
    logs = np.array([math.log(base[round_] / samples[round_]) for round_ in sorted(samples) if round_ in base])
    pairs = logs[: len(logs) // 2 * 2].reshape(-1, 2).mean(axis=1)
    return float(_SIGMAS * np.median(np.abs(pairs - np.median(pairs))))
