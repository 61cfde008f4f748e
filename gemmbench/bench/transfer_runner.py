"""Transfers measured problem by problem, every row handed on at once."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gemmbench.backends.jobs import TransferBackend
from gemmbench.bench.record import TransferRecord
from gemmbench.bench.transfer_tasks import Task
from gemmbench.bench.transfers import ModeTrial, TransferBench
from gemmbench.bench.worker import SWEEP, Progress, silent
from gemmbench.errors import PlanError
from gemmbench.spec.panels import Cut
from gemmbench.spec.problem import Problem
from gemmbench.spec.sweep import Measuring

METHOD = 1  # goes up when the way a number is made changes


@dataclass
class TransferRunner:
    """Measures tasks on a device; `emit` takes each row as it is made, `done` holds keys that need not be repeated."""

    device: TransferBackend
    policy: Measuring
    how: Cut
    emit: Callable[[TransferRecord], None]
    progress: Progress = silent
    interrupted: Callable[[], bool] = lambda: False
    done: Collection[str] = ()

    def run(self, wanted: Sequence[Task]) -> None:
        """Emit the rows of every task, four modes each."""
        problems: dict[Problem, list[Task]] = {}
        for task in wanted:
            if self._key(task) not in self.done:
                problems.setdefault(task.whole.plan.problem, []).append(task)
        for number, (problem, group) in enumerate(problems.items()):
            self.progress(f"{SWEEP}transfers {problem}", number, len(problems))
            if not self.interrupted():
                self._problem(problem, [(task, self._trials(task)) for task in group])

    def _problem(self, problem: Problem, group: Sequence[tuple[Task, list[ModeTrial]]]) -> None:
        try:
            bench = TransferBench(self.device, problem, self.policy, self.progress, self.interrupted)
        except PlanError as fault:
            self._fail(group, fault)
            return
        try:
            bench.check([trial for _, trials in group for trial in trials])
            reference = bench.prepare()
            for task, trials in group:
                if not self.interrupted():
                    bench.measure(trials, reference)
                    self._emit_all(task, trials)
        finally:
            with suppress(PlanError):  # after a crashed kernel nothing can be freed
                bench.free()

    def _fail(self, group: Sequence[tuple[Task, list[ModeTrial]]], fault: PlanError) -> None:
        for task, trials in group:
            for trial in trials:
                trial.status, trial.reason = fault.status, str(fault)
            self._emit_all(task, trials)

    def _trials(self, task: Task) -> list[ModeTrial]:
        plan, whole, panels = task.whole.plan, (task.whole,), task.panels
        streams = min(self.how.streams, max(len(panels), 1))
        cuts = [
            ModeTrial(plan, mode="panels", pieces=panels),
            ModeTrial(plan, mode="overlapped", pieces=panels, streams=streams),
        ]
        for trial in cuts if task.why_not else ():
            trial.status, trial.reason = "skipped", task.why_not
        return [
            ModeTrial(plan, mode="pageable", pieces=whole, pinned=False),
            ModeTrial(plan, mode="pinned", pieces=whole),
            *cuts,
        ]

    def _emit_all(self, task: Task, trials: Sequence[ModeTrial]) -> None:
        """After an interruption, a trial without samples has no row."""
        for trial in trials:
            if trial.measurement.samples or not trial.alive:
                self.emit(self._record(task, trial))

    def _key(self, task: Task) -> str:
        """A hash of all that the rows of a task depend on but the machine."""
        made = [(piece.panel, piece.plan.geometry, piece.artifact.key) for piece in (task.whole, *task.panels)]
        plan = task.whole.plan
        parts = [METHOD, plan.problem, self.policy, self.how, plan.variant.name, plan.config, made, task.why_not]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def _record(self, task: Task, trial: ModeTrial) -> TransferRecord:
        plan, problem, measurement = trial.plan, trial.plan.problem, trial.measurement
        inputs = sum(problem.operand_bytes(name) for name in ("ABC" if problem.beta else "AB"))
        alone = trial.streams == 1
        error = trial.check.error if trial.check else math.inf
        return TransferRecord(
            variant=plan.variant.name,
            order=plan.variant.order,
            config=dict(plan.config.values),
            device=plan.device,
            precision=problem.precision_name,
            **{name: getattr(problem, name) for name in ("M", "N", "K", "layout", "alpha", "beta")},
            mode=trial.mode,
            status=trial.status,
            reason=trial.reason,
            key=self._key(task),
            panels=len(trial.pieces),
            panel_rows=trial.pieces[0].panel.rows if trial.pieces else 0,
            streams=trial.streams,
            copy_engines=self.device.copy_engines,
            h2d_bytes=inputs,
            b_bytes=problem.operand_bytes("B"),
            d2h_bytes=problem.operand_bytes("C"),
            checked=trial.check is not None,
            check_rule=trial.check.rule if trial.check else "",
            error=error if error < math.inf else None,
            samples=list(measurement.samples.values()),
            rounds=list(measurement.samples),
            h2d=[parts.h2d for parts in trial.measured] if alone else [],
            kernel=[parts.kernel for parts in trial.measured] if alone else [],
            d2h=[parts.d2h for parts in trial.measured] if alone else [],
            launches=measurement.launches if measurement.samples else 0,
            stopped=measurement.stopped if measurement.samples else "",
            data=self.policy.data,
            seed=self.policy.seed,
            gated=self.policy.gate and trial.pinned,
        )
