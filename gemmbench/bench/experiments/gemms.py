"""The experiment on GEMMs: every plan of a batch verified on integers and on real data, then timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gemmbench.backends.base import Artifact, Executable, Step
from gemmbench.bench.experiments.batch import Batch
from gemmbench.bench.experiments.context import Station
from gemmbench.bench.experiments.experiment import Bench, devices_of, finished
from gemmbench.bench.experiments.trial import Trial, outcome
from gemmbench.bench.operands import arena as operands
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.fill import Operands, filled
from gemmbench.bench.record import Record
from gemmbench.bench.verify.diagnosis import OUTSIDE, Diagnosis
from gemmbench.bench.verify.reference import Check, Reference, make_reference
from gemmbench.bench.verify.relaunch import Relauncher, explain_by_relaunch
from gemmbench.planning.plans.plan import Plan, Skip

EXACT_SCALARS = ((2.0, 0.0), (-1.0, 3.0))


def experiment(station: Station, batch: Batch) -> list[Record]:
    """Verify and measure a batch; one record a plan, in order. CPU plans run before GPU plans.

    After an interruption, plans that were not measured have no record. Raises DeviceLost.
    """
    trials = [_trial(batch, number) for number in range(len(batch.plans))]
    placed = {}
    for device in devices_of(station, trials):
        placed[device] = GemmBench(station, batch, device, trials).run()
    done = [trial for trial in trials if finished(station, trial)]
    return [
        Record(
            **identity(trial.plan),
            path=trial.plan.variant.path,
            phase=batch.phase,
            batch=batch.index,
            batch_key=batch.key,
            batch_rows=len(batch.plans),
            **outcome(trial, [trial.artifact] if trial.artifact else [], batch.policy, placed[trial.plan.device]),
        )
        for trial in done
    ]


def skip_record(skip: Skip) -> Record:
    """The row of a plan that cannot run here."""
    return Record(**identity(skip), path=skip.variant.path, status="skipped", reason=skip.reason)


def identity(plan: Plan | Skip) -> dict[str, Any]:
    """The fields of a Record that say what was asked."""
    return {
        "variant": plan.variant.name,
        "order": plan.variant.order,
        "config": dict(plan.config.values),
        "picked": plan.config.picked,
        "backend": plan.device,
        "problem": plan.problem,
    }


def _trial(batch: Batch, number: int) -> Trial:
    trial, built = Trial(batch.plans[number], number), batch.built[number]
    if isinstance(built, Artifact):
        trial.artifact = built
    else:
        trial.fail(built)
    if fault := batch.fault(number):
        trial.fail(fault)
    return trial


@dataclass(frozen=True)
class Launched:
    """A trial whose result is being checked."""

    trial: Trial
    executable: Executable
    result: np.ndarray
    check: Future[Check]


class GemmBench(Bench[Trial]):
    """The GEMMs of a batch on one device."""

    arrays: Arena

    def __init__(self, station: Station, batch: Batch, device: str, trials: Sequence[Trial]):
        super().__init__(station, device, trials, batch.policy, batch.references)
        self.problem = batch.problem
        self._data: Operands | None = None
        self._results = [np.empty(self.problem.shape("C"), self.problem.storage("C").numpy_type()) for _ in range(2)]
        self._launched: Launched | None = None

    def cold_sets(self, cache: int, room: int) -> tuple[int, bool]:
        """As operands.cold_sets."""
        return operands.cold_sets(self.problem, cache, room)

    def place(self, sets: int) -> Arena:
        """Raises OutOfMemory."""
        return Arena(self.backend, self.problem, sets)

    def load(self, trial: Trial) -> None:
        """Raises PlanError."""
        assert trial.artifact is not None
        trial.loaded = self.backend.load(trial.artifact, trial.plan)

    def verify(self) -> None:
        """Check on integers with scalars of their own, then on real data with those asked for."""
        problem, seed = self.problem, self.policy.seed
        for alpha, beta in EXACT_SCALARS if problem.beta else EXACT_SCALARS[:1]:
            self._check_all(make_reference(problem, "ints", seed + 1, alpha, beta), exact=True)
        self._check_all(make_reference(problem, "uniform", seed + 2, problem.alpha, problem.beta), exact=False)

    def _check_all(self, reference: Reference, exact: bool) -> None:
        """Check every trial; while the host looks at one's result, the device computes the next one's."""
        self.arrays.write_inputs(reference.operands, 1)
        judge = reference.check_exact if exact else reference.check_rounding
        with ThreadPoolExecutor(1) as host:

            def check(result: np.ndarray) -> Future[Check]:
                return host.submit(judge, result)

            self.check_each(exact, lambda trial, mode: self._launch(trial, reference, mode, check))
            self._settle(reference)

    def _launch(
        self, trial: Trial, reference: Reference, mode: str, check: Callable[[np.ndarray], Future[Check]]
    ) -> None:
        """Launch a trial and have its result checked; then settle the one before."""
        if self._launched is not None and self._launched.trial is trial:
            self._settle(reference)
        if not trial.alive:
            return
        with trial.blamed():
            self.arrays.reset_c(reference.operands, reference.beta, 1)
            executable = self._watched(trial, reference, mode)
            executable.time(1)
            result = self.arrays.read_c(into=self._results[0])
            if breach := self.arrays.breach() or self.arrays.spoilt(reference.operands):
                self.arrays.write_inputs(reference.operands, 1)  # for those that come after
                trial.judge(Check(False, "guard", message=breach, diagnosis=Diagnosis(OUTSIDE)))
                return
            self._results.reverse()
            found = check(result)
            self._settle(reference)
            self._launched = Launched(trial, executable, result, found)

    def _settle(self, reference: Reference) -> None:
        """Judge the trial that was launched last. What is wrong is launched again, to be explained."""
        if self._launched is None:
            return
        launched, self._launched = self._launched, None
        trial, check = launched.trial, launched.check.result()
        with trial.blamed():
            if not check.ok:
                bind = partial(self._watched, trial, reference)
                launcher = Relauncher(self.arrays, launched.executable, bind, self.backend.modes)
                check = explain_by_relaunch(check, launched.result, reference, launcher, passed=trial.check is not None)
            trial.judge(check)

    def _watched(self, trial: Trial, reference: Reference, mode: str) -> Executable:
        executable = self._bind(trial, 1, reference.alpha, reference.beta, mode)
        return self.station.watched(executable, trial.number)

    def _bind(self, trial: Trial, sets: int, alpha: float, beta: float, mode: str) -> Executable:
        plan = replace(trial.plan, problem=replace(self.problem, alpha=alpha, beta=beta))
        step = Step(trial.loaded, plan, self.arrays.sets[:sets])
        return self.backend.bind(trial.name, [step], self.arrays.memory, mode=mode)

    def write(self, sets: int) -> None:
        """Write A and B."""
        self._data = filled(self.problem, self.policy.data, self.policy.seed)
        self.arrays.write_inputs(self._data, sets)

    def reset(self, sets: int) -> None:
        """Make C ready."""
        assert self._data is not None
        self.arrays.reset_c(self._data, self.problem.beta, sets)

    def read(self, index: int) -> np.ndarray:
        """C of one set."""
        return self.arrays.read_c(index)

    def bind(self, trial: Trial, sets: int) -> Executable:
        """Raises PlanError."""
        return self._bind(trial, sets, self.problem.alpha, self.problem.beta, self.backend.modes[0])
