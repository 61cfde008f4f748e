"""Verifies trials before any timing, by launching each one on every case and judging the results."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from gemmbench.backends.base import Backend, Executable, Step
from gemmbench.bench.experiments.context import ExperimentContext
from gemmbench.bench.experiments.trial import Trial
from gemmbench.bench.experiments.workload import VerificationCase
from gemmbench.bench.operands import guards
from gemmbench.bench.operands.arena import WROTE_C, Arena
from gemmbench.bench.verify.diagnosis import OTHER_LAUNCH, OUTSIDE, Diagnosis
from gemmbench.bench.verify.manifest_doubts import explain_loose_bounds
from gemmbench.bench.verify.reference import Check
from gemmbench.bench.verify.relaunch import Relauncher
from gemmbench.bench.verify.storage_mistakes import STORAGE_CAUSES


class Bind(Protocol):
    """Binds a trial in a mode to the first operand set, using `scalars` and `change` if given."""

    def __call__(
        self,
        trial: Trial,
        mode: str | None,
        scalars: tuple[float, float] | None = None,
        change: Callable[[Step], Step] | None = None,
    ) -> Executable: ...


_REFERENCES = "right results"


@dataclass(frozen=True)
class _Launched:
    """A trial whose result is being judged on the host."""

    trial: Trial
    executable: Executable
    result: np.ndarray
    check: Future[Check]
    fill: int


@dataclass
class Verification:
    """Checks trials on the first operand set of an arena.

    While the host judges the result of one launch, the device computes the next.
    """

    context: ExperimentContext
    backend: Backend
    arena: Arena
    bind: Bind
    _buffers: list[np.ndarray] = field(default_factory=list)
    _launched: _Launched | None = None

    def run(self, trials: Sequence[Trial], cases: Iterable[VerificationCase]) -> None:
        """Check every trial on every case until it fails or the run is interrupted."""
        self._buffers = [self.arena.layout.empty_result() for _ in range(2)]
        self.context.progress(_REFERENCES, 0, 0)
        with ThreadPoolExecutor(1) as host:
            for case in cases:
                if alive := [trial for trial in trials if trial.alive and _can_compute(trial, case)]:
                    self._run_case(alive, case, host)
                self.context.progress(_REFERENCES, 0, 0)

    def _run_case(self, trials: Sequence[Trial], case: VerificationCase, host: ThreadPoolExecutor) -> None:
        self.arena.write(case.inputs, 1)
        self.arena.seal_first_set()
        # A missing barrier may show in one order of the threads and stay hidden in the other.
        modes = (self.backend.modes[1:] or self.backend.modes) if case.exact else self.backend.modes[:1]
        for number, trial in enumerate(trials):
            self.context.progress(f"verify {trial.name}", number, len(trials))
            if self.context.is_interrupted():
                break
            fills = trial.fills if self.arena.result.name not in case.inputs else (guards.NAN,)
            for mode, fill in itertools.product(modes, fills):
                self._launch(trial, case, mode, fill, host)
        self._settle(case)

    def _launch(self, trial: Trial, case: VerificationCase, mode: str, fill: int, host: ThreadPoolExecutor) -> None:
        """Launch a trial and have its result judged, then settle the previous launch."""
        if self._launched is not None and self._launched.trial is trial:
            self._settle(case)
        if not trial.alive:
            return
        with trial.catch_faults():
            self._launch_alive(trial, case, mode, fill, host)
        if not trial.alive:
            self._restore_operands(case)

    def _launch_alive(
        self, trial: Trial, case: VerificationCase, mode: str, fill: int, host: ThreadPoolExecutor
    ) -> None:
        executable = self.bind(trial, mode, case.scalars)
        self.arena.reset(case.inputs, 1, fill)  # after binding, because recording a graph runs its launches once
        trial.poison_scratch()
        executable.time(1)
        result = self.arena.read(into=self._buffers[0])
        if breach := self.arena.find_damage_of_first_set(case.inputs) or trial.find_scratch_fault():
            self._settle(case)
            is_known = breach.startswith(WROTE_C)
            trial.fail_guard(breach, None if is_known else self._explain_breach(trial, case, executable, result, fill))
            return
        self._buffers.reverse()
        check = host.submit(case.judge, result, trial.chain.declared)
        self._settle(case)
        self._launched = _Launched(trial, executable, result, check, fill)

    def _explain_breach(
        self, trial: Trial, case: VerificationCase, executable: Executable, result: np.ndarray, fill: int
    ) -> Diagnosis | None:
        """Return the mistake in an index, the manifest or a guard that made a trial write outside, or None."""
        check = case.judge(result, trial.chain.declared) if case.exact and case.explain else None
        if check is not None and not check.ok and case.explain is not None:
            found = case.explain(check, result, self._make_relauncher(trial, case, executable, fill), True).diagnosis
            if found and (found.cause in (OTHER_LAUNCH, *STORAGE_CAUSES) or found.is_recomputed):
                return found
        words = "; ".join(filter(None, (explain_loose_bounds(each.variant) for each in trial.chain.steps)))
        return Diagnosis(OUTSIDE, words) if words else None

    def _make_relauncher(self, trial: Trial, case: VerificationCase, executable: Executable, fill: int) -> Relauncher:
        bind = partial(self._bind_again, trial, case)
        scratch = trial.scratch.poison if trial.scratch and trial.scratch.nbytes else None
        plan = trial.chain.steps[0] if len(trial.chain.steps) == 1 else None
        declared = trial.chain.declared
        return Relauncher(self.arena, executable, bind, self.backend.modes, scratch, fill, plan, declared)

    def _restore_operands(self, case: VerificationCase) -> None:
        """Restore the operands for the next trials, because a trial that crashed may have written anywhere."""
        self.arena.find_breach()
        self.arena.write(case.inputs, 1)

    def _settle(self, case: VerificationCase) -> None:
        """Judge the trial that was launched last. A wrong trial is launched again to find out why."""
        if self._launched is None:
            return
        launched, self._launched = self._launched, None
        trial, check = launched.trial, launched.check.result()
        with trial.catch_faults():
            if not check.ok and case.explain:
                relauncher = self._make_relauncher(trial, case, launched.executable, launched.fill)
                check = case.explain(check, launched.result, relauncher, trial.check is not None)
            trial.judge(check)

    def _bind_again(
        self, trial: Trial, case: VerificationCase, mode: str, change: Callable[[Step], Step] | None
    ) -> Executable:
        return self.bind(trial, mode, case.scalars, change)


def _can_compute(trial: Trial, case: VerificationCase) -> bool:
    return case.scalars is None or trial.chain.takes_scalars(*case.scalars)
