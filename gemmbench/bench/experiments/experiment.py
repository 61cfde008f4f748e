"""The experiment on a batch of chains: load, verify and time every row on its device."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import cast

from gemmbench.backends.base import Artifact, Backend, CompilingBackend, ProfilableExecutable
from gemmbench.backends.sources import describe_packages
from gemmbench.bench.estimate import count_fixed_bytes
from gemmbench.bench.experiments.batch import ChainBatch
from gemmbench.bench.experiments.context import ExperimentContext
from gemmbench.bench.experiments.network_workload import network_workload
from gemmbench.bench.experiments.setup import Setup
from gemmbench.bench.experiments.steady_loads import load_trials
from gemmbench.bench.experiments.timed_trials import TimedTrials
from gemmbench.bench.experiments.trial import SetCount, Trial, fail_together, make_record
from gemmbench.bench.experiments.verification import Verification
from gemmbench.bench.experiments.workload import Workload, gemm_workload
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.bench.operands.operand_values import make_inputs, make_operands
from gemmbench.bench.operands.scratch import Scratch, find_room, size_workspaces
from gemmbench.bench.record import Record
from gemmbench.errors import DeviceLost, PlanError
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Plan, level_workspaces

_SHARE_OF_FREE = 0.95


class DeviceExperiment:
    """The `trials` of a batch on one device. Short loads only rank rows, so they are neither verified nor audited."""

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
        """The trials that have not failed."""
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
            arena = Arena(self.backend, self.workload.layout, count.sets, shared=self.batch.policy.cache == "hot")
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
        self._compile_together(setup)
        if not self.batch.is_short_load:
            verification = Verification(self.context, self.backend, setup.arena, setup.bind_first_set)
            verification.run(self.alive, self.workload.make_cases(self.batch.policy.seed))
            for trial in self.alive:
                trial.fail_elsewhere()
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
        if not self._is_timed:
            return SetCount(1, False)
        hot, target = self.batch.policy.cache == "hot", self.backend.device.target
        fixed = count_fixed_bytes([trial.chain for trial in self.alive])
        room = min(find_room(target), int(self.backend.free_memory() * _SHARE_OF_FREE)) - fixed
        sets, cold = self.workload.count_cold_sets(0 if hot else target.l2, room)
        return SetCount(sets, cold and not hot)

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
            packages = (describe_packages(step.variant) for step in trial.chain.steps if step.variant.is_python)
            trial.libraries = dict(libraries, **dict(item for each in packages for item in each.items()))

    def _compile_together(self, setup: Setup) -> None:
        """Let the back end compile in parallel what several configurations of a function compile in their first calls.

        If this hangs or ends the process, it is the fault of the first of them.
        """
        if not isinstance(self.backend, CompilingBackend):
            return
        together: dict[Variant, list[Trial]] = {}
        for trial in self.alive:
            if trial.chain.compiles_when_bound:
                together.setdefault(trial.chain.steps[0].variant, []).append(trial)
        for trials in together.values():
            if len(trials) > 1:
                with self.context.announce_row(trials[0].number, compiles=True):
                    self.backend.compile_together(list(map(setup.make_first_steps, trials)), setup.arena.memory)

    def _measure_accuracy(self, setup: Setup) -> None:
        """Count the inputs that each row classifies correctly, if the labels are known."""
        if self.workload.measure_accuracy is None:
            return
        for trial in self.alive:
            if not self.context.is_interrupted():
                with trial.catch_faults():
                    trial.accuracy = self.workload.measure_accuracy(setup.arena, setup.bind_first_set(trial))


_NO_SETS = SetCount(0, False)


def measure_chains(context: ExperimentContext, batch: ChainBatch) -> list[Record]:
    """Verify and measure a batch. Returns one record for each chain, in order.

    Chains on the CPU run before those on a GPU, so that they do not disturb the GPU's rounds. After an interruption,
    there is no record of chains that were not measured. Raises DeviceLost.
    """
    trials = [_make_trial(batch, number) for number in range(len(batch.chains))]
    counts: dict[str, SetCount] = {}
    with fail_together(trials):
        workload = _make_workload(batch, thorough=not (context.measured or batch.is_check))
        for device in _order_devices(context, batch):
            there = [trial for trial in trials if trial.chain.device == device]
            counts[device] = DeviceExperiment(context, workload, context.backends[device], batch, there).run()
    finished = [trial for trial in trials if _is_finished(context, batch, trial)]
    return [make_record(trial, batch, counts.get(trial.chain.device, _NO_SETS)) for trial in finished]


def _order_devices(context: ExperimentContext, batch: ChainBatch) -> list[str]:
    """Return the devices of a batch, the CPU first."""
    names = {chain.device for chain in batch.chains}
    return sorted(names, key=lambda name: (context.backends[name].device.target.is_gpu, name))


def _make_workload(batch: ChainBatch, thorough: bool) -> Workload:
    chain = batch.chains[0]
    if chain.network is None:
        unscaled = any(not each.takes_scalars(2.0, 0.0) for each in batch.chains)
        return gemm_workload(chain.problem, thorough, unscaled)
    assert batch.parameters is not None
    return network_workload(chain.network, batch.parameters)


def _make_trial(batch: ChainBatch, number: int) -> Trial:
    chain = batch.chains[number]
    trial = Trial(chain if batch.policy.pdl else chain.without_pdl(), number)
    for built in batch.built[number]:
        if isinstance(built, Artifact):
            trial.artifacts.append(built)
        elif trial.alive:
            trial.fail(built)
    if fault := batch.find_fault(number):
        trial.fail(fault)
    return trial


def _is_finished(context: ExperimentContext, batch: ChainBatch, trial: Trial) -> bool:
    """Return whether a trial gets a row. An interrupted trial without samples gets none, because nothing is known.

    Without timing, a partial verification counts. It does not count in a check, because a search relies on checks
    later.
    """
    if not trial.alive or not context.is_interrupted():
        return True
    if batch.is_check:
        return False
    return bool(trial.measurement.samples) if context.measured else trial.check is not None


def launch_once(backend: Backend, plan: Plan, artifact: Artifact, seed: int) -> None:
    """Launch a plan on uniform data, bound in the same way as for timing, once to warm up and once for the profiler.

    The back end's executables must be `base.Profiled`. Raises PlanError.
    """
    plan, problem = plan.without_pdl(), plan.problem
    inputs = make_inputs(make_operands(problem, "uniform", seed), problem.beta, problem.separate_c)
    with ExitStack() as held:
        arena = Arena(backend, GemmLayout(problem), 1)
        held.callback(arena.free)
        loaded = [backend.load(artifact, plan)]
        plans = size_workspaces(backend, [plan], loaded)
        scratch = Scratch(backend, plans)
        held.callback(scratch.free)
        arena.write(inputs, 1)
        arena.reset(inputs, 1)
        steps = arena.make_steps(plans, loaded, scratch, rotates=False)
        bound = backend.bind(plan.variant.name, steps, arena.memory, mode=backend.modes[0])
        bound.time(1)
        cast(ProfilableExecutable, bound).profile()
