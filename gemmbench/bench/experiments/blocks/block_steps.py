"""What happens between the blocks of a batch.

A repetition of a measurement would find the operands at other addresses, bind kernels anew and shuffle
them differently. So every block does: otherwise its interval would hold for one such accident only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from gemmbench.bench.experiments.auditing.audit import Audit
from gemmbench.bench.experiments.blocks.rebound import Rebound
from gemmbench.bench.experiments.setup import Setup
from gemmbench.bench.experiments.trial import Trial
from gemmbench.errors import DeviceLost, PlanError


class TrialSteps:
    """The `BlockSteps` of trials: places operand sets, binds trials to all of them, audits the same executables.

    Short loads are not audited: every trial passes. `count_turns` takes a trial and the seconds of a
    launch, and returns the turns of its graph, 0 for none. If a trial writes over operands or guard
    zones, `intact` becomes False and no trial passes.
    """

    def __init__(self, setup: Setup, trials: Sequence[Trial], count_turns: Callable[[Trial, float], int]):
        self._context, self._arena, self._bind = setup.context, setup.arena, setup.bind
        self._trials, self._count_turns = trials, count_turns
        self._inputs = setup.make_timed_inputs()
        self._audit = None if setup.batch.is_short_load else setup.make_audit(self._inputs)
        self._rng = np.random.default_rng([*setup.batch.seed, len(trials)])
        self.executables, self.intact = [Rebound() for _ in trials], True

    def begin(self, block: int, launches: Mapping[int, int]) -> Collection[int]:
        """Place the operand sets, and bind every trial anew; after the first block, run each for a moment."""
        self._arena.place(self._arena.placement.draw_shift(self._rng))
        self._arena.prepare(self._inputs)
        for index in launches:
            with self._trials[index].catch_faults():
                self.executables[index].bound = self._bind(self._trials[index])
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

    def end(self, block: int, active: Collection[int]) -> Collection[int]:
        """Audit the executables that were timed, and let go of them."""
        damaged = bool(self._arena.find_damage())
        if self._audit is not None:
            self._audit.begin(write=damaged)
        self.intact &= not damaged
        for number, index in enumerate(active):
            self._context.progress(f"audit {self._trials[index].name}", number, len(active))
            if self._audit is not None and not self._context.is_interrupted():
                self._audit_trial(self._audit, index)
        for executable in self.executables:
            executable.bound = None
        return list(self._list_alive(active)) if self.intact and not self._context.is_interrupted() else []

    def _audit_trial(self, audit: Audit, index: int) -> None:
        trial, bound = self._trials[index], self.executables[index].bound
        assert bound is not None, "it was timed"
        with trial.catch_faults():
            self.intact &= audit.run(trial, bound)

    def _list_alive(self, indices: Collection[int]) -> Iterator[int]:
        return (index for index in indices if self._trials[index].alive)
