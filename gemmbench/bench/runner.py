"""The runner: compiles ahead, runs batches in order, hands every record on at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any, Protocol

from gemmbench.backends.base import Artifact, Compiler
from gemmbench.bench.experiments.batch import Batch, Built, split, winners
from gemmbench.bench.experiments.context import SWEEP, Progress, silent
from gemmbench.bench.experiments.gemms import skip_record
from gemmbench.bench.record import Record
from gemmbench.bench.timing import stats
from gemmbench.errors import PlanError, UsageError
from gemmbench.planning.plans.plan import Plan, Skip
from gemmbench.planning.sweeps.policy import Policy

Done = Mapping[str, Sequence[Record]]
"""Complete batches of an earlier run, by batch key."""


class Laboratory(Protocol):
    """The worker's side of the cut."""

    def experiment(self, batch: Any) -> list[Any]:
        """Verify and measure every plan of a batch of any kind; one record a plan."""


@dataclass
class Runner:
    """Runs plans through a laboratory.

    `compilers` maps a device to its compiler; `emit` takes each record as it is made;
    `done` holds batches that need not be measured again, `earlier` all rows of the run that is resumed;
    `rivals` are variants that are compared with each other, not with the baseline alone.
    """

    compilers: Mapping[str, Compiler]
    laboratory: Laboratory
    policy: Policy
    baseline: str
    emit: Callable[[Record], None]
    progress: Progress = silent
    interrupted: Callable[[], bool] = lambda: False
    done: Done = field(default_factory=dict)
    earlier: Sequence[Record] = ()
    rivals: tuple[str, ...] = ()
    _batches: int = 0

    def run(self, expanded: Iterable[Plan | Skip]) -> list[Record]:
        """Emit and return one record a plan or skip, then the finals of what was swept.

        Raises UsageError if a plan's code is not the one that its earlier rows were measured with.
        """
        everything = list(expanded)
        records = [skip_record(item) for item in everything if isinstance(item, Skip)]
        for record in records:
            self.emit(record)
        plans = [item for item in everything if isinstance(item, Plan)]
        built = build_all(plans, self.compilers, self.progress)
        _refuse_other_code(built, self.earlier)
        records += self._measure_all(split(plans, self.baseline), built, "sweep")
        finalists = self._finalists(plans, records)
        return records + self._measure_all(split(finalists, self.baseline), built, "final")

    def _measure_all(self, groups: Sequence[tuple[Plan, ...]], built: Mapping[Plan, Built], phase: str) -> list[Record]:
        found: list[Record] = []
        for number, group in enumerate(groups):
            self.progress(f"{SWEEP}{group[0].problem}", number, len(groups))
            found += self._measure(group, built, phase)
        return found

    def _measure(self, group: tuple[Plan, ...], built: Mapping[Plan, Built], phase: str) -> list[Record]:
        if self.interrupted():
            return []
        self._batches += 1
        code = tuple(built[plan] for plan in group)
        references = tuple(dict.fromkeys((self.baseline, *self.rivals)))
        batch = Batch(self._batches, group[0].problem, group, code, self.policy, phase, references)
        if self.done and batch.key in self.done:
            return list(self.done[batch.key])
        found = self.laboratory.experiment(batch)
        for record in found:
            self.emit(record)
        return found

    def _finalists(self, plans: Sequence[Plan], records: Sequence[Record]) -> list[Plan]:
        """The best configuration of every variant that was swept, and the baseline.

        The fastest of many is partly the luckiest, so it is measured again on fresh rounds.
        """
        medians = {record_key(record): stats.summarize(record.by_round).value for record in records if _ranked(record)}
        named = [((plan.problem, plan.variant.name), plan) for plan in plans]
        best = winners(named, lambda plan: medians.get(plan_key(plan)))
        problems = {plan.problem for plan in best}
        anchors = [plan for plan in plans if plan.variant.name == self.baseline and plan.problem in problems]
        return list(dict.fromkeys([*best, *(plan for plan in anchors if not _same_variant(plan, best))]))


def _refuse_other_code(built: Mapping[Plan, Built], earlier: Sequence[Record]) -> None:
    measured = {record_key(record): record.artifact for record in earlier if record.artifact}
    for plan, code in built.items():
        before = measured.get(plan_key(plan))
        if before and (not isinstance(code, Artifact) or code.key != before):
            raise other_code(f"{plan.variant.name} at {plan.problem.size}")


def other_code(what: str) -> UsageError:
    """A run is resumed whose rows are of other code than there is now."""
    why = "its text, its compiler or its library has changed since"
    return UsageError(f"{what} was measured with other code: {why}; start a new run without --resume")


def _same_variant(plan: Plan, others: Iterable[Plan]) -> bool:
    return any(plan.variant.name == other.variant.name and plan.problem == other.problem for other in others)


def _ranked(record: Record) -> bool:
    return record.status == "ok" and bool(record.samples) and record.phase == "sweep"


def record_key(record: Record) -> tuple[object, ...]:
    """What a record shares with its plan: `plan_key` of that plan."""
    return (record.problem, record.variant, *record.config.items())


def plan_key(plan: Plan) -> tuple[object, ...]:
    """Problem, variant and configuration."""
    return (plan.problem, plan.variant.name, *plan.config.values)


def build_all(plans: Sequence[Plan], compilers: Mapping[str, Compiler], progress: Progress) -> dict[Plan, Built]:
    """Compile every plan on all cores; what does not compile maps to the fault. Raises DeviceError."""
    distinct: dict[tuple[object, ...], list[Plan]] = {}
    for plan in plans:
        kernels = plan.variant.name, plan.variant.path, plan.symbols
        distinct.setdefault((*kernels, plan.device, plan.arch, plan.defines), []).append(plan)
    built: dict[Plan, Built] = {}
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        jobs = {pool.submit(_build, compilers[group[0].device], group[0]): group for group in distinct.values()}
        for number, job in enumerate(as_completed(jobs)):
            progress("compile", number + 1, len(jobs))
            for plan in jobs[job]:
                built[plan] = job.result()
    return built


def _build(compiler: Compiler, plan: Plan) -> Built:
    try:
        return compiler.compile(plan)
    except PlanError as fault:
        return fault
