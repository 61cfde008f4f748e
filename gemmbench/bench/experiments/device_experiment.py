"""The experiment on one device: loads, verifies, times in rounds, and checks again."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial

from gemmbench.backends.base import Backend, Executable
from gemmbench.bench.experiments.auditing.audit import Audit
from gemmbench.bench.experiments.blocks.block_steps import TrialSteps
from gemmbench.bench.experiments.context import AnnouncedExecutable, ExperimentContext
from gemmbench.bench.experiments.sustained.blocks import SustainedBlocks
from gemmbench.bench.experiments.trial import SetCount, Trial
from gemmbench.bench.experiments.verification import Verification
from gemmbench.bench.experiments.workload import Workload
from gemmbench.bench.memory_account import count_fixed_bytes
from gemmbench.bench.operands.arena import Arena, Inputs
from gemmbench.bench.operands.cold_sets import find_room
from gemmbench.bench.operands.scratch import Scratch
from gemmbench.bench.timing.blocks import Measurement
from gemmbench.bench.timing.rounds import Rounds
from gemmbench.bench.timing.telemetry import TelemetrySampler
from gemmbench.bench.verify.diagnosis import OUTSIDE, Diagnosis
from gemmbench.bench.verify.reference import Check
from gemmbench.errors import DeviceLost, LaunchError, PlanError
from gemmbench.planning.sweeps.policy import Policy

AUDIT_SHARE = 0.02
"""Of the time limit: the most that a turn of an audit may take, of which every block has two."""
_SHORT_LAUNCH = 30e-6
"""Seconds. Shorter kernels are launched as graphs, or the time between two launches would weigh."""
_SHARE_OF_FREE = 0.95
_DAMAGED = "something wrote over A, B or the guard zones"


class DeviceExperiment:
    """The trials of a batch on one device; `anchors` names the rows others are compared with, the baseline first.

    `shuffle` is the seed of everything that differs from block to block. Without `checked` rows are
    neither verified nor audited. Rows that `swept` names get no steady load.
    """

    arena: Arena

    def __init__(
        self,
        context: ExperimentContext,
        workload: Workload,
        policy: Policy,
        backend: Backend,
        trials: Sequence[Trial],
        anchors: Sequence[str] = (),
        shuffle: Sequence[int] = (0,),
        checked: bool = True,
        swept: Collection[str] = (),
    ):
        self.context, self.workload, self.policy, self.backend = context, workload, policy, backend
        self.trials, self.anchors, self.shuffle, self.checked = trials, anchors, shuffle, checked
        self.swept = swept

    @property
    def alive(self) -> list[Trial]:
        """Trials that have not failed."""
        return [trial for trial in self.trials if trial.alive]

    def run(self) -> SetCount:
        """Verify, measure and check every trial until it ends or fails. Raises DeviceLost."""
        count = self._count_sets()
        try:
            self.arena = Arena(self.backend, self.workload.layout, count.sets, self._report_operands)
        except DeviceLost:
            raise
        except PlanError as fault:
            for trial in self.alive:
                trial.fail(fault)
            return count
        try:
            self._load()
            if self.checked:
                verification = Verification(self.context, self.backend, self.arena, self._bind_first_set)
                verification.run(self.alive, self.workload.make_cases(self.policy.seed))
            if self.context.measured and self.alive and not self.context.is_interrupted():
                self._measure()
        finally:
            with suppress(DeviceLost):
                self._free()
        return count

    def _free(self) -> None:
        for trial in self.trials:
            if trial.scratch is not None:
                trial.scratch.free()
        self.arena.free()

    def _report_operands(self, done: int, of: int) -> None:
        self.context.progress("operands", done, of)

    def _count_sets(self) -> SetCount:
        if self.policy.cache == "hot" or not self.context.measured:
            return SetCount(1, False)
        target, fixed = self.backend.device.target, count_fixed_bytes([trial.chain for trial in self.alive])
        room = min(find_room(target), int(self.backend.free_memory() * _SHARE_OF_FREE)) - fixed
        return SetCount(*self.workload.count_cold_sets(target.l2, room))

    def _load(self) -> None:
        for trial in self.alive:
            with trial.catch_faults(), self.context.announce_row(trial.number):
                pairs = zip(trial.artifacts, trial.chain.steps, strict=True)
                trial.loaded = [self.backend.load(artifact, step) for artifact, step in pairs]
                trial.scratch = Scratch(self.backend, trial.chain.steps)

    def _bind_first_set(self, trial: Trial, mode: str, scalars: tuple[float, float] | None) -> Executable:
        return self._bind(trial, 1, mode, scalars)

    def _bind(
        self, trial: Trial, sets: int | None = None, mode: str | None = None, scalars: tuple[float, float] | None = None
    ) -> Executable:
        """Bind a trial to the first sets, by default to all, as it is timed. Raises PlanError."""
        sets = sets or self.arena.rotation.sets
        chain = trial.chain.with_scalars(*scalars) if scalars else trial.chain
        assert trial.scratch is not None, "it is loaded"
        trial.scratch.prepare()
        steps = self.arena.make_steps(chain.steps, trial.loaded, sets, trial.scratch)
        timed = sets == self.arena.rotation.sets and scalars is None
        rotation = self.arena.rotation if timed else None
        bind = partial(self.backend.bind, chain.name, steps, self.arena.memory, rotation=rotation)
        mode = self.backend.modes[0] if mode is None else mode
        if chain.graph:
            with self.context.announce_row(trial.number):  # recording a graph runs its launches once
                bound = bind(graph=True, mode=mode)
        elif trial.turns and timed:
            with self.context.announce_row(trial.number):
                bound = bind(turns=trial.turns, mode=mode)
        else:
            bound = bind(mode=mode)
        trial.choice = bound.choice
        return AnnouncedExecutable(bound, trial.number, self.context.announce)

    def _measure(self) -> None:
        """Time every trial that is alive, and audit it.

        One that wrote over operands ends, and the others are measured again without it. After an
        interruption they have no samples: those that were timed next to it do not count.
        """
        while (trials := self.alive) and not self._measure_together(trials):
            if self.alive == trials:
                self._find_culprit(trials)
            if self.context.is_interrupted():
                for trial in self.alive:
                    trial.measurement = Measurement()
                break
        if not self.context.is_interrupted():
            self._sustain()
        self._measure_accuracy()

    def _find_culprit(self, trials: Sequence[Trial]) -> None:
        """End the trial that writes over operands when it is timed alone, or all if there is none.

        After an interruption none ends.
        """
        for trial in trials:
            if self.context.is_interrupted():
                return
            if not self._measure_together([trial]):
                if trial.alive:
                    trial.judge(Check(False, "guard", message=_DAMAGED, diagnosis=Diagnosis(OUTSIDE)))
                return
        if self.context.is_interrupted():
            return
        for trial in trials:
            trial.fail(LaunchError(f"{_DAMAGED} when its batch was timed, but no row does so alone"))

    def _measure_together(self, trials: Sequence[Trial]) -> bool:
        """Time trials in the same rounds, and audit them after every block.

        Returns whether all left the operands as they were.
        """
        sets = self.arena.rotation.sets
        self._report_operands(0, sets)
        inputs = self.workload.make_timed_inputs(self.policy)
        audit = self._make_audit(inputs) if self.checked else None
        steps = TrialSteps(self.context, self.arena, inputs, trials, self._bind, audit, self._count_turns, self.shuffle)
        self._time(trials, steps)
        return steps.intact

    def _make_audit(self, inputs: Inputs) -> Audit:
        seconds = self.policy.max_time * AUDIT_SHARE
        return Audit(self.arena, inputs, self.workload.make_audit_case(self.policy), seconds, self.backend.max_launches)

    def _count_turns(self, trial: Trial, seconds: float) -> int:
        """How often a graph goes over the operand sets for one window of a GEMM, by the seconds of a launch.

        0 for a long launch, and where C is read, which only the first turn would find as it was.
        """
        chain = trial.chain
        if seconds >= _SHORT_LAUNCH or chain.network or chain.problem.beta or not self.backend.device.target.has_graphs:
            return 0
        return math.ceil(self.policy.window / (max(seconds, 1e-9) * self.arena.rotation.sets))

    def _time(self, trials: Sequence[Trial], steps: TrialSteps) -> None:
        last = {trial.name: number for number, trial in enumerate(trials)}
        with TelemetrySampler(self.backend.monitor) as sampler:
            rounds = Rounds(
                [sampler.track(executable) for executable in steps.executables],
                self.policy,
                self.backend.max_launches,
                self.context.is_interrupted,
                self.context.progress,
                [last[name] for name in self.anchors if name in last],
                monitor=self.backend.monitor,
                steps=steps,
                seed=self.shuffle,
            )
            for trial, measurement in zip(trials, rounds.measurements, strict=True):
                trial.measurement = measurement
            rounds.run(self.context.warm_seconds())
        for number, trial in enumerate(trials):
            measurement = trial.measurement
            trial.telemetry = sampler.summarize(number, len(measurement.windows))
            if measurement.fault is not None:
                trial.fail(measurement.fault)

    def _sustain(self) -> None:
        """Load a GPU with each row alone, if it is asked for, and audit the rows again."""
        seconds = self.policy.choose_sustained(self.trials[0].chain.problem.precision)
        loaded = [trial for trial in self.alive if trial.name not in self.swept]
        if not seconds or not loaded or not self.backend.device.target.is_gpu:
            return
        inputs = self.workload.make_timed_inputs(self.policy)
        self.arena.prepare(inputs)
        check = partial(self._audit_load, inputs, self._make_audit(inputs))
        blocks = SustainedBlocks(self.context, self.backend, seconds, self._bind, check)
        baseline = next(iter(self.anchors), None)
        blocks.run(loaded, next((trial for trial in loaded if trial.name == baseline), None))

    def _audit_load(self, inputs: Inputs, audit: Audit, trial: Trial, executable: Executable) -> None:
        """Audit a trial that has run under a steady load, and make the operands ready for the next."""
        if self.arena.find_damage():
            trial.judge(Check(False, "guard", message=_DAMAGED, diagnosis=Diagnosis(OUTSIDE)))
            self.arena.prepare(inputs)
            return
        audit.begin()
        try:
            audit.run(trial, executable)
        finally:
            audit.end()

    def _measure_accuracy(self) -> None:
        """Count the inputs that each row classifies correctly, if the answers are known."""
        if self.workload.measure_accuracy is None:
            return
        for trial in self.alive:
            if not self.context.is_interrupted():
                with trial.catch_faults():
                    trial.accuracy = self.workload.measure_accuracy(self.arena, self._bind(trial, 1))
