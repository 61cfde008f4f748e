"""The check after timing: every copy of a result must be equal bit by bit. A race shows here."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from gemmbench.backends.base import Executable
from gemmbench.bench.experiments.trial import Trial
from gemmbench.bench.operands.arena import Arena, Inputs, have_same_bits
from gemmbench.bench.verify.diagnosis import OUTSIDE, RACE, Diagnosis
from gemmbench.bench.verify.reference import Check


@dataclass(frozen=True)
class RepeatCheck:
    """Compares results of launches on the same inputs; `bind` binds a trial to this many sets."""

    arena: Arena
    inputs: Inputs
    bind: Callable[[Trial, int], Executable]
    max_seconds: float
    max_launches: int

    def run(self, trial: Trial, sets: int) -> None:
        """Write a copy of the result into every set, and compare them. Raises PlanError.

        A slow kernel writes only as many copies as the time limit allows, but at least two.
        """
        affordable = int(self.max_seconds / max(trial.measurement.samples.values(), default=math.inf))
        count = min(sets, max(affordable, 2))
        executable = self.bind(trial, count)
        trial.poison_scratch()
        if differing := self._find_differing(executable, count):
            message = f"copy {differing} of {max(count, 2)} differs: a race"
            trial.judge(Check(False, "repeat", message=message, diagnosis=Diagnosis(RACE)))
        elif breach := self.arena.find_breach(0) or self.arena.find_breach(count - 1) or trial.find_scratch_fault():
            trial.judge(Check(False, "guard", message=breach, diagnosis=Diagnosis(OUTSIDE)))

    def _find_differing(self, executable: Executable, count: int) -> int:
        """The number of the copy that differs from the first, or 0; one set is written twice."""
        self._launch_on_each(executable, count)
        if count > 1:
            return next((index + 1 for index in range(1, count) if not self.arena.equals_first(index)), 0)
        first = self.arena.read()
        self._launch_on_each(executable, count)
        return 0 if have_same_bits(self.arena.read(), first) else 2

    def _launch_on_each(self, executable: Executable, count: int) -> None:
        """Launch once on each of the first `count` sets, their outputs made ready."""
        self.arena.reset(self.inputs, count)
        for start in range(0, count, self.max_launches):
            executable.time(min(count - start, self.max_launches))
