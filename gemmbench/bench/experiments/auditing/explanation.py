"""Why a kernel that was right before timing is wrong after it, in words.

The rows that a kernel left in the first few operand sets are often exact multiples of what set 0
should hold, and these multiples name the operands that it used: those of an earlier launch, or of
another set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gemmbench.bench.experiments.auditing.audit_case import CHANGE, CHANGES, AuditCase, Turn
from gemmbench.bench.verify.diagnosis import RACE, Diagnosis
from gemmbench.bench.verify.reference import Check

Multiples = Sequence[float | None]
Cause = tuple[str, str]
"""The key of a cause, and its words."""

_STALE = "C still holds the result of an earlier launch"
_ORDER = (
    "the results of equal launches differ, if only within rounding: a race, or sums whose order changes; "
    "if they may, as with atomic additions, declare `deterministic: false` in the manifest"
)


def explain(turns: tuple[Turn, Turn], factors: Sequence[float], case: AuditCase) -> Check:
    """The failed check of an audit, with its likely cause, from its turns over sets with these factors."""
    first, second = turns
    failed = first if first.check is not None else second
    assert failed.check is not None
    if failed.differs:
        return _make_check(failed.check, "order of sums", _ORDER)
    multiples = [case.find_multiple(sample) for sample in failed.samples]
    known = _explain_stale(first, second, right_at_first=multiples[:1] == [CHANGE * factors[0]])
    known = known or _explain_old_operands(multiples, factors) or _explain_other_sets(multiples, factors)
    if known:
        return _make_check(failed.check, *known)
    return _describe_late_fault(failed, second, multiples, factors)


def _make_check(check: Check, cause: str, words: str) -> Check:
    picture = check.diagnosis.map if check.diagnosis else ""
    return replace(check, rule="audit", message=words, diagnosis=Diagnosis(cause, words, picture))


def _explain_stale(first: Turn, second: Turn, right_at_first: bool) -> Cause | None:
    """C holds what it held before: does the kernel write at all, and when?"""
    if first.unchanged and second.check is None:
        return "skips a filled C", f"{_STALE}: it is computed only where C is NaN"
    if (first.unchanged or right_at_first) and _holds_only_nan(second):
        return "stops writing", f"{_STALE}, and NaN where it held NaN: the kernel has stopped writing"
    return None


def _holds_only_nan(turn: Turn) -> bool:
    return bool(turn.samples) and all(np.isnan(sample.astype(np.float64)).all() for sample in turn.samples)


def _explain_old_operands(multiples: Multiples, factors: Sequence[float]) -> Cause | None:
    """The result is that of operands as they were before the audit changed them."""
    of_a, of_b = CHANGES
    if _are_equal(multiples, factors):
        return "remembers", "new operands give the result of old ones: it is kept from an earlier launch"
    if _are_equal(multiples, [of_a * factor for factor in factors]):
        return "keeps B", "the result is that of B as it was in an earlier launch: the kernel keeps a copy of B"
    if _are_equal(multiples, [of_b * factor for factor in factors]):
        return "keeps A", "the result is that of A as it was in an earlier launch: the kernel keeps a copy of A"
    return None


def _explain_other_sets(multiples: Multiples, factors: Sequence[float]) -> Cause | None:
    """The result is that of another operand set."""
    right = [CHANGE * factor for factor in factors]
    if len(multiples) < 2:
        return None
    if len(set(multiples)) == 1 and None not in multiples:
        words = "every operand set holds the same result: the kernel always reads the operands of one set"
        return "wrong operand set", f"{words}, or repeats an earlier result"
    if _are_nearly_equal(multiples, [*right[1:], right[0]], right):
        return "wrong operand set", "set 0 holds the result of set 1: the kernel writes to the C of another operand set"
    if _are_nearly_equal(multiples, [right[-1], *right[:-1]], right):
        return "wrong operand set", "set 1 holds the result of set 0: the kernel reads the operands of another set"
    return None


def _are_nearly_equal(multiples: Multiples, wanted: Sequence[float], right: Sequence[float]) -> bool:
    """Each multiple is the one wanted, but for one that may be right: that of the first or last launch of a turn."""
    others = [one for one, other in zip(multiples, wanted, strict=False) if one != other]
    known = [one for one, other in zip(multiples, right, strict=False) if one == other]
    return len(multiples) > 2 and len(others) <= 1 and others == known[: len(others)]


def _are_equal(multiples: Multiples, wanted: Sequence[float]) -> bool:
    """Each multiple is the one wanted, as far as there are samples."""
    return bool(multiples) and all(one == other for one, other in zip(multiples, wanted, strict=False))


def _describe_late_fault(failed: Turn, second: Turn, multiples: Multiples, factors: Sequence[float]) -> Check:
    """What is wrong where no cause is known."""
    check = failed.check
    assert check is not None
    where = f"set {failed.index}: " if len(factors) > 1 else ""
    if any(multiple == CHANGE * factor for multiple, factor in zip(multiples, factors, strict=False)):
        words = "some operand sets are right: a race, or state that is kept between launches"
        return _make_check(check, RACE, f"{where}{check.message}: {words}")
    if failed is not second and second.check is None:
        words = "right where C held NaN, but not where it held the result of an earlier launch"
        return _make_check(check, "skips a filled C", f"{words}: {where}{check.message}")
    cause = check.diagnosis.cause if check.diagnosis else ""
    return _make_check(check, cause or "wrong later", f"right before timing, wrong after it: {where}{check.message}")
