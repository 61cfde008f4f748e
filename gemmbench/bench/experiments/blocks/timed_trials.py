"""Timing: all trials of a batch in the same rounds, audited after every block."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gemmbench.bench.experiments.blocks.block_steps import TrialSteps
from gemmbench.bench.experiments.setup import Setup
from gemmbench.bench.experiments.trial import DAMAGED, Trial
from gemmbench.bench.timing.blocks import Measurement
from gemmbench.bench.timing.rounds import Rounds
from gemmbench.bench.timing.telemetry import TelemetrySampler
from gemmbench.errors import LaunchError

_SHORT_LAUNCH = 30e-6
"""Seconds. Shorter kernels are launched as graphs, or the time between two launches would weigh."""


class TimedTrials:
    """Times trials together."""

    def __init__(self, setup: Setup, trials: Sequence[Trial]):
        self._setup, self._trials, self._context = setup, trials, setup.context

    @property
    def _alive(self) -> list[Trial]:
        return [trial for trial in self._trials if trial.alive]

    def measure(self) -> None:
        """Time every trial that is alive, and audit it.

        One that wrote over operands ends, and the others are measured again without it. After an
        interruption they have no samples: those that were timed next to it do not count.
        """
        while (trials := self._alive) and not self._measure_together(trials):
            if self._alive == trials:
                self._find_culprit(trials)
            if self._context.is_interrupted():
                for trial in self._alive:
                    trial.measurement = Measurement()
                break

    def _find_culprit(self, trials: Sequence[Trial]) -> None:
        """End the trial that writes over operands when it is timed alone, or all if there is none.

        After an interruption none ends.
        """
        for trial in trials:
            if self._context.is_interrupted():
                return
            if not self._measure_together([trial]):
                if trial.alive:
                    trial.fail_guard(DAMAGED)
                return
        if self._context.is_interrupted():
            return
        for trial in trials:
            trial.fail(LaunchError(f"{DAMAGED} when its batch was timed, but no row does so alone"))

    def _measure_together(self, trials: Sequence[Trial]) -> bool:
        """Time trials in the same rounds, and audit them after every block.

        Returns whether all left the operands as they were.
        """
        self._context.progress("operands", 0, self._setup.arena.rotation.sets)
        steps = TrialSteps(self._setup, trials, self._count_turns)
        self._time(trials, steps)
        return steps.intact

    def _count_turns(self, trial: Trial, seconds: float) -> int:
        """How often a graph goes over the operand sets for one window of a GEMM, by the seconds of a launch.

        0 for a long launch, and where C is read, which only the first turn would find as it was.
        """
        chain, setup = trial.chain, self._setup
        can_be_graph = setup.backend.device.target.has_graphs and not chain.network and not chain.problem.beta
        if seconds >= _SHORT_LAUNCH or not can_be_graph:
            return 0
        return math.ceil(setup.policy.window / (max(seconds, 1e-9) * setup.arena.rotation.sets))

    def _run(self, rounds: Rounds) -> None:
        context = self._context
        if self._setup.batch.is_short_load:
            rounds.run(0.0)  # its first windows are warm-up enough for what is compared in the same rounds
            context.add_short_load(rounds.load)
        else:
            rounds.run(context.warm_seconds(self._setup.backend.device.target))

    def _time(self, trials: Sequence[Trial], steps: TrialSteps) -> None:
        setup, last = self._setup, {trial.name: number for number, trial in enumerate(trials)}
        anchors = [last[name] for name in setup.batch.anchors if name in last]
        with TelemetrySampler(setup.backend.monitor) as sampler:
            rounds = Rounds(
                [sampler.track(executable) for executable in steps.executables],
                setup.policy,
                setup.backend.max_launches,
                self._context.is_interrupted,
                self._context.progress,
                anchors,
                sorted(set(range(len(trials))) - set(anchors)) if setup.batch.contest else (),
                monitor=setup.backend.monitor,
                steps=steps,
                seed=setup.batch.seed,
            )
            for trial, measurement in zip(trials, rounds.measurements, strict=True):
                trial.measurement = measurement
            self._run(rounds)
        for number, trial in enumerate(trials):
            measurement = trial.measurement
            trial.telemetry = sampler.summarize(number, len(measurement.windows))
            if measurement.fault is not None:
                trial.fail(measurement.fault)
