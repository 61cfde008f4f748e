"""The experiment on a batch of transfers: verifies every mode, times a kernel's modes together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import cast

from gemmbench.backends.jobs import TransferBackend
from gemmbench.bench.experiments.context import ExperimentContext
from gemmbench.bench.experiments.transfers.batch import TransferBatch
from gemmbench.bench.experiments.transfers.modes import ModeTrial, TransferExperiment
from gemmbench.bench.experiments.transfers.tasks import TransferTask
from gemmbench.bench.experiments.trial import fail_together
from gemmbench.bench.experiments.trial_record import describe_chain, describe_result
from gemmbench.bench.record import MODES, TransferRecord
from gemmbench.errors import PlanError
from gemmbench.planning.plans.plan import make_chain


def measure_transfers(context: ExperimentContext, batch: TransferBatch) -> list[TransferRecord]:
    """Verify and measure every task; one record per mode.

    After an interruption, a mode without samples has no record. Raises DeviceLost.
    """
    device = cast("TransferBackend", context.backends[batch.device])
    trials = [_make_trials(batch, number) for number in range(len(batch.tasks))]
    with fail_together([trial for modes in trials for trial in modes]):
        _measure(TransferExperiment(context, device, batch.problem, batch.policy), trials)
    return [
        _make_record(batch, device, task, trial)
        for task, modes in zip(batch.tasks, trials, strict=True)
        for trial in modes
        if trial.measurement.samples or not trial.alive
    ]


def _measure(experiment: TransferExperiment, trials: Sequence[list[ModeTrial]]) -> None:
    try:
        experiment.verify([trial for modes in trials for trial in modes])
        reference = experiment.write_timed_data()
        for modes in trials:
            if not experiment.context.is_interrupted():
                experiment.measure(modes, reference)
    finally:
        with suppress(PlanError):  # after a crashed kernel nothing can be freed
            experiment.free()


def _make_trials(batch: TransferBatch, number: int) -> list[ModeTrial]:
    task = batch.tasks[number] if batch.policy.pdl else batch.tasks[number].without_pdl()
    chain, whole, panels = make_chain(task.whole.plan), (task.whole,), task.panels
    streams = min(batch.cut.streams, max(len(panels), 1))
    trials = [
        ModeTrial(chain, mode="pageable", pieces=whole, pinned=False),
        ModeTrial(chain, mode="pinned", pieces=whole),
        ModeTrial(chain, mode="panels", pieces=panels),
        ModeTrial(chain, mode="overlapped", pieces=panels, streams=streams),
    ]
    for trial in trials[2:] if task.why_not else ():
        trial.status, trial.reason = "skipped", task.why_not
    for mode, trial in enumerate(trials):
        trial.number = len(MODES) * number + mode
        if fault := batch.find_fault(trial.number):
            trial.fail(fault)
    return trials


def _make_record(batch: TransferBatch, device: TransferBackend, task: TransferTask, trial: ModeTrial) -> TransferRecord:
    problem, policy = batch.problem, batch.policy
    inputs = sum(problem.operand_bytes(name) for name in ("ABC" if problem.beta else "AB"))
    in_turn = trial.streams == 1
    return TransferRecord(
        **describe_chain(trial.chain),
        **describe_result(trial, policy) | {"gated": policy.gate and trial.pinned and trial.measurement.gated},
        mode=trial.mode,
        key=batch.key(task),
        panels=len(trial.pieces),
        panel_rows=trial.pieces[0].panel.rows if trial.pieces else 0,
        streams=trial.streams,
        copy_engines=device.copy_engines,
        h2d_bytes=inputs,
        b_bytes=problem.operand_bytes("B"),
        d2h_bytes=problem.operand_bytes("C"),
        h2d=[parts.h2d for parts in trial.sampled_parts] if in_turn else [],
        kernel=[parts.kernel for parts in trial.sampled_parts] if in_turn else [],
        d2h=[parts.d2h for parts in trial.sampled_parts] if in_turn else [],
    )
