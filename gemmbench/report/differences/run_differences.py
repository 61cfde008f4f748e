"""Two runs, row by row: how much faster or slower each row is than in the reference run.

The runs shared no rounds, so their samples cannot be paired. Times of one kernel differ by up to
10 % between runs of the same code (clock, temperature, placement in memory); its ratio to a library
that was measured in the same rounds differs by at most 0.5 % where both take over 100 us
(`benchmarks/trust.py repeat`). Short kernels keep a time of their own for as long as a process
lives: in 5 processes on each of four H200s, the ratios at 512 and 1024 deviated by 0.05 to 0.12 %
more than their intervals explain (one standard deviation), and from 2048 on by nothing that could be
seen. The intervals of `speed_by_baseline` cover that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.planning.problems import Problem
from gemmbench.report.comparison import Comparison
from gemmbench.report.row import UNKNOWN, UNRANKED, Row

PROCESS_DEVIATION = 0.001
"""The standard deviation of the ratio of the same code to a library between processes, beyond its interval."""
RUN_TO_RUN = 0.005
"""How much the ratio of the same code to a library differs between runs at most, where both take over 100 us."""


@dataclass(frozen=True)
class Difference:
    """One row of the reference run, and the same row measured again; `margin` is the share that does not matter."""

    reference: Row
    row: Row
    margin: float = stats.MARGIN

    @property
    def timed(self) -> bool:
        """Both results are right, of the same class, and have a time."""
        return self.reference.is_comparable_with(self.row)

    @property
    def unranked(self) -> bool:
        """Both results are of a class that is not compared with the baseline."""
        return self.reference.status == self.row.status == UNRANKED

    @property
    def baselines(self) -> set[str]:
        """The baselines of the two runs."""
        return {self.reference.environment.baseline, self.row.environment.baseline}

    @property
    def is_baseline(self) -> bool:
        """The row is the baseline of a run, so it has no ratio to it."""
        return self.row.record.variant in self.baselines

    @cached_property
    def speed(self) -> Interval:
        """The speed relative to the reference run: 1.05 is 5 % faster. NaN if a time is missing."""
        if not self.timed:
            return UNKNOWN
        return stats.unpaired_ratio(self.reference.time, self.row.time)

    @cached_property
    def speed_by_baseline(self) -> Interval:
        """The same from each run's ratio to its baseline: more reliable than `speed`.

        Its interval also covers what differs between two processes. NaN for the baseline itself, and if the
        runs have different baselines or a ratio is missing.
        """
        if not self.timed or len(self.baselines) > 1 or self.is_baseline:
            return UNKNOWN
        ratios = self.row.percent_of_baseline, self.reference.percent_of_baseline
        if any(math.isnan(ratio.value) for ratio in ratios):
            return UNKNOWN
        return stats.unpaired_ratio(*ratios, PROCESS_DEVIATION)

    @property
    def judged_speed(self) -> Interval:
        """`speed_by_baseline` for a verdict: its interval also covers what differs from machine to machine."""
        speed = self.speed_by_baseline
        return Interval(speed.value, speed.low * (1 - RUN_TO_RUN), speed.high * (1 + RUN_TO_RUN))

    @property
    def verdict(self) -> str:
        """Whether the run is faster, slower or the same, or that this is inconclusive.

        Empty for the baseline, and for rows that are not compared with it.
        """
        return "" if self.is_baseline or self.unranked else stats.verdict(self.judged_speed, self.margin)


@dataclass(frozen=True)
class RunDifferences:
    """Two runs: the rows that both have, in the order of `run`, and those that only one has."""

    reference: Comparison
    run: Comparison
    rows: list[Difference]
    only_in_reference: list[Row]
    only_in_run: list[Row]
    margin: float = stats.MARGIN

    @property
    def same_baseline(self) -> bool:
        """Both runs measured the same baseline."""
        return self.reference.environment.baseline == self.run.environment.baseline

    @property
    def by_problem(self) -> dict[Problem, list[Difference]]:
        """The rows that both have, by problem."""
        problems: dict[Problem, list[Difference]] = {}
        for difference in self.rows:
            problems.setdefault(difference.row.record.problem, []).append(difference)
        return problems


def compare_runs(reference: Comparison, run: Comparison, margin: float = stats.MARGIN) -> RunDifferences:
    """Match the rows of two runs by problem, variant, configuration and phase.

    A difference within 1 +- `margin` does not matter for their verdicts.
    """
    before, after = _index_rows(reference), _index_rows(run)
    common = [Difference(before[identity], row, margin) for identity, row in after.items() if identity in before]
    return RunDifferences(
        reference,
        run,
        common,
        [row for identity, row in before.items() if identity not in after],
        [row for identity, row in after.items() if identity not in before],
        margin,
    )


def _index_rows(comparison: Comparison) -> Mapping[tuple[object, ...], Row]:
    """The rows that ran, by what makes two of them the same."""
    return {row.record.identity: row for row in comparison.rows if row.record.status != "skipped"}
