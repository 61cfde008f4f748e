"""The experiment of `gemmbench mlp`: rows that compute one network, verified, then measured together.

The same steps as bench.gemms takes: integers and real data before any timing, interleaved
rounds, all copies of the outputs equal after it; then the digits that a row reads right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
import numpy as np

from gemmbench.backends.base import Artifact, Backend, Compiler, Executable
from gemmbench.bench.experiments.batch import METHOD, Built, hashed, named
from gemmbench.bench.experiments.blame import Blamable
from gemmbench.bench.experiments.context import Station
from gemmbench.bench.experiments.experiment import Bench, devices_of, finished
from gemmbench.bench.experiments.trial import Trial, outcome
from gemmbench.bench.operands import network_arena as layers
from gemmbench.bench.operands.network_arena import Layers
from gemmbench.bench.operands.network_parameters import Digits, Parameters
from gemmbench.bench.record import NetworkFacts, Record
from gemmbench.bench.verify import network_cases as cases
from gemmbench.bench.verify.network_reference import Case
from gemmbench.bench.verify.reference import Check
from gemmbench.planning.networks.forward_plans import Forward
from gemmbench.planning.networks.network import Network
from gemmbench.planning.sweeps.policy import Policy


@dataclass(frozen=True)
class RowBatch(Blamable):
    """Rows of one network, measured together; `built` holds for each the code of its steps or why there is none."""

    index: int
    network: Network
    given: Parameters
    rows: tuple[Forward, ...]
    built: tuple[tuple[Built, ...], ...]
    policy: Policy
    phase: str = "sweep"
    references: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A hash of all that the numbers depend on but the machine: code, network and its parameters, method."""
        given = hashlib.sha256(self.given.packed(self.network).tobytes()).hexdigest()
        digits = self.given.digits is not None
        parts: list[object] = [METHOD, self.network, given, digits, self.policy, self.phase, self.references]
        for row, built in zip(self.rows, self.built, strict=True):
            parts += [row.name, row.config, row.device, *map(named, built)]
        return hashed(parts)


@dataclass
class RowTrial(Trial):
    """One row on its way through the experiment; `plan` is its first step."""

    of: Forward | None = None
    artifacts: list[Artifact] = field(default_factory=list)
    codes: list[Any] = field(default_factory=list)
    accuracy: float | None = None

    @property
    def name(self) -> str:
        """The name of its row."""
        return self.row.name

    @property
    def row(self) -> Forward:
        """The row."""
        assert self.of is not None
        return self.of


def experiment(station: Station, batch: RowBatch) -> list[Record]:
    """Verify and measure a batch of rows; one record a row, in order. Raises DeviceLost."""
    trials = [_trial(batch, number) for number in range(len(batch.rows))]
    placed = {}
    for device in devices_of(station, trials):
        placed[device] = RowBench(station, batch, device, trials).run()
    return [
        msgspec.structs.replace(
            asked(trial.row),
            phase=batch.phase,
            batch=batch.index,
            batch_key=batch.key,
            batch_rows=len(batch.rows),
            **_outcome(trial, batch, outcome(trial, trial.artifacts, batch.policy, placed[trial.plan.device])),
        )
        for trial in trials
        if finished(station, trial)
    ]


def _outcome(trial: RowTrial, batch: RowBatch, found: dict[str, Any]) -> dict[str, Any]:
    if len(trial.row.steps) > 1:
        found |= {"grid": [], "block": [], "shared_dynamic": 0}
    if batch.given.digits:
        found["data"] = "digits"
    return found | {"network": _facts(trial.row, trial.accuracy)}


def asked(row: Forward) -> Record:
    """The record of a row that has not run: skipped, for its reason."""
    return Record(
        variant=row.name,
        order=row.order,
        config=dict(row.config.values),
        backend=row.device,
        problem=row.network.problem,
        status="skipped",
        reason=row.reason,
        network=_facts(row, None),
    )


def _facts(row: Forward, accuracy: float | None) -> NetworkFacts:
    network, choice = row.network, row.choice
    return NetworkFacts(
        title=str(network),
        flops=network.flops,
        bytes=network.bytes,
        launches=row.launches,
        label=choice.label,
        published_ms=choice.published_ms,
        accuracy=accuracy,
    )


def _trial(batch: RowBatch, number: int) -> RowTrial:
    row = batch.rows[number]
    trial = RowTrial(row.steps[0], number, of=row)
    for made in batch.built[number]:
        if isinstance(made, Artifact):
            trial.artifacts.append(made)
        elif trial.alive:
            trial.fail(made)
    if fault := batch.fault(number):
        trial.fail(fault)
    return trial


class RowBench(Bench[RowTrial]):
    """The rows of a batch on one device."""

    arrays: Layers

    def __init__(self, station: Station, batch: RowBatch, device: str, trials: Sequence[RowTrial]):
        super().__init__(station, device, trials, batch.policy, batch.references)
        self.network, self.given = batch.network, batch.given

    def cold_sets(self, cache: int, room: int) -> tuple[int, bool]:
        """As layers.cold_sets."""
        return layers.cold_sets(self.network, cache, room)

    def place(self, sets: int) -> Layers:
        """Raises OutOfMemory."""
        return Layers(self.backend, self.network, sets)

    def load(self, trial: RowTrial) -> None:
        """Raises PlanError."""
        pairs = zip(trial.row.steps, trial.artifacts, strict=True)
        trial.codes = [self.backend.load(artifact, step) for step, artifact in pairs]

    def verify(self) -> None:
        """Check on integers, then on real numbers."""
        chosen = cases.verification_cases(self.network, self.given, self.policy.seed)
        for case in chosen:
            self.arrays.write(case, 1)
            self.check_each(case.exact, partial(self._check, case))

    def _check(self, case: Case, trial: RowTrial, mode: str) -> None:
        with trial.blamed():
            executable = self.station.watched(self._bind(trial, 1, mode), trial.number)
            self.arrays.poison(1)  # after binding: recording a graph runs its launches once
            executable.time(1)
            got = self.arrays.read()
            if breach := self.arrays.breach():
                self.arrays.write(case, 1)
                trial.judge(Check(False, "guard", message=breach))
                return
            trial.judge(case.judge(got))

    def _bind(self, trial: RowTrial, sets: int, mode: str) -> Executable:
        row = trial.row
        steps = self.arrays.steps(row, trial.codes, sets)
        self.station.announce(trial.number, 0.0)  # recording a graph runs its launches once
        bound = self.backend.bind(row.name, steps, self.arrays.memory, row.choice.graph, mode)
        self.station.announce(None, 0.0)
        return bound

    def write(self, sets: int) -> None:
        """Write inputs and parameters."""
        self.arrays.write(cases.timed_case(self.network, self.given, self.policy.data, self.policy.seed), sets)

    def reset(self, sets: int) -> None:
        """Poison the outputs."""
        self.arrays.poison(sets)

    def read(self, index: int) -> np.ndarray:
        """The network's outputs."""
        return self.arrays.read(index)

    def bind(self, trial: RowTrial, sets: int) -> Executable:
        """Raises PlanError."""
        return self._bind(trial, sets, self.backend.modes[0])

    def measure(self, sets: int) -> None:
        """Time, then count the digits that each row reads right."""
        super().measure(sets)
        for trial in self.alive:
            if self.given.digits is not None and not self.station.interrupted():
                with trial.blamed():
                    trial.accuracy = self._accuracy(trial, self.given.digits)

    def _accuracy(self, trial: RowTrial, digits: Digits) -> float:
        executable = self.station.watched(self._bind(trial, 1, self.backend.modes[0]), trial.number)
        right, batch = 0, self.network.batch
        for start in range(0, len(digits.labels), batch):
            labels = digits.labels[start : start + batch]
            self.arrays.write(Case(self.network, self.given, cases.take_batch(digits, start, batch)), 1)
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
        backend.bind(row.name, steps, arrays.memory, row.choice.graph, backend.modes[0]).time(1)
        return arrays.read()[0]
    finally:
        arrays.free()
