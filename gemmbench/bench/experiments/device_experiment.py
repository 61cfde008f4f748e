"""The experiment on one device: loads the trials of a batch, verifies them, and measures them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from gemmbench.backends.base import Backend
from gemmbench.bench.experiments.batch import ChainBatch
from gemmbench.bench.experiments.blocks.timed_trials import TimedTrials
from gemmbench.bench.experiments.context import ExperimentContext
from gemmbench.bench.experiments.setup import Setup
from gemmbench.bench.experiments.sustained.loaded_trials import load_trials
from gemmbench.bench.experiments.trial import SetCount, Trial
from gemmbench.bench.experiments.verification import Verification
from gemmbench.bench.experiments.workload import Workload
from gemmbench.bench.memory_account import count_fixed_bytes
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.cold_sets import find_room
from gemmbench.bench.operands.scratch import Scratch, size_workspaces
from gemmbench.errors import DeviceLost, PlanError
from gemmbench.planning.plans.plan import level_workspaces

_SHARE_OF_FREE = 0.95


class DeviceExperiment:
    """The `trials` of a batch on one device. Short loads, which only rank rows, are neither verified nor audited."""

    def __init__(
        self,
        context: ExperimentContext,
        workload: Workload,
        backend: Backend,
        batch: ChainBatch,
        trials: Sequence[Trial],
    ):
        self.context, self.workload, self.backend, self.batch, self.trials = context, workload, backend, batch, trials

    @property
    def alive(self) -> list[Trial]:
        """Trials that have not failed."""
        return [trial for trial in self.trials if trial.alive]

    @property
    def _is_timed(self) -> bool:
        return self.context.measured and not self.batch.is_check

    def run(self) -> SetCount:
        """Verify, measure and check every trial until it ends or fails. Raises DeviceLost."""
        self._load()
        count = self._count_sets()
        try:
            self.context.progress("operands", 0, count.sets)
            arena = Arena(self.backend, self.workload.layout, count.sets)
        except DeviceLost:
            raise
        except PlanError as fault:
            for trial in self.alive:
                trial.fail(fault)
            return count
        try:
            self._run(Setup(self.context, self.backend, arena, self.workload, self.batch))
        finally:
            with suppress(DeviceLost):
                self._free(arena)
        return count

    def _run(self, setup: Setup) -> None:
        self._allocate_scratch()
        if not self.batch.is_short_load:
            verification = Verification(self.context, self.backend, setup.arena, setup.bind_first_set)
            verification.run(self.alive, self.workload.make_cases(self.batch.policy.seed))
        if self._is_timed and self.alive and not self.context.is_interrupted():
            self._measure(setup)

    def _measure(self, setup: Setup) -> None:
        TimedTrials(setup, self.trials).measure()
        if not self.context.is_interrupted():
            load_trials(setup, self.trials)
        self._measure_accuracy(setup)

    def _free(self, arena: Arena) -> None:
        for trial in self.trials:
            if trial.scratch is not None:
                trial.scratch.free()
        arena.free()

    def _count_sets(self) -> SetCount:
        if self.batch.policy.cache == "hot" or not self._is_timed:
            return SetCount(1, False)
        target, fixed = self.backend.device.target, count_fixed_bytes([trial.chain for trial in self.alive])
        room = min(find_room(target), int(self.backend.free_memory() * _SHARE_OF_FREE)) - fixed
        return SetCount(*self.workload.count_cold_sets(target.l2, room))

    def _load(self) -> None:
        for trial in self.alive:
            announced = self.context.announce_row(trial.number, trial.chain.compiles_when_bound)
            with trial.catch_faults(), announced:
                pairs = zip(trial.artifacts, trial.chain.steps, strict=True)
                trial.loaded = [self.backend.load(artifact, step) for artifact, step in pairs]
                steps = size_workspaces(self.backend, trial.chain.steps, trial.loaded)
                trial.chain = replace(trial.chain, steps=steps)
        alive = self.alive
        for trial, chain in zip(alive, level_workspaces([trial.chain for trial in alive]), strict=True):
            trial.chain = chain

    def _allocate_scratch(self) -> None:
        for trial in self.alive:
            with trial.catch_faults():
                trial.scratch = Scratch(self.backend, trial.chain.steps)
        libraries = self.backend.loaded_libraries()
        for trial in self.trials:
            trial.libraries = libraries

    def _measure_accuracy(self, setup: Setup) -> None:
        """Count the inputs that each row classifies correctly, if the answers are known."""
        if self.workload.measure_accuracy is None:
            return
        for trial in self.alive:
            if not self.context.is_interrupted():
                with trial.catch_faults():
                    trial.accuracy = self.workload.measure_accuracy(setup.arena, setup.bind_first_set(trial))
