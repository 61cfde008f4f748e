"""The experiment of `gemmbench mlp`: rows that compute one network, verified, then measured together.

The same steps as bench.worker takes with GEMMs: verification on integers and on real data
before any timing, interleaved rounds, all copies of the outputs equal after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from gemmbench.backends.base import Artifact, Backend, Compiler, Executable
from gemmbench.bench import layers, parameters, reference, stats
from gemmbench.bench.batch import LARGEST, Built
from gemmbench.bench.layers import Layers
from gemmbench.bench.measure import Rounds
from gemmbench.bench.parameters import Digits, Parameters
from gemmbench.bench.record import NetworkFacts, Record
from gemmbench.bench.reference import Case
from gemmbench.bench.runner import build_all
from gemmbench.bench.verify import Check
from gemmbench.bench.worker import FIRST_WARM_SECONDS, SWEEP, WARM_SECONDS, Progress, Trial, silent
from gemmbench.errors import PlanError
from gemmbench.spec.forward import Forward, distinct_plans
from gemmbench.spec.network import Network
from gemmbench.spec.options import Fill
from gemmbench.spec.sweep import Measuring

_ROOM = 0.8


@dataclass
class RowTrial(Trial):
    """One row on its way through the experiment; `plan` is its first step."""

    row: Forward | None = None
    artifacts: list[Artifact] = field(default_factory=list)
    codes: list[Any] = field(default_factory=list)
    accuracy: float | None = None


@dataclass
class Laboratory:
    """Runs rows on open back ends. `backends` and `compilers` are by device; `emit` takes each record."""

    backends: Mapping[str, Backend]
    compilers: Mapping[str, Compiler]
    network: Network
    given: Parameters
    measuring: Measuring
    baseline: str
    emit: Callable[[Record], None]
    progress: Progress = silent
    interrupted: Callable[[], bool] = lambda: False
    first: bool = True
    _batches: int = 0

    def run(self, rows: Sequence[Forward]) -> list[Record]:
        """Emit and return one record a row, then the best configurations of what was swept, measured again."""
        found = [self._emitted(_skipped(row)) for row in rows if row.reason]
        able = [row for row in rows if not row.reason]
        built: dict[Any, Built] = dict(build_all(distinct_plans(able), self.compilers, self.progress))
        found += self._measure(able, built, "sweep")
        return found + self._measure(self._finalists(able, found), built, "final")

    def _emitted(self, record: Record) -> Record:
        self.emit(record)
        return record

    def _measure(self, rows: Sequence[Forward], built: Mapping[Any, Built], phase: str) -> list[Record]:
        found: list[Record] = []
        for group in _batches(rows, self.baseline):
            if self.interrupted():
                break
            self._batches += 1
            self.progress(f"{SWEEP}{self.network}", len(found), len(rows))
            found += [self._emitted(record) for record in self._experiment(group, built, phase)]
        return found

    def _experiment(self, rows: Sequence[Forward], built: Mapping[Any, Built], phase: str) -> list[Record]:
        trials = [_trial(row, built) for row in rows]
        sets = {}
        for device in sorted({row.device for row in rows}, key=lambda name: name != "cpu"):
            bench = _Bench(self, device, [trial for trial in trials if _row(trial).device == device])
            sets[device] = bench.run()
        done = [trial for trial in trials if trial.measurement.samples or not trial.alive or not self.interrupted()]
        return [self._record(trial, phase, len(rows), *sets[_row(trial).device]) for trial in done]

    def _finalists(self, rows: Sequence[Forward], found: Sequence[Record]) -> list[Forward]:
        medians = {
            (record.variant, record.configuration): stats.summarize(record.by_round).value
            for record in found
            if record.status == "ok" and record.samples
        }
        swept: dict[str, list[Forward]] = {}
        for row in rows:
            if (row.name, str(row.config)) in medians:
                swept.setdefault(row.name, []).append(row)
        groups = [group for group in swept.values() if len(group) > 1]
        best = [min(group, key=lambda row: medians[row.name, str(row.config)]) for group in groups]
        anchors = [row for row in rows if row.name == self.baseline and row not in best]
        return [*best, *anchors[:1]] if best else []

    def _record(self, trial: RowTrial, phase: str, rows: int, sets: int, cold: bool) -> Record:
        row, measurement, policy = _row(trial), trial.measurement, self.measuring
        build = trial.artifacts[0].build if len(trial.artifacts) == 1 else None
        geometry = row.steps[0].geometry if len(row.steps) == 1 else None
        timed = bool(measurement.samples)
        cache = "hot" if policy.cache == "hot" else "cold" if cold else "partly cold"
        return msgspec.structs.replace(
            _skipped(row),
            status=trial.status,
            reason=trial.reason,
            phase=phase,
            batch=self._batches,
            batch_rows=rows,
            artifact=" ".join(artifact.key for artifact in trial.artifacts),
            grid=list(geometry.grid) if geometry else [],
            block=list(geometry.block) if geometry else [],
            shared_dynamic=geometry.shared if geometry else 0,
            shared_static=build.shared if build else -1,
            registers=build.registers if build else -1,
            spills=build.spills if build else -1,
            compile_seconds=sum(artifact.build.seconds for artifact in trial.artifacts),
            checked=trial.check is not None,
            check_rule=trial.check.rule if trial.check else "",
            error=trial.check.error if trial.check and math.isfinite(trial.check.error) else None,
            samples=list(measurement.samples.values()),
            rounds=list(measurement.samples),
            launches=measurement.launches if timed else 0,
            stopped=measurement.stopped if timed else "",
            clocks_hz=measurement.clocks,
            cache=cache if timed else "",
            sets=sets if timed else 0,
            data="digits" if self.given.digits else policy.data,
            seed=policy.seed,
            gated=policy.gate,
            network=_facts(row, trial.accuracy),
        )


def _row(trial: RowTrial) -> Forward:
    assert trial.row is not None
    return trial.row


def _trial(row: Forward, built: Mapping[Any, Built]) -> RowTrial:
    trial = RowTrial(row.steps[0], row=row)
    for step in row.steps:
        made = built[step]
        if isinstance(made, Artifact):
            trial.artifacts.append(made)
        elif trial.alive:
            trial.status, trial.reason = made.status, str(made)
    return trial


def _batches(rows: Sequence[Forward], baseline: str) -> list[list[Forward]]:
    """At most 16 rows each, the baseline in all."""
    anchor = [row for row in rows if row.name == baseline][:1]
    others = [row for row in rows if row not in anchor]
    room = LARGEST - len(anchor)
    groups = [others[start : start + room] for start in range(0, len(others), room)] or [[]]
    return [[*group, *anchor] for group in groups if group or anchor]


class _Bench:
    """Rows on one back end: arrays in place, rows checked and timed."""

    def __init__(self, laboratory: Laboratory, device: str, trials: Sequence[RowTrial]):
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
            pairs = zip(_row(trial).steps, trial.artifacts, strict=True)
            with trial.blamed():
                trial.codes = [self.backend.load(artifact, step) for step, artifact in pairs]
        self._verify()
        if self.alive and not self.lab.interrupted():
            self._measure()

    def _bind(self, trial: RowTrial, sets: int, mode: str) -> Executable:
        row = _row(trial)
        steps = self.arrays.steps(row, trial.codes, sets)
        return self.backend.chain(row.name, steps, self.arrays.memory, row.choice.graph, mode)

    def _verify(self) -> None:
        cases = verification_cases(self.network, self.lab.given, self.policy.seed)
        for case in cases:
            self.arrays.write(case, 1)
            for number, trial in enumerate(self.alive):
                self.lab.progress(f"verify {_row(trial).name}", number, len(self.alive))
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
        case, count = timed_case(self.network, self.lab.given, self.policy.data, self.policy.seed), self.arrays.count
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
            self.arrays.write(Case(self.network, self.lab.given, batch_of(digits, start, batch)), 1)
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


def batch_of(digits: Digits, start: int, batch: int) -> np.ndarray:
    """`batch` inputs from number `start` on; where the digits end they begin again."""
    return digits.inputs[np.arange(start, start + batch) % len(digits.inputs)]


def verification_cases(network: Network, given: Parameters, seed: int) -> list[Case]:
    """Exact cases on integers, then real ones: random parameters, and those of the run if they are not."""
    rng = np.random.default_rng(seed + 2)
    inputs = rng.uniform(-1, 1, (network.batch, network.sizes[0])).astype(np.float32)
    cases = [*reference.integers(network, seed + 1), Case(network, parameters.random(network, seed + 2), inputs)]
    return [*cases, timed_case(network, given, "uniform", seed)] if given.digits else cases


def timed_case(network: Network, given: Parameters, fill: Fill, seed: int) -> Case:
    """What is timed: the run's parameters, on its digits if it has some, else on `fill`."""
    if given.digits is not None:
        return Case(network, given, batch_of(given.digits, 0, network.batch))
    rng, shape = np.random.default_rng(seed), (network.batch, network.sizes[0])
    values: dict[str, Callable[[], np.ndarray]] = {
        "uniform": lambda: rng.uniform(-1, 1, shape),
        "normal": lambda: rng.standard_normal(shape),
        "zeros": lambda: np.zeros(shape),
        "ones": lambda: np.ones(shape),
        "ints": lambda: rng.choice([-2, -1, 1, 2], shape),
    }
    return Case(network, given, values[fill]().astype(np.float32))


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


def _skipped(row: Forward) -> Record:
    problem = row.network.problem
    return Record(
        variant=row.name,
        order=row.order,
        config=dict(row.config.values),
        device=row.device,
        **{name: getattr(problem, name) for name in ("M", "N", "K", "layout", "alpha", "beta")},
        precision=problem.precision_name,
        status="skipped",
        reason=row.reason,
        network=_facts(row, None),
    )
