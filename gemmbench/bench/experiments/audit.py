"""The audit of timed executables, which run again on operands that they have not seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gemmbench.backends.base import Executable
from gemmbench.bench.experiments.trial import Trial
from gemmbench.bench.experiments.workload import CHANGE, CHANGES, SCALE_CHANGES, AuditCase, Turn
from gemmbench.bench.operands import guards
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.operand_values import Operands
from gemmbench.bench.timing.rounds import LONG_WINDOW
from gemmbench.bench.verify.diagnosis import RACE, Diagnosis
from gemmbench.bench.verify.reference import Check
from gemmbench.errors import DeviceLost, PlanError

Multiples = Sequence[float | None]
Factors = Sequence[float]
"""The factors of the results in the sets' arrays."""
Cause = tuple[str, str]
"""The key of a cause, and its description."""

_MOST = 0.75
"""The fraction of an old result's rows that must be multiples.

It is below 1, because timed operands were changed in a few rows.
"""
_STALE = "C still holds the result of an earlier launch"
_ORDER = (
    "the results of equal launches differ, even if only by rounding: this is a race, or sums whose order "
    "changes; if this is allowed, as with atomic additions, declare `deterministic: false` in the manifest"
)


def explain(turns: tuple[Turn, Turn], case: AuditCase) -> Check:
    """Return the failed check of an audit, with its likely cause, given the turns of the audit."""
    first, second = turns
    failed = first if first.check is not None else second
    assert failed.check is not None
    if failed.differs:
        return make_check(failed.check, "order of sums", _ORDER)
    factors = failed.factors
    multiples = [case.find_multiple(sample) for sample in failed.samples]
    right = [multiple == CHANGE * factor for multiple, factor in zip(multiples, factors, strict=False)]
    known = _explain_stale(first, second, right, [case.find_multiple(sample) for sample in second.samples])
    nearly = [case.find_multiple(sample, _MOST) for sample in failed.samples]
    known = known or _explain_old_operands(nearly, factors) or _explain_other_sets(nearly, factors)
    if known:
        return make_check(failed.check, *known)
    return _describe_late_fault(failed, second, any(right))


def make_check(check: Check, cause: str, words: str) -> Check:
    """Return a failed check of an audit with this cause and message."""
    picture = check.diagnosis.map if check.diagnosis else ""
    return replace(check, rule="audit", message=words, diagnosis=Diagnosis(cause, words, picture))


def _explain_stale(first: Turn, second: Turn, right: Sequence[bool], later: Multiples) -> Cause | None:
    """Diagnose a C that still has its old contents, by finding out when the kernel writes, if at all.

    `right` tells which samples of the failed turn are right. `later` holds the multiples of the second turn. In that
    turn, a graph may have found C already filled when it returned to a set. Each array then still holds the result of
    its own set.
    """
    wanted = [CHANGE * factor for factor in second.factors]
    is_computed = second.check is None or _are_nearly_equal(later, [*wanted[1:], *wanted[:1]], wanted)
    if first.unchanged and is_computed and not any(right):
        return "leaves an old C", f"{_STALE}: it is computed only where C is NaN"
    if (first.unchanged or any(right[:1])) and _left_c_unwritten(second):
        return "stops writing", f"{_STALE}, and NaN where it held NaN: the kernel has stopped writing"
    return None


def _left_c_unwritten(turn: Turn) -> bool:
    """Return whether a turn that began with bits of 1 in C, which are NaN, or -1 among integers, left them there."""
    return bool(turn.samples) and all(
        bool((sample == -1).all() if sample.dtype.kind == "i" else np.isnan(sample.astype(np.float64)).all())
        for sample in turn.samples
    )


def _explain_old_operands(multiples: Multiples, factors: Factors) -> Cause | None:
    """Diagnose a result that belongs to operands as they were before the audit changed them."""
    of_a, of_b = CHANGES
    if _are_equal(multiples, factors):
        return "remembers", "new operands give the result of old ones: the result is kept from an earlier launch"
    if _are_equal(multiples, [of_a * factor for factor in factors]):
        return "keeps B", "the result belongs to the B of an earlier launch: the kernel keeps a copy of B"
    if _are_equal(multiples, [of_b * factor for factor in factors]):
        return "keeps A", "the result belongs to the A of an earlier launch: the kernel keeps a copy of A"
    for name, change in SCALE_CHANGES.items():
        if _are_equal(multiples, [CHANGE / change * factor for factor in factors]):
            return f"keeps {name}", f"the result belongs to the {name} of an earlier launch: the kernel keeps a copy"
    return None


def _explain_other_sets(multiples: Multiples, factors: Factors) -> Cause | None:
    """Diagnose a result that belongs to another operand set."""
    right = [CHANGE * factor for factor in factors]
    if len(multiples) < 2:
        return None
    if len(set(multiples)) == 1 and None not in multiples:
        words = "every operand set holds the same result: the kernel always reads the operands of one set"
        return "wrong operand set", f"{words}, or repeats an earlier result"
    if _are_nearly_equal(multiples, [*right[1:], right[0]], right):
        words = "set 0 holds the result of set 1: the kernel writes to the C of another operand set, or skips launches"
        return "wrong operand set", words
    if _are_nearly_equal(multiples, [right[-1], *right[:-1]], right):
        return "wrong operand set", "set 1 holds the result of set 0: the kernel reads the operands of another set"
    return None


def _are_nearly_equal(multiples: Multiples, wanted: Sequence[float], right: Sequence[float]) -> bool:
    """Return whether each multiple is the wanted one.

    One of them, from a turn's first or last launch, may be right instead.
    """
    others = [one for one, other in zip(multiples, wanted, strict=False) if one != other]
    known = [one for one, other in zip(multiples, right, strict=False) if one == other]
    return len(multiples) > 2 and len(others) <= 1 and others == known[: len(others)]


def _are_equal(multiples: Multiples, wanted: Sequence[float]) -> bool:
    """Return whether each multiple in the existing samples is as expected."""
    return bool(multiples) and all(one == other for one, other in zip(multiples, wanted, strict=False))


def _describe_late_fault(failed: Turn, second: Turn, some_right: bool) -> Check:
    """Describe what is wrong if no cause is known."""
    check = failed.check
    assert check is not None
    where = f"set {failed.index}: " if len(failed.factors) > 1 else ""
    if some_right:
        words = "some operand sets are correct: there is a race, or state is kept between launches"
        return make_check(check, RACE, f"{where}{check.message}: {words}")
    if failed is not second and second.check is None:
        words = "correct where C held NaN, but not where it held the result of an earlier launch"
        return make_check(check, "leaves an old C", f"{words}: {where}{check.message}")
    cause = check.diagnosis.cause if check.diagnosis else ""
    return make_check(check, cause or "wrong later", f"correct before timing, wrong after it: {where}{check.message}")


_AGED = 1 / 16
_SAMPLES = 8
_MOST_ROWS = 128
_UNJUDGED = Check(False, "audit")


@dataclass(frozen=True)
class Turns:
    """Turns of a trial's `executable` over the first `count` sets. `case` is the trial's case."""

    arena: Arena
    case: AuditCase
    trial: Trial
    executable: Executable
    count: int
    max_launches: int

    def make_both(self, again: int) -> tuple[Turn, Turn]:
        """Make one turn over results of earlier launches and one over NaN. Both must give the same bits.

        The second turn covers the first `again` sets. If C is read even though beta is 0, both turns begin with finite
        numbers, which differ between the turns. Workspaces hold what earlier launches left there in the first turn, and
        NaN in the second. Neither may matter.
        """
        if self.trial.chain.reads_c:
            self.arena.fill_outputs(range(self.count), self.trial.fills[0])
        self.arena.keep_result()
        first = self.make_turn()
        self.arena.keep_result()
        self.arena.fill_outputs(range(again), self.trial.fills[-1])
        self.trial.poison_scratch()
        second = replace(self, count=again).make_turn(repeats=first.check is None)
        comparable = self.trial.chain.deterministic and first.check is second.check is None
        if comparable and not self.arena.holds_kept_result():
            second = Turn(_UNJUDGED, differs=True)
        return first, second

    def make_turn(self, repeats: bool = False) -> Turn:
        """Launch once on each set and judge the results.

        A turn that `repeats` a right turn, or a turn of a later block, is right if it gives the same bits.
        """
        self._launch()
        factors = self.arena.list_result_factors()[: self.count]
        leaders = self._find_leaders(factors) if self.trial.chain.deterministic else list(range(self.count))
        one_leader = not any(leaders)
        known = one_leader and (self.arena.holds_kept_result() if repeats else self._holds_audited_result())
        for index in dict.fromkeys([] if known else leaders):
            result = self.arena.read_rows(self.case.rows, index)
            check = self.case.judge(result, factors[index], self.case.rows)
            if not check.ok:
                return self._fail(check, index, factors)
        if one_leader and self.trial.audited is None:
            self.trial.audited = self.arena.sum_result()
        return self._compare_sets(leaders, factors)

    def _holds_audited_result(self) -> bool:
        """Return whether the first set holds the result that an earlier audit of this trial has found right."""
        return self.trial.audited is not None and self.trial.audited == self.arena.sum_result()

    def _launch(self) -> None:
        if self.arena.result.name in self.case.inputs:
            self.arena.reset(self.case.inputs, self.count, factor=CHANGE)
        self.arena.rotation.position = 0
        for start in range(0, self.count, self.max_launches):
            self.executable.time(min(self.count - start, self.max_launches))

    def _find_leaders(self, factors: Factors) -> list[int]:
        """Return, for each result, the index of the result that it must be a multiple of."""
        return [0 if self.case.is_linear else factors.index(factor) for factor in factors]

    def _compare_sets(self, leaders: list[int], factors: Factors) -> Turn:
        """Compare each result with that of its leader on the device."""
        led = [(leader, index) for index, leader in enumerate(leaders) if leader != index]
        ratios = [factors[index] / factors[leader] for leader, index in led]
        unlike = self.arena.count_unlike([(*pair, ratio) for pair, ratio in zip(led, ratios, strict=True)])
        pair = next((pair for pair, elements in zip(led, unlike, strict=True) if elements), None)
        return self._judge_unlike(*pair, factors) if pair else Turn()

    def _judge_unlike(self, leader: int, index: int, factors: Factors) -> Turn:
        """Judge two results that differ, using the rows in which they differ."""
        one, other = (self.arena.read(number).astype(np.float64) for number in (leader, index))
        unlike = one * factors[index] != other * factors[leader]
        rows = self.case.rows
        if len(rows) < len(one):
            rows = np.flatnonzero(unlike.any(axis=1))[:_MOST_ROWS]
        for number, result in ((index, other), (leader, one)):
            check = self.case.judge(result[rows], factors[number], rows)
            if not check.ok:
                return self._fail(check, number, factors)
        return Turn(_UNJUDGED, index, differs=True)

    def _fail(self, check: Check, index: int, factors: Factors) -> Turn:
        samples = [self.arena.read_rows(self.case.rows, number) for number in range(min(self.count, _SAMPLES))]
        return Turn(check, index, samples, unchanged=self.arena.holds_kept_result(), factors=factors)


@dataclass
class Audit:
    """Audits executables that are bound to all sets of `arena`, which holds the `timed` inputs.

    Call `begin`, then `run` for each executable, then `end`. If an executable is slow, its turns cover only as many
    sets as fit in `max_seconds`, but at least two. If even two take longer, the second turn covers only the first set.
    If a launch takes as long as a long window and was right once, later blocks audit it only on the first set.
    Otherwise a sweep would spend more time on audits than on timing.
    """

    arena: Arena
    timed: Operands
    case: AuditCase
    max_seconds: float
    max_launches: int
    _right: bool | None = field(default=None, init=False)
    """Whether the outputs hold correct results of the audit.

    None before its first turn, when they hold older results.
    """
    _damaged: bool = field(default=False, init=False)

    def begin(self, damaged: bool = False) -> None:
        """Change the inputs of every set. If a row has `damaged` them, write them first.

        Wrong results are not judged after damage, because another row may have kept what the damage left.
        """
        self._right, self._damaged = None, damaged
        self._change_inputs(damaged or self.timed is not self.case.inputs)

    def _change_inputs(self, write: bool) -> None:
        if write:
            self.arena.write(self.case.inputs, self.arena.sets)
        self.arena.scale_inputs(self.case.changes)
        self.arena.seal()

    def end(self) -> None:
        """Restore the timed inputs in the arena."""
        if self.timed is self.case.inputs:
            self.arena.scale_inputs([1 / change for change in self.case.changes])
        else:
            self.arena.write(self.timed, self.arena.sets)
        self.arena.seal()

    def run(self, trial: Trial, executable: Executable) -> bool:
        """Audit a trial and judge it. Raises PlanError.

        Returns whether the trial wrote only its outputs. Anything else that it changed is restored.
        """
        self._age_outputs()
        case, (count, again) = self.case.declare(trial.chain.declared), self._count_affordable(trial)
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
        elif not self._right and not self._damaged:
            trial.judge(explain(turns, case))
        if damage:
            self._change_inputs(write=True)
        return not damage

    def _restore_damaged(self) -> None:
        """Undo the damage of a row that crashed, so that it does not affect the next row."""
        if self.arena.find_damage():
            self._change_inputs(write=True)

    def _count_affordable(self, trial: Trial) -> tuple[int, int]:
        """Return the number of sets in the first turn and in the second."""
        seconds = max(trial.measurement.samples.values(), default=math.inf)
        if trial.audited is not None and seconds >= LONG_WINDOW:
            return 1, 1
        affordable = int(self.max_seconds / seconds)
        first = min(self.arena.sets, max(affordable, 2))
        return first, min(first, max(affordable, 1))

    def _age_outputs(self) -> None:
        """Fill C with multiples of results that are not right for any set or, failing that, with a constant."""
        if self._right is False:
            self.arena.fill_outputs(range(self.arena.sets), guards.FINITE)
        else:
            self.arena.scale_outputs(self.arena.sets, _AGED)
