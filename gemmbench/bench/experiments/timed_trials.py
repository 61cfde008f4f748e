"""Times all trials of a batch in the same rounds. After every block, trials are audited and bound again."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import cast

import numpy as np

from gemmbench.backends.base import CountingExecutable, LoneExecutable, Window
from gemmbench.bench.experiments.audit import Audit
from gemmbench.bench.experiments.seen_data import SeenData, judge_replays
from gemmbench.bench.experiments.setup import Setup
from gemmbench.bench.experiments.trial import DAMAGED, Trial
from gemmbench.bench.timing.blocks import Measurement
from gemmbench.bench.timing.rounds import LONG_WINDOW, Rounds
from gemmbench.bench.timing.stats import drop_unknown, median
from gemmbench.bench.timing.telemetry import TelemetrySampler
from gemmbench.bench.verify.reference import Check
from gemmbench.errors import DeviceLost, LaunchError, PlanError


class Rebound:
    """Times whatever its trial is currently bound to.

    Before each window, it calls `renew` with the number of launches.
    """

    def __init__(self, renew: Callable[[int], None]) -> None:
        self._renew = renew
        self.bound: CountingExecutable | None = None
        self.last: Window | None = None

    def time(self, launches: int) -> Window:
        """See base.Executable."""
        assert self.bound is not None, "it is bound"
        self._renew(launches)
        self.last = self.bound.time(launches)
        return self.last

    def warm_up(self, launches: int) -> None:
        """Run a window and discard it. This is skipped if windows are so long that their start does not matter."""
        assert self.bound is not None, "it is bound"
        if self.last is not None and self.last.seconds < LONG_WINDOW:
            self._renew(launches)
            self.bound.time(launches)


_SHORT_LAUNCH = 30e-6
"""A time in seconds.

Shorter kernels run as graphs, as do all others in the same rounds. Otherwise the gaps between launches would dominate.
"""
_LONGEST_TURN = 0.5
"""The longest rotation in seconds, in which all operand sets are used twice."""
_SHORT_WARM_UP = 0.05
"""Seconds of warm-up before short loads."""
LONGEST_ALONE = 200e-6
"""A time in seconds. In a longer product, the cost of a launch is too small to matter."""
_ALONE, _FIRST_BLOCKS, _ALONE_LATER = 15, 2, 3
"""The number of single products to time in each of the first two blocks and in each later one. At least 30 in total."""


class TrialSteps:
    """The `BlockSteps` of trials. Places operand sets, binds trials to all of them, and audits the same executables.

    Operands change slightly before every window, and the results of the last window in a block are checked. In short
    loads, operands do not change and there is no audit, so every trial passes. If a trial overwrites operands or guard
    zones, `intact` becomes False and no trial passes.
    """

    def __init__(self, setup: Setup, trials: Sequence[Trial]):
        self._setup, self._trials = setup, trials
        self._context, self._arena, self._bind = setup.context, setup.arena, setup.bind
        self._inputs = setup.timed_case.inputs
        self._audit = None if setup.batch.is_short_load else setup.make_audit()
        seed = [*setup.batch.seed, len(trials)]
        self._rng = np.random.default_rng(seed)
        self._seen = SeenData(setup.arena, setup.timed_case, np.random.default_rng([*seed, 1]))
        self._suspects: dict[int, Check] = {}
        renew = _renew_nothing if setup.batch.is_short_load else self._seen.renew
        self.executables, self.intact = [Rebound(renew) for _ in trials], True
        self._audited: set[int] = set()
        self.empty_seconds: list[float] = []

    def begin(self, block: int, launches: Mapping[int, int]) -> Collection[int]:
        """Move operand sets and workspaces and bind every trial again.

        After the first block, also run each one briefly.

        The order is also random, because executables that are bound late may be slower at first.
        """
        self._arena.place(self._arena.placement.draw_shift(self._rng))
        self._arena.prepare(self._inputs)
        order = [list(launches)[place] for place in self._rng.permutation(len(launches))]
        for index in order:
            trial = self._trials[index]
            assert trial.scratch is not None, "it is loaded"
            with trial.catch_faults():
                trial.scratch.place(self._rng)
                self.executables[index].bound = self._bind(trial)
        self._arena.prepare_outputs(self._inputs)  # because binding may launch
        for index in self._list_alive(order):
            with self._trials[index].catch_faults():
                self.executables[index].warm_up(launches[index])
        return list(self._list_alive(launches))

    def record_if_short(self) -> Collection[int]:
        """Bind all trials again with graphs if the fastest takes less than 30 us.

        Returns the trials that were bound again.

        If one trial cannot be recorded, no trial uses graphs, so that all are launched in the same way. Raises
        DeviceLost.
        """
        seconds = {
            index: each.last.seconds / each.last.launches
            for index, each in enumerate(self.executables)
            if each.last is not None and self._trials[index].alive
        }
        if min(seconds.values(), default=math.inf) >= _SHORT_LAUNCH or not self._can_be_graphs():
            return ()
        for index, each in seconds.items():
            if why := self._record(index, each):
                self._trials[
                    index
                ].no_graph = f"{why}; therefore no row measured together with it is launched as a graph"
                return self._bind_without_graphs(seconds)
        return list(seconds)

    def _can_be_graphs(self) -> bool:
        """Return whether a window may be a graph.

        It may not be one if C is read, because only the first turn finds C unchanged.
        """
        has_graphs = self._setup.backend.device.target.has_graphs
        return has_graphs and not any(each.chain.network or each.chain.problem.beta for each in self._trials)

    def _record(self, index: int, seconds: float) -> str:
        """Bind a trial to a graph with enough turns to fill a window. Returns why that failed, or ""."""
        trial, turn = self._trials[index], max(seconds, 1e-9) * self._arena.rotation.stops
        if turn > _LONGEST_TURN:
            return f"a CUDA graph of two launches on each operand set would take {turn:.1f} s"
        trial.turns = math.ceil(self._setup.batch.policy.window / turn)
        try:
            self.executables[index].bound = self._bind(trial)
        except DeviceLost:
            raise
        except PlanError as fault:
            return trial.no_graph or f"cannot be recorded as a CUDA graph: {fault}"
        return ""

    def _bind_without_graphs(self, indices: Collection[int]) -> Collection[int]:
        for index in indices:
            self._trials[index].turns = 0
            with self._trials[index].catch_faults():
                self.executables[index].bound = self._bind(self._trials[index])
        return list(self._list_alive(indices))

    def inspect(self, index: int, launches: int) -> None:
        """Check some results of the last timed window."""
        trial = self._trials[index]
        if self._audit is not None and index not in self._suspects:
            self._suspect(index, self._seen.find_wrong(trial, launches))

    def _suspect(self, index: int, wrong: Check | None) -> None:
        """Remember a failed check. The audit may find a better explanation."""
        if wrong is not None:
            self._suspects.setdefault(index, wrong)

    def end(self, block: int, active: Collection[int], last: Collection[int]) -> Collection[int]:
        """Time single products of the executables in the block. Then replay, audit and release the executables."""
        self._time_alone(block, active)
        due = last if self._setup.batch.policy.audit_once else active
        audited = [index for index in active if index in due and self._audit is not None]
        for index in audited:
            self._replay(index)
        self._arena.alter(None)
        damaged = bool(self._arena.find_damage())
        if self._audit is not None and audited:
            self._audit.begin(damaged)
        self.intact &= not damaged
        for number, index in enumerate(audited):
            self._context.progress(f"audit {self._trials[index].name}", number, len(audited))
            if self._audit is not None and self._trials[index].alive and not self._context.is_interrupted():
                self._audit_trial(self._audit, index)
        for index, wrong in self._suspects.items():
            if self.intact and self._trials[index].alive:
                self._trials[index].judge(wrong)
        for executable in self.executables:
            executable.bound = None
        return list(self._list_alive(active)) if self.intact and not self._context.is_interrupted() else []

    def was_interrupted(self, index: int) -> bool:
        """Return whether a trial that has not failed was timed but not audited. The audit follows the last block."""
        trial, is_due = self._trials[index], self._audit is not None and index not in self._audited
        return is_due and trial.alive and trial.measurement.fault is None

    def _replay(self, index: int) -> None:
        """Time a trial on new and seen data. Once is enough if each window is a single launch on new data."""
        trial, bound = self._trials[index], self.executables[index].bound
        assert bound is not None, "it was timed"
        launches = trial.measurement.launches
        is_known = launches == 1 and bool(trial.replays) and not trial.replays[-1].faster
        if self._context.is_interrupted() or is_known:
            return
        with trial.catch_faults():
            self._suspect(index, self._seen.replay(trial, bound, launches))

    def _time_alone(self, block: int, active: Collection[int]) -> None:
        """Time some single products of trials that take less than 200 us, and an empty kernel."""
        empty = self._setup.backend.empty
        short = [index for index in active if self._is_timed_alone(index)]
        if empty is None or not short:
            return
        for _ in range(_ALONE if block < _FIRST_BLOCKS else _ALONE_LATER):
            self.empty_seconds.append(empty.time_alone())
            for index in short:
                trial, bound = self._trials[index], self.executables[index].bound
                assert bound is not None, "it was timed"
                if trial.alive and not self._context.is_interrupted():
                    with trial.catch_faults():
                        trial.alone.append(cast(LoneExecutable, bound).time_alone())

    def _is_timed_alone(self, index: int) -> bool:
        """Return whether to time single launches of a trial. It must be short, cold and not a graph."""
        batch, window = self._setup.batch, self.executables[index].last
        wanted = not (batch.is_short_load or batch.contest or self._trials[index].chain.graph)
        short = window is not None and window.seconds < LONGEST_ALONE * window.launches
        return wanted and short and batch.policy.cache == "cold"

    def _audit_trial(self, audit: Audit, index: int) -> None:
        trial, bound = self._trials[index], self.executables[index].bound
        assert bound is not None, "it was timed"
        self._audited.add(index)
        with trial.catch_faults():
            self.intact &= audit.run(trial, bound)

    def _list_alive(self, indices: Collection[int]) -> Iterator[int]:
        return (index for index in indices if self._trials[index].alive)


def _renew_nothing(launches: int) -> None:
    """Leave the operands unchanged."""


class TimedTrials:
    """Times trials together."""

    def __init__(self, setup: Setup, trials: Sequence[Trial]):
        self._setup, self._trials, self._context = setup, trials, setup.context

    @property
    def _alive(self) -> list[Trial]:
        return [trial for trial in self._trials if trial.alive]

    def measure(self) -> None:
        """Time and audit every trial that has not failed.

        A trial that overwrites operands ends, and the others are measured again without it. If that is interrupted,
        they have no samples, because samples from rounds with the culprit do not count.
        """
        while (trials := self._alive) and not self._measure_together(trials):
            if self._alive == trials:
                self._find_culprit(trials)
            if self._context.is_interrupted():
                for trial in self._alive:
                    trial.measurement = Measurement()
                break

    def _find_culprit(self, trials: Sequence[Trial]) -> None:
        """End the trial that overwrites operands when it is timed alone, or all trials if it cannot be found.

        After an interruption, no trial is ended.
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
            trial.fail(LaunchError(f"{DAMAGED} when its batch was timed, but no row did so on its own"))

    def _measure_together(self, trials: Sequence[Trial]) -> bool:
        """Time trials in the same rounds and audit them after every block.

        Returns whether all trials left the operands unchanged.
        """
        self._context.progress("operands", 0, self._setup.arena.sets)
        steps = TrialSteps(self._setup, trials)
        for trial in trials:
            trial.alone = []
        self._time(trials, steps)
        for trial in trials:
            trial.empty_seconds = median(drop_unknown(steps.empty_seconds))
        return steps.intact

    def _run(self, rounds: Rounds) -> None:
        context = self._context
        if self._setup.batch.is_short_load:
            one_pair = self._setup.batch.policy.rounds <= 2  # in a search, whose first windows are enough warm-up
            rounds.run(0.0 if one_pair else _SHORT_WARM_UP)
            context.add_short_load(rounds.load)
        else:
            rounds.run(context.warm_seconds(self._setup.backend.device.target))

    def _time(self, trials: Sequence[Trial], steps: TrialSteps) -> None:
        setup, last = self._setup, {trial.name: number for number, trial in enumerate(trials)}
        anchors = [last[name] for name in setup.batch.anchors if name in last]
        with TelemetrySampler(setup.backend.monitor) as sampler:
            rounds = Rounds(
                [sampler.track(executable) for executable in steps.executables],
                setup.batch.policy,
                setup.backend.max_launches,
                self._context.is_interrupted,
                self._context.progress,
                anchors,
                sorted(set(range(len(trials))) - set(anchors)) if setup.batch.contest else (),
                monitor=setup.backend.monitor,
                steps=steps,
                seed=setup.batch.seed,
                names=[trial.name for trial in trials],
            )
            for trial, measurement in zip(trials, rounds.measurements, strict=True):
                trial.measurement = measurement
            self._run(rounds)
        for number, trial in enumerate(trials):
            if setup.batch.policy.audit_once and steps.was_interrupted(number):
                trial.measurement = Measurement()
            measurement = trial.measurement
            trial.telemetry = sampler.summarize(number, len(measurement.windows))
            if measurement.fault is not None:
                trial.fail(measurement.fault)
            judge_replays(trial)
