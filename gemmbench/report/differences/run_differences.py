"""Compares two runs row by row: how much faster or slower each row is, and how their machines differ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from gemmbench.bench.record import Environment
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.planning.problems import Problem
from gemmbench.report.comparison import Comparison
from gemmbench.report.repeatability import RUN_TO_RUN, compare_ratios, widen
from gemmbench.report.row import UNKNOWN, UNRANKED, Row

_UUID_DIGITS = len("GPU-") + 8


def explain_cards(reference: Environment, run: Environment) -> list[str]:
    """Say in one sentence whether both runs used the same GPU; an empty list for runs on a CPU."""
    if not (reference.gpu and run.gpu):
        return []
    if reference.device != run.device:
        return ["They ran on different cards."]
    if not (reference.uuid and run.uuid):
        silent = [name for name, each in (("the reference", reference), ("the run", run)) if not each.uuid]
        do = "does" if len(silent) == 1 else "do"
        return [f"Whether both ran on the same card is unknown, because {' and '.join(silent)} {do} not record it."]
    if reference.uuid == run.uuid:
        return [f"Both ran on the same card, {_shorten_uuid(run.uuid)}."]
    cards = f"{_shorten_uuid(reference.uuid)} and {_shorten_uuid(run.uuid)}"
    return [f"They ran on different cards of the same model, {cards}. Cards differ too, so compare only the ratios."]


def list_changes(reference: Environment, run: Environment) -> list[str]:
    """List what changed between two machines, such as `driver 570.1 -> 580.2`. Only facts that both recorded count."""
    before, now = _list_facts(reference), _list_facts(run)
    return [f"{name} {before[name]} -> {now[name]}" for name in before if now.get(name, before[name]) != before[name]]


def explain_other_machine(there: Environment, here: Environment) -> str:
    """Explain how an earlier run's machine differs from this one; "" if rows of both may share a file."""
    if there.device != here.device:
        return f"on {there.device}, this is {here.device}"
    if there.uuid != here.uuid:
        before, now = there.uuid or "a card without a name", here.uuid or "a card without a UUID"
        return f"on another card, {before}; this is {now}"
    changes = list_changes(there, here)
    return f"on the same card in another state ({', '.join(changes)})" if changes else ""


def _shorten_uuid(uuid: str) -> str:
    """Return the first eight digits of a UUID, which distinguish the cards of a laboratory."""
    return uuid[:_UUID_DIGITS]


def _list_facts(environment: Environment) -> Mapping[str, str]:
    """Return the recorded state of a machine."""
    limit = environment.conditions.power_limit if environment.conditions else None
    facts = {"VBIOS": environment.vbios, "power limit": "" if limit is None else f"{limit:.0f} W"}
    return {name: value for name, value in {**facts, **environment.software}.items() if value}


@dataclass(frozen=True)
class Difference:
    """A row of the reference run and the same row measured again. Differences up to the share `margin` are ignored."""

    reference: Row
    row: Row
    margin: float = stats.MARGIN

    @property
    def timed(self) -> bool:
        """Whether both results are correct, in the same class, and timed."""
        return self.reference.is_comparable_with(self.row)

    @property
    def unranked(self) -> bool:
        """Whether both rows are unranked, so that neither is compared with the baseline."""
        return self.reference.status == self.row.status == UNRANKED

    @property
    def baselines(self) -> set[str]:
        """The baselines of the two runs."""
        return {self.reference.environment.baseline, self.row.environment.baseline}

    @property
    def is_baseline(self) -> bool:
        """Whether the row is the baseline of a run, which has no ratio to itself."""
        return self.row.record.variant in self.baselines

    @cached_property
    def speed(self) -> Interval:
        """The speed relative to the reference run, where 1.05 means 5 % faster; NaN if a time is missing."""
        if not self.timed:
            return UNKNOWN
        return stats.unpaired_ratio(self.reference.time, self.row.time)

    @cached_property
    def speed_by_baseline(self) -> Interval:
        """The speed relative to the reference run, computed from the ratios to the baseline in both runs.

        It is more reliable than `speed`. The interval also covers the differences between two processes. NaN for the
        baseline itself, or if the runs have different baselines or a ratio is missing.
        """
        if not self.timed or len(self.baselines) > 1 or self.is_baseline:
            return UNKNOWN
        ratios = self.row.percent_of_baseline, self.reference.percent_of_baseline
        if any(math.isnan(ratio.value) for ratio in ratios):
            return UNKNOWN
        return compare_ratios(*ratios, min(self.row.shortest_time, self.reference.shortest_time))

    @property
    def judged_speed(self) -> Interval:
        """`speed_by_baseline` for a verdict. Its interval also covers the differences between machines."""
        return widen(self.speed_by_baseline, RUN_TO_RUN)

    @property
    def verdict(self) -> str:
        """Whether the run is faster, slower, the same, or inconclusive.

        The verdict is empty for the baseline and for rows that are not compared with it.
        """
        return "" if self.is_baseline or self.unranked else stats.verdict(self.judged_speed, self.margin)


@dataclass(frozen=True)
class RunDifferences:
    """Two runs: the rows that both have, in the order of `run`, and the rows that only one has."""

    reference: Comparison
    run: Comparison
    rows: list[Difference]
    only_in_reference: list[Row]
    only_in_run: list[Row]
    margin: float = stats.MARGIN

    @property
    def same_baseline(self) -> bool:
        """Whether both runs measured the same baseline."""
        return self.reference.environment.baseline == self.run.environment.baseline

    @property
    def by_problem(self) -> dict[Problem, list[Difference]]:
        """The rows that both runs have, grouped by problem."""
        problems: dict[Problem, list[Difference]] = {}
        for difference in self.rows:
            problems.setdefault(difference.row.record.problem, []).append(difference)
        return problems


def compare_runs(reference: Comparison, run: Comparison, margin: float = stats.MARGIN) -> RunDifferences:
    """Match the rows of two runs by problem, variant, configuration and phase.

    The verdicts ignore differences within 1 +- `margin`.
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
    """Index the rows that ran by what identifies them in both runs."""
    return {row.record.identity: row for row in comparison.rows if row.record.status != "skipped"}
