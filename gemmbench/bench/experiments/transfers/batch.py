"""The experiment on transfers: the tasks of one problem, every mode checked, the modes of a kernel timed together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from gemmbench.backends.jobs import TransferBackend
from gemmbench.bench.experiments.blame import Blamable
from gemmbench.bench.experiments.context import Station
from gemmbench.bench.experiments.gemms import identity
from gemmbench.bench.experiments.transfers.modes import ModeTrial, TransferBench
from gemmbench.bench.experiments.transfers.tasks import Task
from gemmbench.bench.experiments.trial import result
from gemmbench.bench.record import MODES, TransferRecord
from gemmbench.errors import DeviceLost, PlanError
from gemmbench.planning.problems.panels import Cut
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.sweeps.policy import Policy

METHOD = 3  # goes up when the way a number is made changes


@dataclass(frozen=True)
class TransferBatch(Blamable):
    """Kernels of one problem whose jobs are measured; plan 4 n + m of it is task n in mode number m of MODES."""

    device: str
    problem: Problem
    tasks: tuple[Task, ...]
    policy: Policy
    how: Cut

    def key(self, task: Task) -> str:
        """A hash of all that the rows of a task depend on but the machine."""
        made = [(piece.panel, piece.plan.geometry, piece.artifact.key) for piece in (task.whole, *task.panels)]
        plan = task.whole.plan
        parts = [METHOD, plan.problem, self.policy, self.how, plan.variant.name, plan.config, made, task.why_not]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def experiment(station: Station, batch: TransferBatch) -> list[TransferRecord]:
    """Check and measure every task; four records each. After an interruption, a mode without samples has none.

    Raises DeviceLost.
    """
    device = cast("TransferBackend", station.backends[batch.device])
    group = [(task, _trials(batch, number)) for number, task in enumerate(batch.tasks)]
    try:
        _measure(TransferBench(station, device, batch.problem, batch.policy), group)
    except DeviceLost:
        raise
    except PlanError as fault:
        for trial in (trial for _, trials in group for trial in trials if trial.alive):
            trial.fail(fault)
    return [
        _record(batch, device, task, trial)
        for task, trials in group
        for trial in trials
        if trial.measurement.samples or not trial.alive
    ]


def _measure(bench: TransferBench, group: Sequence[tuple[Task, list[ModeTrial]]]) -> None:
    try:
        bench.check([trial for _, trials in group for trial in trials])
        reference = bench.prepare()
        for _, trials in group:
            if not bench.station.interrupted():
                bench.measure(trials, reference)
    finally:
        with suppress(PlanError):  # after a crashed kernel nothing can be freed
            bench.free()


def _trials(batch: TransferBatch, number: int) -> list[ModeTrial]:
    task = batch.tasks[number]
    plan, whole, panels = task.whole.plan, (task.whole,), task.panels
    streams = min(batch.how.streams, max(len(panels), 1))
    trials = [
        ModeTrial(plan, mode="pageable", pieces=whole, pinned=False),
        ModeTrial(plan, mode="pinned", pieces=whole),
        ModeTrial(plan, mode="panels", pieces=panels),
        ModeTrial(plan, mode="overlapped", pieces=panels, streams=streams),
    ]
    for trial in trials[2:] if task.why_not else ():
        trial.status, trial.reason = "skipped", task.why_not
    for mode, trial in enumerate(trials):
        trial.number = len(MODES) * number + mode
        if fault := batch.fault(trial.number):
            trial.fail(fault)
    return trials


def _record(batch: TransferBatch, device: TransferBackend, task: Task, trial: ModeTrial) -> TransferRecord:
    problem, policy = trial.plan.problem, batch.policy
    inputs = sum(problem.operand_bytes(name) for name in ("ABC" if problem.beta else "AB"))
    alone = trial.streams == 1
    return TransferRecord(
        **identity(trial.plan),
        **result(trial, policy) | {"gated": policy.gate and trial.pinned},
        mode=trial.mode,
        key=batch.key(task),
        panels=len(trial.pieces),
        panel_rows=trial.pieces[0].panel.rows if trial.pieces else 0,
        streams=trial.streams,
        copy_engines=device.copy_engines,
        h2d_bytes=inputs,
        b_bytes=problem.operand_bytes("B"),
        d2h_bytes=problem.operand_bytes("C"),
        h2d=[parts.h2d for parts in trial.measured] if alone else [],
        kernel=[parts.kernel for parts in trial.measured] if alone else [],
        d2h=[parts.d2h for parts in trial.measured] if alone else [],
    )
