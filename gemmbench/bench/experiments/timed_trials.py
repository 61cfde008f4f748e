"""Timing: all trials of a batch in the same rounds, bound anew and audited after every block."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from gemmbench.backends.base import CountingExecutable, Window
from gemmbench.bench.experiments.audit import Audit
from gemmbench.bench.experiments.seen_data import SeenData, judge_replays
from gemmbench.bench.experiments.setup import Setup
from gemmbench.bench.experiments.trial import DAMAGED, Trial
from gemmbench.bench.timing.blocks import Measurement
from gemmbench.bench.timing.rounds import LONG_WINDOW, Rounds
from gemmbench.bench.timing.telemetry import TelemetrySampler
from gemmbench.bench.verify.reference import Check
from gemmbench.errors import DeviceLost, LaunchError, PlanError


class Rebound:
    """Times whatever its trial is bound to at present; before each window it calls `renew` with its launches."""

    def __init__(self, renew: Callable[[int], None]) -> None:
        self._renew = renew
        self.bound: CountingExecutable | None = None
        self.last: Window | None = None

    def time(self, launches: int) -> Window:
        """As base.Executable."""
        assert self.bound is not None, "it is bound"
        self._renew(launches)
        self.last = self.bound.time(launches)
        return self.last

    def warm_up(self, launches: int) -> None:
        """Run a window that is not kept, unless windows are so long that their beginning does not matter."""
        assert self.bound is not None, "it is bound"
        if self.last is not None and self.last.seconds < LONG_WINDOW:
            self._renew(launches)
            self.bound.time(launches)


class TrialSteps:
    """The `BlockSteps` of trials: places operand sets, binds trials to all of them, audits the same executables.

    Operands change a little before every window, and what the last window of a block has computed is
    checked. Short loads are not audited, and their operands stay: every trial passes. `count_turns` takes a
    trial and the seconds of a launch, and returns the turns of its graph, 0 for none. If a trial writes over
    operands or guard zones, `intact` becomes False and no trial passes.
    """

    def __init__(self, setup: Setup, trials: Sequence[Trial], count_turns: Callable[[Trial, float], int]):
        self._context, self._arena, self._bind = setup.context, setup.arena, setup.bind
        self._trials, self._count_turns = trials, count_turns
        self._inputs = setup.timed_case.inputs
        self._audit = None if setup.batch.is_short_load else setup.make_audit()
        seed = [*setup.batch.seed, len(trials)]
        self._rng = np.random.default_rng(seed)
        self._seen = SeenData(setup.arena, setup.timed_case, np.random.default_rng([*seed, 1]))
        self._suspects: dict[int, Check] = {}
        renew = _renew_nothing if setup.batch.is_short_load else self._seen.renew
        self.executables, self.intact = [Rebound(renew) for _ in trials], True

    def begin(self, block: int, launches: Mapping[int, int]) -> Collection[int]:
        """Place the operand sets, and bind every trial anew; after the first block, run each for a moment."""
        self._arena.place(self._arena.placement.draw_shift(self._rng))
        self._arena.prepare(self._inputs)
        for index in launches:
            with self._trials[index].catch_faults():
                self.executables[index].bound = self._bind(self._trials[index])
        self._arena.prepare_outputs(self._inputs)  # binding may launch
        for index in self._list_alive(launches):
            with self._trials[index].catch_faults():
                self.executables[index].warm_up(launches[index])
        return list(self._list_alive(launches))

    def record_if_short(self, index: int) -> bool:
        """Bind a trial anew, with graphs, if its last window shows that launches are short.

        One whose launches cannot be recorded goes on without graphs. Raises DeviceLost.
        """
        trial, window = self._trials[index], self.executables[index].last
        if not trial.alive or window is None:
            return False
        trial.turns = self._count_turns(trial, window.seconds / window.launches)
        if trial.turns:
            try:
                self.executables[index].bound = self._bind(trial)
            except DeviceLost:
                raise
            except PlanError:
                trial.turns = 0
        return trial.turns > 0

    def inspect(self, index: int, launches: int) -> None:
        """Check some of what the window that was timed last has computed."""
        trial = self._trials[index]
        if self._audit is not None and index not in self._suspects:
            self._suspect(index, self._seen.find_wrong(trial, launches))

    def _suspect(self, index: int, wrong: Check | None) -> None:
        """Remember a failed check: the audit may know a better reason."""
        if wrong is not None:
            self._suspects.setdefault(index, wrong)

    def end(self, block: int, active: Collection[int]) -> Collection[int]:
        """Audit the executables that were timed, and let go of them."""
        if self._audit is not None:
            for index in active:
                self._replay(index)
        self._arena.alter(None)
        damaged = bool(self._arena.find_damage())
        if self._audit is not None:
            self._audit.begin(write=damaged)
        self.intact &= not damaged
        for number, index in enumerate(active):
            self._context.progress(f"audit {self._trials[index].name}", number, len(active))
            if self._audit is not None and self._trials[index].alive and not self._context.is_interrupted():
                self._audit_trial(self._audit, index)
        for index, wrong in self._suspects.items():
            if self.intact and self._trials[index].alive:
                self._trials[index].judge(wrong)
        for executable in self.executables:
            executable.bound = None
        return list(self._list_alive(active)) if self.intact and not self._context.is_interrupted() else []

    def _replay(self, index: int) -> None:
        """Time a trial on new data and on seen data; once is enough where each window is a launch on new data."""
        trial, bound = self._trials[index], self.executables[index].bound
        assert bound is not None, "it was timed"
        launches = trial.measurement.launches
        is_known = launches == 1 and bool(trial.replays) and not trial.replays[-1].faster
        if self._context.is_interrupted() or is_known:
            return
        with trial.catch_faults():
            self._suspect(index, self._seen.replay(trial, bound, launches))

    def _audit_trial(self, audit: Audit, index: int) -> None:
        trial, bound = self._trials[index], self.executables[index].bound
        assert bound is not None, "it was timed"
        with trial.catch_faults():
            self.intact &= audit.run(trial, bound)

    def _list_alive(self, indices: Collection[int]) -> Iterator[int]:
        return (index for index in indices if self._trials[index].alive)


def _renew_nothing(launches: int) -> None:
    """Leave the operands as they are."""


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
        self._context.progress("operands", 0, self._setup.arena.sets)
        steps = TrialSteps(self._setup, trials, self._count_turns)
        self._time(trials, steps)
        return steps.intact

    def _count_turns(self, trial: Trial, seconds: float) -> int:
        """How often a graph goes through the rotation for one window of a GEMM, by the seconds of a launch.

        0 for a long launch, and where C is read, which only the first turn would find as it was.
        """
        chain, setup = trial.chain, self._setup
        can_be_graph = setup.backend.device.target.has_graphs and not chain.network and not chain.problem.beta
        if seconds >= _SHORT_LAUNCH or not can_be_graph:
            return 0
        return math.ceil(setup.policy.window / (max(seconds, 1e-9) * setup.arena.rotation.stops))

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
            judge_replays(trial)
