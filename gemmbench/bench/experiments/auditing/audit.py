"""The audit of what was timed: the very executables run again, on operands that they have not seen.

Operand sets differ by factors (`operands.set_factors`). The audit doubles the first input of each
and negates the second, so that no result of an earlier launch is right any more. Each executable
then makes two turns over the sets. In the first C holds an earlier, finite result, which must be
replaced; in the second it is full of NaN, so every element must be written. Where C is read (beta is
not 0), it is reset before both. Set 0 is compared with the reference, every other set on the device
with the one it is a multiple of.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from gemmbench.backends.base import Executable
from gemmbench.bench.experiments.auditing.audit_case import CHANGE, CHANGES, AuditCase
from gemmbench.bench.experiments.auditing.explanation import explain
from gemmbench.bench.experiments.auditing.turns import Turns
from gemmbench.bench.experiments.trial import Trial
from gemmbench.bench.operands import guards
from gemmbench.bench.operands.arena import Arena, Inputs
from gemmbench.bench.timing.rounds import LONG_WINDOW
from gemmbench.errors import DeviceLost, PlanError


@dataclass
class Audit:
    """Audits executables that are bound to all sets of `arena`, which holds the `timed` inputs.

    Call `begin`, `run` for each executable, and `end`. A slow executable makes its turns over as
    many sets as `max_seconds` allow, but at least two; if even these take longer, its second turn is
    over the first set only. Once a launch that is a long window by itself was right, later blocks audit
    it on the first set only: otherwise a sweep would spend more time on the audit than on timing.
    """

    arena: Arena
    timed: Inputs
    case: AuditCase
    max_seconds: float
    max_launches: int
    _right: bool | None = field(default=None, init=False)
    """Whether the outputs hold right results of the audit; None before its first turn."""

    def begin(self, write: bool = False) -> None:
        """Change the inputs of every set; `write` them first if they are not intact."""
        self._right = None
        self._change_inputs(write or self.timed is not self.case.inputs)

    def _change_inputs(self, write: bool) -> None:
        if write:
            self.arena.write(self.case.inputs, self.arena.rotation.sets)
        self.arena.scale_inputs(CHANGES)
        self.arena.seal()

    def end(self) -> None:
        """Let the arena hold the timed inputs again."""
        if self.timed is self.case.inputs:
            self.arena.scale_inputs([1 / change for change in CHANGES])
        else:
            self.arena.write(self.timed, self.arena.rotation.sets)
        self.arena.seal()

    def run(self, trial: Trial, executable: Executable) -> bool:
        """Audit a trial and judge it. Raises PlanError.

        Returns whether it wrote nothing but its outputs; what else it changed is restored.
        """
        self._age_outputs()
        case, (count, again) = self.case.declare_class(trial.chain.declared_class), self._count_affordable(trial)
        self._right = False
        try:
            turns = Turns(self.arena, case, trial, executable, count, self.max_launches).make_both(again)
        except DeviceLost:
            raise
        except PlanError:
            self._restore_damaged()
            raise
        damage = self.arena.find_damage()
        fault = damage or trial.find_scratch_fault()
        self._right = not fault and all(turn.check is None for turn in turns)
        if fault:
            trial.fail_guard(fault)
        elif not self._right:
            trial.judge(explain(turns, self.arena.factors[:count], case))
        if damage:
            self._change_inputs(write=True)
        return not damage

    def _restore_damaged(self) -> None:
        """Let a row that crashed leave nothing to the next one."""
        if self.arena.find_damage():
            self._change_inputs(write=True)

    def _count_affordable(self, trial: Trial) -> tuple[int, int]:
        """The sets of the first turn and of the second."""
        seconds = max(trial.measurement.samples.values(), default=math.inf)
        if trial.audited is not None and seconds >= LONG_WINDOW:
            return 1, 1
        affordable = int(self.max_seconds / seconds)
        first = min(self.arena.rotation.sets, max(affordable, 2))
        return first, min(first, max(affordable, 1))

    def _age_outputs(self) -> None:
        """Make right results of the row before look like those of an earlier launch, which are finite and wrong."""
        sets = self.arena.rotation.sets
        if self._right:
            self.arena.scale_outputs(sets, 1 / CHANGE)
        elif self._right is not None:
            self.arena.fill_outputs(sets, guards.FINITE)
