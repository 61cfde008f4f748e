"""An experiment on one device: operands in place, every trial verified, all timed in rounds, checked again.

What is done to operands, whether of a GEMM or of a network, is left to subclasses.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

import numpy as np

from gemmbench.backends.base import Executable
from gemmbench.bench.experiments.context import Station
from gemmbench.bench.experiments.trial import Placed, Trial
from gemmbench.bench.operands.arena import same_bits
from gemmbench.bench.timing import energy
from gemmbench.bench.timing.rounds import Rounds
from gemmbench.bench.timing.telemetry import TelemetrySampler
from gemmbench.bench.verify.diagnosis import OUTSIDE, RACE, Diagnosis
from gemmbench.bench.verify.reference import Check
from gemmbench.errors import DeviceLost, PlanError
from gemmbench.planning.sweeps.policy import Policy

_ROOM = 0.8

T = TypeVar("T", bound=Trial)


class Arrays(Protocol):
    """Operand sets on the device."""

    def breach(self, index: int = 0) -> str:
        """Say what was written outside the outputs of a set, or ""."""

    def same(self, index: int) -> bool:
        """The outputs of a set are those of the first, bit by bit."""

    def free(self) -> None:
        """Give the memory back."""


class Bench(ABC, Generic[T]):
    """The trials of one batch that run on one device."""

    arrays: Arrays

    def __init__(
        self, station: Station, device: str, trials: Sequence[T], policy: Policy, references: Sequence[str] = ()
    ):
        """Of `trials`, those of the batch, it takes those on `device`."""
        self.station, self.policy, self.references = station, policy, references
        self.trials = [trial for trial in trials if trial.plan.device == device]
        self.backend = station.backends[device]

    @abstractmethod
    def cold_sets(self, cache: int, room: int) -> tuple[int, bool]:
        """How many operand sets keep every launch cold beside a cache of that many bytes, and whether they do."""

    @abstractmethod
    def place(self, sets: int) -> Arrays:
        """Allocate operand sets. Raises OutOfMemory."""

    @abstractmethod
    def load(self, trial: T) -> None:
        """Load a trial's code. Raises PlanError."""

    @abstractmethod
    def verify(self) -> None:
        """Check every trial that is alive on data made for it."""

    @abstractmethod
    def write(self, sets: int) -> None:
        """Write the data that is timed."""

    @abstractmethod
    def reset(self, sets: int) -> None:
        """Make the outputs ready for launches on that data, unwritten or as beta needs them."""

    @abstractmethod
    def read(self, index: int) -> np.ndarray:
        """The outputs of one set."""

    @abstractmethod
    def bind(self, trial: T, sets: int) -> Executable:
        """Bind a trial to that data as it is timed. Raises PlanError."""

    @property
    def alive(self) -> list[T]:
        """Trials that nothing has ended."""
        return [trial for trial in self.trials if trial.alive]

    def run(self) -> Placed:
        """Take every trial as far as it goes. Raises DeviceLost."""
        target = self.backend.device.target
        placed = Placed(*self.cold_sets(target.l2, int(target.memory * _ROOM)))
        if self.policy.cache == "hot" or not self.station.measured:
            placed = Placed(1, False)
        try:
            self.arrays = self.place(placed.sets)
        except DeviceLost:
            raise
        except PlanError as fault:
            for trial in self.alive:
                trial.fail(fault)
            return placed
        try:
            self._steps(placed.sets)
        finally:
            with suppress(DeviceLost):
                self.arrays.free()
        return placed

    def _steps(self, sets: int) -> None:
        for trial in self.alive:
            with trial.blamed():
                self.station.announce(trial.number, 0.0)
                self.load(trial)
                self.station.announce(None, 0.0)
        self.verify()
        if self.station.measured and self.alive and not self.station.interrupted():
            self.measure(sets)

    def check_each(self, exact: bool, check: Callable[[T, str], None]) -> None:
        """Call `check(trial, mode)` for every trial that is alive, until it fails or the run is interrupted."""
        # A missing barrier shows in one order of the threads and hides in the other.
        modes = (self.backend.modes[1:] or self.backend.modes) if exact else self.backend.modes[:1]
        for number, trial in enumerate(self.alive):
            self.station.progress(f"verify {trial.name}", number, len(self.alive))
            if self.station.interrupted():
                return
            for mode in modes:
                if trial.alive:
                    check(trial, mode)

    def measure(self, sets: int) -> None:
        """Time every trial that is alive, in the same rounds."""
        self.write(sets)
        self.reset(sets)
        bound: list[tuple[T, Executable]] = []
        for trial in self.alive:
            with trial.blamed():
                bound.append((trial, self.station.watched(self.bind(trial, sets), trial.number)))
        last = {trial.name: number for number, (trial, _) in enumerate(bound)}
        with TelemetrySampler(self.backend.monitor) as sampler:
            rounds = Rounds(
                [sampler.track(executable) for _, executable in bound],
                self.policy,
                self.backend.max_launches,
                self.station.interrupted,
                lambda done, of: self.station.progress("round", done, of),
                [last[name] for name in self.references if name in last],
            )
            measurements = rounds.run(self.station.warm_seconds())
        for number, ((trial, executable), measurement) in enumerate(zip(bound, measurements, strict=True)):
            trial.measurement = measurement
            trial.telemetry = sampler.summarize(number, len(measurement.samples))
            if measurement.fault is not None:
                trial.fail(measurement.fault)
            elif not self.station.interrupted():
                self._check_repeat(trial, sets)
                self._weigh(trial, executable)

    def _weigh(self, trial: T, executable: Executable) -> None:
        """Measure energy under steady load, if asked for and the device can tell."""
        monitor, seconds = self.backend.monitor, self.policy.energy
        if monitor is not None and trial.telemetry is not None and trial.alive and seconds:
            with trial.blamed():
                found = energy.measure_energy(
                    executable, monitor, seconds, self.backend.max_launches, self.station.interrupted
                )
                trial.telemetry = energy.with_energy(trial.telemetry, found)

    def _check_repeat(self, trial: T, sets: int) -> None:
        """After timing, every copy of the outputs must be equal bit by bit: a race shows here.

        A slow kernel writes fewer copies, as many as the time limit allows, but two at least.
        """
        samples = trial.measurement.samples
        affordable = int(self.policy.max_time / max(samples.values(), default=math.inf))
        count = min(sets, max(affordable, 2))
        with trial.blamed():
            executable = self.station.watched(self.bind(trial, count), trial.number)
            if differing := self._differing(executable, count):
                differs = f"copy {differing} of {max(count, 2)} differs: a race"
                trial.judge(Check(False, "repeat", message=differs, diagnosis=Diagnosis(RACE)))
                return
            if breach := self.arrays.breach(0) or self.arrays.breach(count - 1):
                trial.judge(Check(False, "guard", message=breach, diagnosis=Diagnosis(OUTSIDE)))

    def _differing(self, executable: Executable, count: int) -> int:
        """The number of the copy that is not like the first, or 0; of one set, the second is that of another launch."""
        self._write_all(executable, count)
        if count > 1:
            return next((index + 1 for index in range(1, count) if not self.arrays.same(index)), 0)
        first = self.read(0)
        self._write_all(executable, count)
        return 0 if same_bits(self.read(0), first) else 2

    def _write_all(self, executable: Executable, count: int) -> None:
        """Launch once on each of the first `count` sets, their outputs made ready."""
        self.reset(count)
        for start in range(0, count, self.backend.max_launches):
            executable.time(min(count - start, self.backend.max_launches))


def finished(station: Station, trial: Trial) -> bool:
    """An interrupted trial has no row unless it has samples: it is neither right nor wrong."""
    done = bool(trial.measurement.samples) if station.measured else trial.check is not None
    return done or not trial.alive or not station.interrupted()


def devices_of(station: Station, trials: Sequence[Trial]) -> list[str]:
    """The devices of a batch; the CPU's block comes first, so that it does not disturb the rounds of the GPU."""
    return sorted(
        {trial.plan.device for trial in trials}, key=lambda name: (station.backends[name].device.target.is_gpu, name)
    )
