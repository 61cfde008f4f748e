"""Transfers measured problem by problem, every row handed on as its problem is done."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from gemmbench.bench.experiments.context import SWEEP, Progress, silent
from gemmbench.bench.experiments.transfers.batch import TransferBatch
from gemmbench.bench.experiments.transfers.tasks import Task
from gemmbench.bench.record import TransferRecord
from gemmbench.bench.runner import Laboratory
from gemmbench.planning.problems.panels import Cut
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.sweeps.policy import Policy


@dataclass
class TransferRunner:
    """Runs tasks through a laboratory; `emit` takes each row, `done` holds keys that need not be repeated."""

    laboratory: Laboratory
    device: str
    policy: Policy
    how: Cut
    emit: Callable[[TransferRecord], None]
    progress: Progress = silent
    interrupted: Callable[[], bool] = lambda: False
    done: Collection[str] = ()

    def run(self, wanted: Sequence[Task]) -> None:
        """Emit the rows of every task, four modes each."""
        problems: dict[Problem, list[Task]] = {}
        for task in wanted:
            problems.setdefault(task.whole.plan.problem, []).append(task)
        for number, (problem, group) in enumerate(problems.items()):
            batch = TransferBatch(self.device, problem, tuple(group), self.policy, self.how)
            batch = replace(batch, tasks=tuple(task for task in group if batch.key(task) not in self.done))
            self.progress(f"{SWEEP}transfers {problem}", number, len(problems))
            if batch.tasks and not self.interrupted():
                for record in self.laboratory.experiment(batch):
                    self.emit(record)
