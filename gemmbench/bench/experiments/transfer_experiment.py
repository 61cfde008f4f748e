"""Measures the whole job (operands to the device, kernel, C back) in four modes, and verifies each one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from statistics import fmean
from typing import cast

import numpy as np

from gemmbench.backends.base import Window
from gemmbench.backends.jobs import Job, JobTimes, TransferBackend
from gemmbench.bench.experiments.context import WARM_SECONDS, Announce, ExperimentContext
from gemmbench.bench.experiments.transfer_tasks import HostMatrices, Piece, TransferBatch, TransferTask, make_job_steps
from gemmbench.bench.experiments.trial import Trial, describe_chain, describe_result, fail_together
from gemmbench.bench.experiments.workload import EXACT_SCALARS
from gemmbench.bench.operands import guards
from gemmbench.bench.operands.arena import Arena, have_same_bits
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.bench.record import MODES, TransferRecord
from gemmbench.bench.timing.rounds import Rounds
from gemmbench.bench.verify.reference import Check, Reference, make_reference
from gemmbench.errors import PlanError
from gemmbench.planning.plans.plan import make_chain
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import Fill

_MAX_JOBS = 64
"""The most jobs in one window. A window can then last the desired 1 ms if a job takes at least 16 us."""


@dataclass
class ModeTrial(Trial):
    """One kernel in one mode in an experiment. `parts` holds the mean times of each window."""

    mode: str = ""
    pieces: tuple[Piece, ...] = ()
    streams: int = 1
    pinned: bool = True
    job: Job | None = None
    parts: list[JobTimes] = field(default_factory=list)

    def time(self, launches: int) -> Window:
        """Runs whole jobs one by one, as an Executable. Raises the errors of Job.run."""
        assert self.job is not None
        runs = [self.job.run() for _ in range(launches)]
        seconds, *parts = (fmean(getattr(run, part) for run in runs) for part in ("seconds", "h2d", "kernel", "d2h"))
        h2d, kernel, d2h = parts
        self.parts.append(JobTimes(seconds, h2d, kernel, d2h))
        return Window(sum(run.seconds for run in runs), launches, gated=all(run.gated for run in runs))

    @property
    def sampled_parts(self) -> list[JobTimes]:
        """Return the parts of the windows that became samples. These are the last windows, after sizing and warm-up."""
        return self.parts[len(self.parts) - len(self.measurement.samples) :]


@dataclass(frozen=True)
class _AnnouncedJob:
    """A Job that announces its runs."""

    job: Job
    number: int
    announce: Announce

    def run(self) -> JobTimes:
        """See Job."""
        self.announce(self.number, 0.0)
        parts = self.job.run()
        self.announce(None, 0.0)
        return parts


class TransferExperiment:
    """One problem, with an operand set on the device and both pageable and pinned matrices on the host."""

    def __init__(self, context: ExperimentContext, device: TransferBackend, problem: Problem, policy: Policy):
        """Allocate. Raises OutOfMemory."""
        self.context, self.device, self.problem, self.policy = context, device, problem, policy
        with ExitStack() as held:
            self.arena = Arena(device, GemmLayout(problem), 1)
            held.callback(self.arena.free)
            self.matrices: dict[bool, HostMatrices] = {}
            for pinned in (False, True):
                self.matrices[pinned] = HostMatrices(device, problem, pinned)
                held.callback(self.matrices[pinned].free)
            self._held = held.pop_all()

    def free(self) -> None:
        """Free all memory."""
        self._held.close()

    def verify(self, trials: Sequence[ModeTrial]) -> None:
        """Run every trial on integers. Inexact results are `wrong`."""
        alpha, beta = EXACT_SCALARS[1 if self.problem.beta else 0]
        if not all(trial.chain.takes_scalars(alpha, beta) for trial in trials):
            alpha, beta = self.problem.alpha, self.problem.beta
        self._report("right results", 0, 0)
        reference = self._write_data("ints", self.policy.seed + 1, alpha, beta)
        for number, trial in enumerate(trials):
            self.context.progress(f"verify transfers {trial.name}", number, len(trials))
            if trial.alive and not self.context.is_interrupted():
                with trial.catch_faults():
                    self._bind(trial, reference)
                    trial.judge(reference.check_exact(self._run_on_nan(trial)))
                    self._check_guards(trial)

    def write_timed_data(self) -> Reference:
        """Write the data for timing. Returns the expected result."""
        self._report("right results", 0, 0)
        return self._write_data(self.policy.data, self.policy.seed, self.problem.alpha, self.problem.beta)

    def measure(self, trials: Sequence[ModeTrial], reference: Reference) -> None:
        """Time the modes of one kernel in the same rounds, then check each of them again."""
        for trial in trials:
            if trial.alive:
                with trial.catch_faults():
                    self._bind(trial, reference)
        timed = [trial for trial in trials if trial.alive]
        anchors = [number for number, trial in enumerate(timed) if trial.mode == MODES[0]]
        rounds = Rounds(timed, self.policy, _MAX_JOBS, self.context.is_interrupted, self._report, anchors)
        for trial, measurement in zip(timed, rounds.run(WARM_SECONDS), strict=True):
            trial.measurement = measurement
            if measurement.fault is not None:
                trial.fail(measurement.fault)
        if not self.context.is_interrupted():
            self._check_again([trial for trial in timed if trial.alive], reference)
        for trial in trials:
            trial.job = None

    def _report(self, what: str, done: int, of: int) -> None:
        self.context.progress(f"transfers, {what}", done, of)

    def _write_data(self, fill: Fill, seed: int, alpha: float, beta: float) -> Reference:
        reference = make_reference(self.problem, fill, seed, alpha, beta)
        for matrices in self.matrices.values():
            matrices.write(reference.operands)
        return reference

    def _bind(self, trial: ModeTrial, reference: Reference) -> None:
        pieces = [piece.with_scalars(reference.alpha, reference.beta) for piece in trial.pieces]
        (operands,) = self.arena.layout.locate(trial.chain.steps, self.arena.starts[0])
        steps = make_job_steps(self.matrices[trial.pinned], pieces, operands, trial.streams)
        job = self.device.job(steps, self.arena.memory, trial.pinned)
        trial.job = _AnnouncedJob(job, trial.number, self.context.announce)

    def _run_on_nan(self, trial: ModeTrial) -> np.ndarray:
        """Return C on the host after one run on memory filled with NaN."""
        assert trial.job is not None
        matrices, starts = self.matrices[trial.pinned], self.arena.starts[0]
        matrices.poison()
        for name in "ABC":
            byte = guards.FINITE if name == "C" and trial.chain.reads_c else guards.NAN
            self.arena.memory.fill(starts[name], self.problem.operand_bytes(name), byte)
        trial.job.run()
        return matrices.copy_result()

    def _check_again(self, trials: Sequence[ModeTrial], reference: Reference) -> None:
        firsts: dict[tuple[Piece, ...], tuple[str, np.ndarray]] = {}
        for trial in trials:
            with trial.catch_faults():
                result = self._run_on_nan(trial)
                trial.judge(reference.check_rounding(result))
                self._check_guards(trial)
                mode, first = firsts.setdefault(trial.pieces, (trial.mode, result))
                if trial.alive and trial.chain.deterministic and not have_same_bits(result, first):
                    fault = f"differs from the same launches in mode {mode}: a race"
                    trial.judge(Check(False, "repeat", message=fault))

    def _check_guards(self, trial: ModeTrial) -> None:
        if breach := self.arena.find_breach():
            trial.judge(Check(False, "guard", message=breach))


def measure_transfers(context: ExperimentContext, batch: TransferBatch) -> list[TransferRecord]:
    """Verify and measure every task. Returns one record for each mode.

    After an interruption, there is no record for modes without samples. Raises DeviceLost.
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
