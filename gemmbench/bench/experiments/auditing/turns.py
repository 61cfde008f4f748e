"""The turns that one executable makes over its operand sets, and what is wrong with their results."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gemmbench.backends.base import Executable
from gemmbench.bench.experiments.auditing.audit_case import CHANGE, AuditCase, Turn
from gemmbench.bench.experiments.trial import Trial
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.verify.reference import Check

_SAMPLES = 8
_MOST_ROWS = 128
_UNJUDGED = Check(False, "audit")


@dataclass(frozen=True)
class Turns:
    """Turns of the `executable` of a trial over the first `count` sets; `case` is that of the trial."""

    arena: Arena
    case: AuditCase
    trial: Trial
    executable: Executable
    count: int
    max_launches: int

    @property
    def factors(self) -> tuple[float, ...]:
        """The factors of these sets."""
        return self.arena.factors[: self.count]

    def make_both(self, again: int) -> tuple[Turn, Turn]:
        """A turn over results of earlier launches, and one over NaN; the same bits must come of both.

        The second is over the first `again` sets. Where C is read all the same, both turns begin with
        finite numbers, which differ. Likewise the first finds what earlier launches left in the
        workspaces, and the second finds NaN: neither may matter.
        """
        if self.trial.chain.reads_c:
            self.arena.fill_outputs(self.count, self.trial.fills[0])
        self.arena.keep_result()
        first = self.make_turn()
        self.arena.keep_result()
        self.arena.fill_outputs(again, self.trial.fills[-1])
        self.trial.poison_scratch()
        second = replace(self, count=again).make_turn(repeats=first.check is None)
        comparable = self.trial.chain.deterministic and first.check is second.check is None
        if comparable and not self.arena.holds_kept_result():
            second = Turn(_UNJUDGED, differs=True)
        return first, second

    def make_turn(self, repeats: bool = False) -> Turn:
        """Launch once on each set, and judge the results.

        A turn that `repeats` a right one is right where it gives the same bits, and so is the turn of a
        later block.
        """
        self._launch()
        leaders = self._find_leaders() if self.trial.chain.deterministic else list(range(self.count))
        one_leader = not any(leaders)
        known = one_leader and (self.arena.holds_kept_result() if repeats else self._holds_audited_result())
        for index in dict.fromkeys([] if known else leaders):
            result = self.arena.read_rows(self.case.rows, index)
            check = self.case.judge(result, self.factors[index], self.case.rows)
            if not check.ok:
                return self._fail(check, index)
        if one_leader and self.trial.audited is None:
            self.trial.audited = self.arena.sum_result()
        return self._compare_sets(leaders)

    def _holds_audited_result(self) -> bool:
        """Whether the first set holds the result that an audit of this trial has found right before."""
        return self.trial.audited is not None and self.trial.audited == self.arena.sum_result()

    def _launch(self) -> None:
        if self.case.inputs.initial is not None:
            self.arena.reset(self.case.inputs, self.count, factor=CHANGE)
        self.arena.rotation.position = 0
        for start in range(0, self.count, self.max_launches):
            self.executable.time(min(self.count - start, self.max_launches))

    def _find_leaders(self) -> list[int]:
        """For each set, the one of whose result its own must be a multiple."""
        return [0 if self.case.is_linear else self.factors.index(factor) for factor in self.factors]

    def _compare_sets(self, leaders: list[int]) -> Turn:
        """Compare the result of each set with that of its leader, on the device."""
        led = [(leader, index) for index, leader in enumerate(leaders) if leader != index]
        ratios = [self.factors[index] / self.factors[leader] for leader, index in led]
        unlike = self.arena.count_unlike([(*pair, ratio) for pair, ratio in zip(led, ratios, strict=True)])
        pair = next((pair for pair, elements in zip(led, unlike, strict=True) if elements), None)
        return self._judge_unlike(*pair) if pair else Turn()

    def _judge_unlike(self, leader: int, index: int) -> Turn:
        """Judge two sets whose results are unlike, in the rows where they are."""
        one, other = (self.arena.read(number).astype(np.float64) for number in (leader, index))
        unlike = one * self.factors[index] != other * self.factors[leader]
        rows = self.case.rows
        if len(rows) < len(one):
            rows = np.flatnonzero(unlike.any(axis=1))[:_MOST_ROWS]
        for number, result in ((index, other), (leader, one)):
            check = self.case.judge(result[rows], self.factors[number], rows)
            if not check.ok:
                return self._fail(check, number)
        return Turn(_UNJUDGED, index, differs=True)

    def _fail(self, check: Check, index: int) -> Turn:
        samples = [self.arena.read_rows(self.case.rows, number) for number in range(min(self.count, _SAMPLES))]
        return Turn(check, index, samples, unchanged=self.arena.holds_kept_result())
