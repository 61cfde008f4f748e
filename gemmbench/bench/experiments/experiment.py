"""The experiment on a batch: operands in place, every row verified, all timed in rounds, then checked again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from gemmbench.backends.base import Artifact, Executable
from gemmbench.bench.experiments.batch import ChainBatch
from gemmbench.bench.experiments.context import AnnouncedExecutable, ExperimentContext
from gemmbench.bench.experiments.gemm import gemm_subject
from gemmbench.bench.experiments.network import network_subject
from gemmbench.bench.experiments.subject import Subject
from gemmbench.bench.experiments.trial import Placement, Trial
from gemmbench.bench.experiments.trial_record import make_record
from gemmbench.bench.experiments.verification import Verification
from gemmbench.bench.operands.arena import Arena, Inputs, same_bits
from gemmbench.bench.record import Record
from gemmbench.bench.timing import energy
from gemmbench.bench.timing.rounds import Rounds
from gemmbench.bench.timing.telemetry import TelemetrySampler
from gemmbench.bench.verify.diagnosis import OUTSIDE, RACE, Diagnosis
from gemmbench.bench.verify.reference import Check
from gemmbench.errors import DeviceLost, PlanError

_ROOM = 0.8
"""The share of a device's memory that operand sets may fill."""


def measure_chains(context: ExperimentContext, batch: ChainBatch) -> list[Record]:
    """Verify and measure a batch; one record per chain, in order.

    The chains of the CPU run before those of a GPU, so that they do not disturb its rounds. After
    an interruption, chains that were not measured have no record. Raises DeviceLost.
    """
    trials = [_make_trial(batch, number) for number in range(len(batch.chains))]
    subject = _make_subject(batch)
    placements = {}
    for device in _order_devices(context, batch):
        own = [trial for trial in trials if trial.chain.device == device]
        placements[device] = DeviceExperiment(context, batch, subject, device, own).run()
    return [
        make_record(trial, batch, placements[trial.chain.device]) for trial in trials if _is_finished(context, trial)
    ]


def _order_devices(context: ExperimentContext, batch: ChainBatch) -> list[str]:
    """The devices of a batch, the CPU first."""
    names = {chain.device for chain in batch.chains}
    return sorted(names, key=lambda name: (context.backends[name].device.target.is_gpu, name))


def _make_subject(batch: ChainBatch) -> Subject:
    chain = batch.chains[0]
    if chain.network is None:
        return gemm_subject(chain.problem)
    assert batch.parameters is not None
    return network_subject(chain.network, batch.parameters)


def _make_trial(batch: ChainBatch, number: int) -> Trial:
    trial = Trial(batch.chains[number], number)
    for built in batch.built[number]:
        if isinstance(built, Artifact):
            trial.artifacts.append(built)
        elif trial.alive:
            trial.fail(built)
    if fault := batch.find_fault(number):
        trial.fail(fault)
    return trial


def _is_finished(context: ExperimentContext, trial: Trial) -> bool:
    """An interrupted trial has no row unless it has samples: it is neither right nor wrong."""
    done = bool(trial.measurement.samples) if context.measured else trial.check is not None
    return done or not trial.alive or not context.interrupted()


class DeviceExperiment:
    """The trials of a batch on one device."""

    arena: Arena

    def __init__(
        self, context: ExperimentContext, batch: ChainBatch, subject: Subject, device: str, trials: Sequence[Trial]
    ):
        self.context, self.policy, self.anchors, self.subject = context, batch.policy, batch.anchors, subject
        self.trials, self.backend = trials, context.backends[device]

    @property
    def alive(self) -> list[Trial]:
        """Trials that nothing has ended."""
        return [trial for trial in self.trials if trial.alive]

    def run(self) -> Placement:
        """Take every trial as far as it goes. Raises DeviceLost."""
        placement = self._choose_placement()
        try:
            self.arena = Arena(self.backend, self.subject.layout, placement.sets)
        except DeviceLost:
            raise
        except PlanError as fault:
            for trial in self.alive:
                trial.fail(fault)
            return placement
        try:
            self._load()
            verification = Verification(self.context, self.backend, self.arena, self._bind_first_set)
            verification.run(self.alive, self.subject.make_cases(self.policy.seed))
            if self.context.measured and self.alive and not self.context.interrupted():
                self._measure(placement.sets)
        finally:
            with suppress(DeviceLost):
                self.arena.free()
        return placement

    def _choose_placement(self) -> Placement:
        if self.policy.cache == "hot" or not self.context.measured:
            return Placement(1, False)
        target = self.backend.device.target
        return Placement(*self.subject.count_cold_sets(target.l2, int(target.memory * _ROOM)))

    def _load(self) -> None:
        for trial in self.alive:
            with trial.catch_faults(), self.context.announced(trial.number):
                pairs = zip(trial.artifacts, trial.chain.steps, strict=True)
                trial.loaded = [self.backend.load(artifact, step) for artifact, step in pairs]

    def _bind_first_set(self, trial: Trial, mode: str, scalars: tuple[float, float] | None) -> Executable:
        return self._bind(trial, 1, mode, scalars)

    def _bind(
        self, trial: Trial, sets: int, mode: str | None = None, scalars: tuple[float, float] | None = None
    ) -> Executable:
        """Bind a trial to the first sets, by default as it is timed. Raises PlanError."""
        chain = trial.chain.with_scalars(*scalars) if scalars else trial.chain
        steps = self.arena.make_steps(chain.steps, trial.loaded, sets)
        bind = partial(self.backend.bind, chain.name, steps, self.arena.memory)
        mode = self.backend.modes[0] if mode is None else mode
        if chain.graph:
            with self.context.announced(trial.number):  # recording a graph runs its launches once
                bound = bind(graph=True, mode=mode)
        else:
            bound = bind(mode=mode)
        return AnnouncedExecutable(bound, trial.number, self.context.announce)

    def _measure(self, sets: int) -> None:
        """Time every trial that is alive, in the same rounds; then check it again."""
        inputs = self.subject.make_timed_inputs(self.policy)
        self.arena.write(inputs, sets)
        self.arena.reset(inputs, sets)
        bound: list[tuple[Trial, Executable]] = []
        for trial in self.alive:
            with trial.catch_faults():
                bound.append((trial, self._bind(trial, sets)))
        self._time(bound)
        for trial, executable in bound:
            if trial.alive and not self.context.interrupted():
                self._check_repeat(trial, inputs, sets)
                self._measure_energy(trial, executable)
        self._measure_accuracy()

    def _time(self, bound: Sequence[tuple[Trial, Executable]]) -> None:
        last = {trial.name: number for number, (trial, _) in enumerate(bound)}
        with TelemetrySampler(self.backend.monitor) as sampler:
            rounds = Rounds(
                [sampler.track(executable) for _, executable in bound],
                self.policy,
                self.backend.max_launches,
                self.context.interrupted,
                lambda done, of: self.context.progress("round", done, of),
                [last[name] for name in self.anchors if name in last],
            )
            measurements = rounds.run(self.context.warm_seconds())
        for number, ((trial, _), measurement) in enumerate(zip(bound, measurements, strict=True)):
            trial.measurement = measurement
            trial.telemetry = sampler.summarize(number, len(measurement.samples))
            if measurement.fault is not None:
                trial.fail(measurement.fault)

    def _measure_energy(self, trial: Trial, executable: Executable) -> None:
        """Measure energy under steady load, if it is asked for and the device has a counter."""
        monitor, seconds = self.backend.monitor, self.policy.energy
        if monitor is not None and trial.telemetry is not None and trial.alive and seconds:
            with trial.catch_faults():
                found = energy.measure_energy(
                    executable, monitor, seconds, self.backend.max_launches, self.context.interrupted
                )
                trial.telemetry = energy.with_energy(trial.telemetry, found)

    def _measure_accuracy(self) -> None:
        """Count what each row reads right, if the subject can tell."""
        if self.subject.measure_accuracy is None:
            return
        for trial in self.alive:
            if not self.context.interrupted():
                with trial.catch_faults():
                    trial.accuracy = self.subject.measure_accuracy(self.arena, self._bind(trial, 1))

    def _check_repeat(self, trial: Trial, inputs: Inputs, sets: int) -> None:
        """After timing, every copy of the result must be equal bit by bit: a race shows here.

        A slow kernel writes fewer copies, as many as the time limit allows, but two at least.
        """
        samples = trial.measurement.samples
        affordable = int(self.policy.max_time / max(samples.values(), default=math.inf))
        count = min(sets, max(affordable, 2))
        with trial.catch_faults():
            executable = self._bind(trial, count)
            if differing := self._find_differing(executable, inputs, count):
                message = f"copy {differing} of {max(count, 2)} differs: a race"
                trial.judge(Check(False, "repeat", message=message, diagnosis=Diagnosis(RACE)))
                return
            if breach := self.arena.find_breach(0) or self.arena.find_breach(count - 1):
                trial.judge(Check(False, "guard", message=breach, diagnosis=Diagnosis(OUTSIDE)))

    def _find_differing(self, executable: Executable, inputs: Inputs, count: int) -> int:
        """The number of the copy that differs from the first, or 0; of one set, the second is another launch's."""
        self._write_all(executable, inputs, count)
        if count > 1:
            return next((index + 1 for index in range(1, count) if not self.arena.equals_first(index)), 0)
        first = self.arena.read()
        self._write_all(executable, inputs, count)
        return 0 if same_bits(self.arena.read(), first) else 2

    def _write_all(self, executable: Executable, inputs: Inputs, count: int) -> None:
        """Launch once on each of the first `count` sets, their outputs made ready."""
        self.arena.reset(inputs, count)
        for start in range(0, count, self.backend.max_launches):
            executable.time(min(count - start, self.backend.max_launches))
