"""One batch of rows on one device: verified, measured in rounds, checked again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gemmbench.backends.base import Artifact, Backend, Compiler, Executable
from gemmbench.bench import cases, layers
from gemmbench.bench.batch import Built
from gemmbench.bench.layers import Layers
from gemmbench.bench.measure import Rounds
from gemmbench.bench.parameters import Digits, Parameters
from gemmbench.bench.reference import Case
from gemmbench.bench.verify import Check
from gemmbench.bench.worker import FIRST_WARM_SECONDS, WARM_SECONDS, Progress, Trial
from gemmbench.errors import PlanError
from gemmbench.spec.forward import Forward
from gemmbench.spec.network import Network
from gemmbench.spec.sweep import Measuring

_ROOM = 0.8


@dataclass
class RowTrial(Trial):
    """One row on its way through the experiment; `plan` is its first step."""

    of: Forward | None = None
    artifacts: list[Artifact] = field(default_factory=list)
    codes: list[Any] = field(default_factory=list)
    accuracy: float | None = None

    @property
    def row(self) -> Forward:
        """The row."""
        assert self.of is not None
        return self.of


def trial_of(row: Forward, built: Mapping[Any, Built]) -> RowTrial:
    """A row with what was built of its steps, or why something was not."""
    trial = RowTrial(row.steps[0], of=row)
    for step in row.steps:
        made = built[step]
        if isinstance(made, Artifact):
            trial.artifacts.append(made)
        elif trial.alive:
            trial.status, trial.reason = made.status, str(made)
    return trial


class Setting(Protocol):
    """What a bench must know of the run that it is part of."""

    backends: Mapping[str, Backend]
    network: Network
    given: Parameters
    measuring: Measuring
    first: bool

    @property
    def progress(self) -> Progress:
        """Where to report."""

    @property
    def interrupted(self) -> Callable[[], bool]:
        """Whether to stop."""


class RowBench:
    """Rows on one back end: arrays in place, rows checked and timed."""

    def __init__(self, laboratory: Setting, device: str, trials: Sequence[RowTrial]):
        self.lab, self.trials = laboratory, trials
        self.backend = laboratory.backends[device]
        self.network, self.policy = laboratory.network, laboratory.measuring

    @property
    def alive(self) -> list[RowTrial]:
        return [trial for trial in self.trials if trial.alive]

    def run(self) -> tuple[int, bool]:
        """Returns the number of operand sets, and whether they keep every launch cold."""
        target = self.backend.device.target
        count, cold = layers.cold_sets(self.network, target.l2, int(target.memory * _ROOM))
        if self.policy.cache == "hot":
            count, cold = 1, False
        try:
            self.arrays = Layers(self.backend, self.network, count)
        except PlanError as fault:
            for trial in self.alive:
                trial.status, trial.reason = fault.status, str(fault)
            return count, cold
        try:
            self._steps()
        finally:
            self.arrays.free()
        return count, cold

    def _steps(self) -> None:
        for trial in self.alive:
            pairs = zip(trial.row.steps, trial.artifacts, strict=True)
            with trial.blamed():
                trial.codes = [self.backend.load(artifact, step) for step, artifact in pairs]
        self._verify()
        if self.alive and not self.lab.interrupted():
            self._measure()

    def _bind(self, trial: RowTrial, sets: int, mode: str) -> Executable:
        row = trial.row
        steps = self.arrays.steps(row, trial.codes, sets)
        return self.backend.chain(row.name, steps, self.arrays.memory, row.choice.graph, mode)

    def _verify(self) -> None:
        chosen = cases.verification(self.network, self.lab.given, self.policy.seed)
        for case in chosen:
            self.arrays.write(case, 1)
            for number, trial in enumerate(self.alive):
                self.lab.progress(f"verify {trial.row.name}", number, len(self.alive))
                if self.lab.interrupted():
                    return
                # A missing barrier shows in one order of the threads and hides in the other.
                modes = (self.backend.modes[1:] or self.backend.modes) if case.exact else self.backend.modes[:1]
                for mode in modes:
                    if trial.alive:
                        self._check(trial, case, mode)

    def _check(self, trial: RowTrial, case: Case, mode: str) -> None:
        with trial.blamed():
            executable = self._bind(trial, 1, mode)
            self.arrays.poison(1)  # after binding: recording a graph runs its launches once
            executable.time(1)
            got = self.arrays.read()
            if breach := self.arrays.breach():
                self.arrays.write(case, 1)
                trial.judge(Check(False, "guard", message=breach))
                return
            trial.judge(case.judge(got))

    def _measure(self) -> None:
        case, count = cases.timed(self.network, self.lab.given, self.policy.data, self.policy.seed), self.arrays.count
        self.arrays.write(case, count)
        bound: list[tuple[RowTrial, Executable]] = []
        for trial in self.alive:
            with trial.blamed():
                bound.append((trial, self._bind(trial, count, self.backend.modes[0])))
        most, executables = self.backend.max_launches, [executable for _, executable in bound]
        rounds = Rounds(
            executables,
            self.policy,
            most,
            self.lab.interrupted,
            lambda done, of: self.lab.progress("round", done, of),
        )
        warm = FIRST_WARM_SECONDS if self.lab.first else WARM_SECONDS
        self.lab.first = False
        for (trial, executable), measurement in zip(bound, rounds.run(warm), strict=True):
            trial.measurement = measurement
            if measurement.fault is not None:
                trial.status, trial.reason = measurement.fault.status, str(measurement.fault)
            elif not self.lab.interrupted():
                self._check_repeat(trial, executable)
        for trial in self.alive:
            if self.lab.given.digits is not None and not self.lab.interrupted():
                with trial.blamed():
                    trial.accuracy = self._accuracy(trial, self.lab.given.digits)

    def _check_repeat(self, trial: RowTrial, executable: Executable) -> None:
        """After timing, every copy of the outputs must be equal bit by bit: a race shows here."""
        samples = trial.measurement.samples
        affordable = int(self.policy.max_time / max(samples.values(), default=math.inf))
        count, first = min(self.arrays.count, max(affordable, 2)), b""
        with trial.blamed():
            executable = self._bind(trial, count, self.backend.modes[0])
            for _ in range(1 if count > 1 else 2):
                self.arrays.poison(count)
                for start in range(0, count, self.backend.max_launches):
                    executable.time(min(count - start, self.backend.max_launches))
                for index in range(count):
                    got = self.arrays.read(index).tobytes()
                    first = first or got
                    if got != first:
                        trial.judge(Check(False, "repeat", message=f"copy {index + 1} of {count} differs: a race"))
                        return
            if breach := self.arrays.breach(0) or self.arrays.breach(count - 1):
                trial.judge(Check(False, "guard", message=breach))

    def _accuracy(self, trial: RowTrial, digits: Digits) -> float:
        """The share of test digits that a row reads right."""
        executable = self._bind(trial, 1, self.backend.modes[0])
        right, batch = 0, self.network.batch
        for start in range(0, len(digits.labels), batch):
            labels = digits.labels[start : start + batch]
            self.arrays.write(Case(self.network, self.lab.given, cases.batch_of(digits, start, batch)), 1)
            executable.time(1)
            right += int((self.arrays.read()[: len(labels)].argmax(axis=1) == labels).sum())
        return right / len(digits.labels)


def answer(row: Forward, backend: Backend, compiler: Compiler, given: Parameters, one: np.ndarray) -> np.ndarray:
    """The outputs of a row for one input, repeated to fill its batch. Raises PlanError."""
    arrays = Layers(backend, row.network, 1)
    try:
        codes = [backend.load(compiler.compile(step), step) for step in row.steps]
        arrays.write(Case(row.network, given, np.tile(one, (row.network.batch, 1))), 1)
        steps = arrays.steps(row, codes, 1)
        backend.chain(row.name, steps, arrays.memory, row.choice.graph, backend.modes[0]).time(1)
        return arrays.read()[0]
    finally:
        arrays.free()
