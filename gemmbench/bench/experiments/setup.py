"""The setup of an experiment: what the rows of a batch share on one device, and the binding of rows there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gemmbench.backends.base import Backend, CountingExecutable, Rotation, Step
from gemmbench.bench.experiments.audit import Audit
from gemmbench.bench.experiments.batch import ChainBatch
from gemmbench.bench.experiments.context import AUDIT_SHARE, AnnouncedExecutable, ExperimentContext
from gemmbench.bench.experiments.trial import Trial
from gemmbench.bench.experiments.workload import AuditCase, Workload, choose_audit_fill
from gemmbench.bench.operands.arena import Arena
from gemmbench.planning.plans.plan import Chain


@dataclass(frozen=True)
class Setup:
    """An open device that holds the operands of a batch."""

    context: ExperimentContext
    backend: Backend
    arena: Arena
    workload: Workload
    batch: ChainBatch

    @property
    def timed_case(self) -> AuditCase:
        """The operands that rows are timed on, and the expected results."""
        return self.workload.find_case(self.batch.policy.data, self.batch.policy.seed)

    def make_audit(self) -> Audit:
        """Make the audit for rows that are timed on the inputs of `timed_case`."""
        seconds = self.batch.policy.max_time * AUDIT_SHARE
        case = self.workload.find_case(choose_audit_fill(self.batch.policy.data), self.batch.policy.seed)
        return Audit(self.arena, self.timed_case.inputs, case, seconds, self.backend.max_launches)

    def bind(self, trial: Trial, graphs: int = 1) -> CountingExecutable:
        """Bind a trial to all operand sets for timing, joining `graphs` of its graphs into one. Raises PlanError."""
        turns = 0 if trial.chain.graph else trial.turns * graphs
        return self._bind(trial, trial.chain, self.backend.modes[0], self.arena.rotation, turns)

    def bind_first_set(
        self,
        trial: Trial,
        mode: str | None = None,
        scalars: tuple[float, float] | None = None,
        change: Callable[[Step], Step] | None = None,
    ) -> CountingExecutable:
        """Bind a trial to the first operand set, with different `scalars` (alpha, beta) if given. Raises PlanError.

        `change` replaces the trial's steps by others.
        """
        chain = trial.chain.with_scalars(*scalars) if scalars else trial.chain
        return self._bind(trial, chain, self.backend.modes[0] if mode is None else mode, None, change=change)

    def make_first_steps(self, trial: Trial) -> list[Step]:
        """Return the steps of a trial on the first operand set."""
        assert trial.scratch is not None, "it is loaded"
        return self.arena.make_steps(trial.chain.steps, trial.loaded, trial.scratch, rotates=False)

    def _bind(
        self,
        trial: Trial,
        chain: Chain,
        mode: str,
        rotation: Rotation | None,
        turns: int = 0,
        change: Callable[[Step], Step] | None = None,
    ) -> CountingExecutable:
        assert trial.scratch is not None, "it is loaded"
        trial.scratch.prepare()
        steps = self.arena.make_steps(chain.steps, trial.loaded, trial.scratch, rotates=rotation is not None)
        steps = [change(step) for step in steps] if change else steps
        memory, graph = self.arena.memory, chain.graph
        name = f"{chain.name} changed" if change else chain.name  # what that prints is not the row's output
        # Binding may launch: a library may time its choices, recording a graph launches, and a Python function
        # compiles.
        with self.context.announce_row(trial.number, chain.compiles_when_bound):
            bound = self.backend.bind(name, steps, memory, graph=graph, mode=mode, rotation=rotation, turns=turns)
        trial.choice, trial.overlap, trial.no_graph = bound.choice, bound.overlap, trial.no_graph or bound.no_graph
        trial.setup_seconds = bound.setup_seconds
        return AnnouncedExecutable(bound, trial.number, self.context.announce)
