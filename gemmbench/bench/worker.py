"""The experiment: `Worker.experiment(batch)` verifies every plan of a batch, measures all, returns records.

Operands, verification and measuring live on this side; only frozen data crosses to
the runner, so that the two can be two processes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gemmbench.backends.base import Artifact, Backend, Executable
from gemmbench.bench import operands
from gemmbench.bench.batch import Batch
from gemmbench.bench.measure import Measurement, Rounds
from gemmbench.bench.operands import Arena, Operands
from gemmbench.bench.record import Record
from gemmbench.bench.verify import Check, Reference
from gemmbench.errors import PlanError
from gemmbench.spec.plan import Plan, Skip

FIRST_WARM_SECONDS, WARM_SECONDS = 3.0, 0.3
EXACT_SCALARS = ((2.0, 0.0), (-1.0, 3.0))
_ROOM = 0.8

Progress = Callable[[str, int, int], None]
"""(what is being done, done, of how many); the progress of the whole sweep begins with SWEEP."""
SWEEP = "sweep: "


def silent(what: str, done: int, of: int) -> None:
    """Report nothing."""


@dataclass
class Trial:
    """One plan on its way through an experiment."""

    plan: Plan
    artifact: Artifact | None = None
    loaded: Any = None
    status: str = "ok"
    reason: str = ""
    check: Check | None = None
    measurement: Measurement = field(default_factory=Measurement)

    @property
    def alive(self) -> bool:
        """Nothing has gone wrong yet."""
        return self.status == "ok"

    @contextmanager
    def blamed(self) -> Any:
        """Turn what fails inside into the status of this trial."""
        try:
            yield
        except PlanError as fault:
            self.status, self.reason = fault.status, str(fault)

    def judge(self, check: Check) -> None:
        """Take over a check; a failed one ends the trial."""
        worst = max(check.error, self.check.error if self.check else 0.0)
        self.check = Check(check.ok, check.rule, worst, check.message)
        if not check.ok:
            self.status, self.reason = "wrong", f"{check.rule} check: {check.message}"


class Worker:
    """Runs experiments on open back ends; `backends` maps a plan's device to its back end."""

    measured = True

    def __init__(
        self,
        backends: Mapping[str, Backend],
        progress: Progress = silent,
        interrupted: Callable[[], bool] = lambda: False,
    ):
        self.backends, self.progress, self.interrupted = backends, progress, interrupted
        self.first = True

    def experiment(self, batch: Batch) -> list[Record]:
        """Verify and measure a batch; one record a plan, in order. CPU plans run before GPU plans.

        After an interruption, plans that were not measured have no record.
        """
        trials = [Trial(plan) for plan in batch.plans]
        for trial, built in zip(trials, batch.built, strict=True):
            if isinstance(built, Artifact):
                trial.artifact = built
            else:
                trial.status, trial.reason = built.status, str(built)
        sets: dict[str, tuple[int, bool]] = {}
        for device in sorted({plan.device for plan in batch.plans}, key=lambda name: name != "cpu"):
            bench = _Bench(self, batch, [trial for trial in trials if trial.plan.device == device], device)
            sets[device] = bench.run(self.measured)
        finished = [trial for trial in trials if self._finished(trial)]
        return [_record(batch, trial, *sets[trial.plan.device]) for trial in finished]

    def _finished(self, trial: Trial) -> bool:
        """An interrupted trial has no row unless it has samples: it is neither right nor wrong."""
        done = bool(trial.measurement.samples) if self.measured else trial.check is not None
        return done or not trial.alive or not self.interrupted()


class Verifier(Worker):
    """Verifies and does not time."""

    measured = False


class _Bench:
    """One batch on one back end: operands in place, trials checked and timed."""

    def __init__(self, worker: Worker, batch: Batch, trials: Sequence[Trial], device: str):
        self.worker, self.batch, self.trials = worker, batch, trials
        self.backend = worker.backends[device]
        self.problem, self.policy = batch.problem, batch.measuring

    @property
    def alive(self) -> list[Trial]:
        return [trial for trial in self.trials if trial.alive]

    def run(self, measured: bool) -> tuple[int, bool]:
        """Returns the number of operand sets, and whether they keep every launch cold."""
        target = self.backend.device.target
        count, cold = operands.cold_sets(self.problem, target.l2, int(target.memory * _ROOM))
        if self.policy.cache == "hot" or not measured:
            count, cold = 1, False
        try:
            self.arena = Arena(self.backend, self.problem, count)
        except PlanError as fault:
            for trial in self.alive:
                trial.status, trial.reason = fault.status, str(fault)
            return count, cold
        try:
            self._steps(measured)
        finally:
            self.arena.free()
        return count, cold

    def _steps(self, measured: bool) -> None:
        for trial in self.alive:
            assert trial.artifact is not None
            with trial.blamed():
                trial.loaded = self.backend.load(trial.artifact, trial.plan)
        self._verify()
        if measured and self.alive and not self.worker.interrupted():
            self._measure()

    # Verification

    def _verify(self) -> None:
        exact = operands.make(self.problem, "ints", self.policy.seed + 1)
        scalars = EXACT_SCALARS if self.problem.beta else EXACT_SCALARS[:1]
        for alpha, beta in scalars:
            self._check_all(Reference(self.problem, exact, alpha, beta), exact=True)
        real = operands.make(self.problem, "uniform", self.policy.seed + 2)
        self._check_all(Reference(self.problem, real, self.problem.alpha, self.problem.beta), exact=False)

    def _check_all(self, reference: Reference, exact: bool) -> None:
        self.arena.write_inputs(reference.operands, 1)
        for number, trial in enumerate(self.alive):
            self.worker.progress("verify " + trial.plan.variant.name, number, len(self.alive))
            if self.worker.interrupted():
                return
            # A missing barrier shows in one order of the threads and hides in the other.
            modes = (self.backend.modes[1:] or self.backend.modes) if exact else self.backend.modes[:1]
            for mode in modes:
                if trial.alive:
                    self._check(trial, reference, mode, exact)

    def _check(self, trial: Trial, reference: Reference, mode: str, exact: bool) -> None:
        with trial.blamed():
            self.arena.reset_c(reference.operands, reference.beta, 1)
            self._bind(trial, 1, reference.alpha, reference.beta, mode).time(1)
            result = self.arena.read_c()
            if breach := self.arena.breach() or self.arena.spoilt(reference.operands):
                self.arena.write_inputs(reference.operands, 1)  # for those that come after
                trial.judge(Check(False, "guard", message=breach))
                return
            trial.judge(reference.check_exact(result) if exact else reference.check_rounding(result))

    def _bind(self, trial: Trial, sets: int, alpha: float, beta: float, mode: str) -> Executable:
        memory, chosen = self.arena.memory, self.arena.sets[:sets]
        return self.backend.bind(trial.loaded, trial.plan, memory, chosen, alpha, beta, mode)

    # Timing

    def _measure(self) -> None:
        problem, count = self.problem, len(self.arena.sets)
        data = operands.make(problem, self.policy.data, self.policy.seed)
        self.arena.write_inputs(data, count)
        self.arena.reset_c(data, problem.beta, count)
        bound: list[tuple[Trial, Executable]] = []
        for trial in self.alive:
            with trial.blamed():
                mode = self.backend.modes[0]
                bound.append((trial, self._bind(trial, count, problem.alpha, problem.beta, mode)))
        rounds = Rounds(
            [executable for _, executable in bound],
            self.policy,
            self.backend.max_launches,
            self.worker.interrupted,
            lambda done, of: self.worker.progress("round", done, of),
        )
        warm = FIRST_WARM_SECONDS if self.worker.first else WARM_SECONDS
        self.worker.first = False
        for (trial, _), measurement in zip(bound, rounds.run(warm), strict=True):
            trial.measurement = measurement
            if measurement.fault is not None:
                trial.status, trial.reason = measurement.fault.status, str(measurement.fault)
            elif not self.worker.interrupted():
                self._check_repeat(trial, data)

    def _check_repeat(self, trial: Trial, data: Operands) -> None:
        """After timing, every copy of C must be equal bit by bit: a race shows here.

        A slow kernel writes fewer copies, as many as the time limit allows, but two at least.
        """
        samples = trial.measurement.samples
        affordable = int(self.policy.max_time / max(samples.values(), default=math.inf))
        count = min(len(self.arena.sets), max(affordable, 2))
        first = b""
        with trial.blamed():
            mode = self.backend.modes[0]
            executable = self._bind(trial, count, self.problem.alpha, self.problem.beta, mode)
            for _ in range(1 if count > 1 else 2):
                self.arena.reset_c(data, self.problem.beta, count)
                for start in range(0, count, self.backend.max_launches):
                    executable.time(min(count - start, self.backend.max_launches))
                for index in range(count):
                    result = self.arena.read_c(index).tobytes()
                    first = first or result
                    if result != first:
                        trial.judge(Check(False, "repeat", message=f"copy {index + 1} of {count} differs: a race"))
                        return
            if breach := self.arena.breach(0) or self.arena.breach(count - 1):
                trial.judge(Check(False, "guard", message=breach))


def _record(batch: Batch, trial: Trial, sets: int, cold: bool) -> Record:
    plan, measurement, policy = trial.plan, trial.measurement, batch.measuring
    geometry = plan.geometry
    build = trial.artifact.build if trial.artifact else None
    timed = bool(measurement.samples)
    cache = "hot" if policy.cache == "hot" else "cold" if cold else "partly cold"
    return Record(
        **_identity(plan),
        status=trial.status,
        reason=trial.reason,
        phase=batch.phase,
        batch=batch.index,
        batch_key=batch.key,
        batch_rows=len(batch.plans),
        artifact=trial.artifact.key if trial.artifact else "",
        grid=list(geometry.grid) if geometry else [],
        block=list(geometry.block) if geometry else [],
        shared_dynamic=geometry.shared if geometry else 0,
        shared_static=build.shared if build else -1,
        registers=build.registers if build else -1,
        spills=build.spills if build else -1,
        compile_seconds=build.seconds if build else 0.0,
        checked=trial.check is not None,
        check_rule=trial.check.rule if trial.check else "",
        error=_finite(trial.check.error) if trial.check else None,
        samples=list(measurement.samples.values()),
        rounds=list(measurement.samples),
        launches=measurement.launches if timed else 0,
        stopped=measurement.stopped if timed else "",
        clocks_hz=measurement.clocks,
        cache=cache if timed else "",
        sets=sets if timed else 0,
        data=policy.data,
        seed=policy.seed,
        gated=policy.gate,
    )


def skip_record(skip: Skip) -> Record:
    """The row of a plan that cannot run here."""
    return Record(**_identity(skip), status="skipped", reason=skip.reason)


def _identity(plan: Plan | Skip) -> dict[str, Any]:
    problem = plan.problem
    return {
        "variant": plan.variant.name,
        "order": plan.variant.order,
        "config": dict(plan.config.values),
        "device": plan.device,
        **{name: getattr(problem, name) for name in ("M", "N", "K", "layout", "alpha", "beta")},
        "precision": problem.precision_name,
    }


def _finite(error: float) -> float | None:
    return error if error < float("inf") else None
