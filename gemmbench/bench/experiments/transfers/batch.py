"""Batches of transfers: kernels of one problem whose whole jobs are measured."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from gemmbench.bench.experiments.batch import Batch, hash_parts
from gemmbench.bench.experiments.transfers.tasks import TransferTask
from gemmbench.bench.record import TransferRecord
from gemmbench.planning.problems import PanelCut, Problem
from gemmbench.planning.sweeps.policy import Policy


@dataclass(frozen=True, kw_only=True)
class TransferBatch(Batch[TransferRecord]):
    """Jobs of kernels of one problem; row 4 n + m is task n in mode number m of MODES."""

    device: str
    tasks: tuple[TransferTask, ...]
    cut: PanelCut

    @property
    def problem(self) -> Problem:
        """The problem of all tasks."""
        return self.tasks[0].whole.plan.problem

    @property
    def title(self) -> str:
        """As Batch."""
        return f"transfers {self.problem}"

    @property
    def keys(self) -> tuple[str, ...]:
        """As Batch: one for each task."""
        return tuple(map(self.key, self.tasks))

    def without(self, done: Collection[str]) -> TransferBatch | None:
        """As Batch."""
        left = tuple(task for task in self.tasks if self.key(task) not in done)
        return replace(self, tasks=left) if left else None

    def key(self, task: TransferTask) -> str:
        """A hash of all that the rows of a task depend on, except the machine."""
        code = [(piece.panel, piece.plan.launches, piece.artifact.key) for piece in (task.whole, *task.panels)]
        plan = task.whole.plan
        return hash_parts(self.policy, plan.problem, self.cut, plan.variant.name, plan.config, code, task.why_not)


def split_tasks(tasks: Collection[TransferTask], device: str, policy: Policy, cut: PanelCut) -> list[TransferBatch]:
    """One batch for each problem."""
    problems: dict[Problem, list[TransferTask]] = {}
    for task in tasks:
        problems.setdefault(task.whole.plan.problem, []).append(task)
    return [TransferBatch(policy=policy, device=device, tasks=tuple(same), cut=cut) for same in problems.values()]
