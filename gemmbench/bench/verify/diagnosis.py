"""Explain a wrong result: how much is wrong, where, and the most likely cause.

Three questions, in this order. Do the wrong elements hold what is there if a kernel never writes
them? Does a well-known mistake give exactly these values (hypotheses.py)? Does their location
suggest a cause (wrong_region.py)? A cause is likely, not proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gemmbench.bench.verify import wrong_region as regions
from gemmbench.bench.verify.hypotheses import find_explanation
from gemmbench.bench.verify.wrong_region import WrongRegion
from gemmbench.bench.verify.wrong_result import ROUNDING_FACTOR, WrongResult

NEVER_WRITTEN, UNKNOWN, RACE, OUTSIDE = "never written", "unknown", "race", "wrote outside"
LOWER_PRECISION = "lower precision"
_LARGEST_ROUNDING = 1e5
"""In units of rounding. One lost product of f32 gives a larger error from K = 8 to 4096."""


@dataclass(frozen=True)
class Diagnosis:
    """The key of the cause, its words ("" if none fits), and a map of C ("" if all is wrong)."""

    cause: str
    words: str = ""
    map: str = ""


def diagnose(wrong: WrongResult) -> Diagnosis:
    """Find the most likely cause of a wrong result."""
    region = regions.find_wrong_region(wrong)
    with np.errstate(all="ignore"):  # a hypothesis may overflow 16 bits
        cause, words = (
            _explain_contents(wrong, region) or _explain_values(wrong, region) or _explain_region(wrong, region)
        )
    return Diagnosis(cause, words, "" if region.kind == regions.ALL else regions.draw_map(wrong))


def describe(wrong: WrongResult, diagnosis: Diagnosis) -> str:
    """A sentence: how many elements are wrong, the first of them, and the cause."""
    i, j = (int(index) for index in np.argwhere(wrong.mask)[0])
    first = f"first C[{wrong.rows[i]}][{j}] = {wrong.got[i, j]:.9g}, should be {wrong.want[i, j]:.9g}"
    share = f"{int(wrong.mask.sum())} of {wrong.mask.size} elements wrong, {first}"
    rows = "" if wrong.has_all_rows or not wrong.exact else f"{len(wrong.suspects)} of {wrong.problem.M} rows wrong; "
    return f"{rows}{share}: {diagnosis.words}" if diagnosis.words else f"{rows}{share}"


def _explain_contents(wrong: WrongResult, region: WrongRegion) -> tuple[str, str] | None:
    """The wrong elements hold what the kernel did not compute: NaN, the old C, or 0."""
    got = wrong.got[wrong.mask]
    before = wrong.operands.C[wrong.rows].astype(np.float64)[wrong.mask]
    if np.isnan(got).all():
        if region.kind == regions.ALL:
            words = "C was never written" if wrong.beta else "C was never written, or C was read although beta is 0"
            return NEVER_WRITTEN, words
        words = f"{region.subject} {_was_or_were(region)} never written, or computed from memory outside A or B"
        return _unwritten_cause(region), words + _advice(region)
    if wrong.beta and (got == before).all():
        words = f"{region.subject} {_was_or_were(region)} never written: C is unchanged"
        return _unwritten_cause(region), words + _advice(region)
    if not got.any():
        return "zeros", f"{region.subject} {'hold' if region.plural else 'holds'} 0{_advice(region)}"
    return None


def _explain_values(wrong: WrongResult, region: WrongRegion) -> tuple[str, str] | None:
    explanation = find_explanation(wrong)
    if explanation is None:
        return None
    everywhere = region.kind in (regions.ALL, regions.SOME)
    words = f"{'' if everywhere else region.subject.rstrip(',') + ': '}as {explanation.words}"
    return explanation.cause, words if wrong.exact else f"{words}, {_error(wrong)}"


def _explain_region(wrong: WrongResult, region: WrongRegion) -> tuple[str, str]:
    if region.advice:
        return f"edge {region.kind}", f"only {region.subject.rstrip(',')}: {region.advice}"
    if math.isfinite(wrong.error) and wrong.error < _LARGEST_ROUNDING and wrong.mask.mean() > 0.2:
        return LOWER_PRECISION, f"{_error(wrong)}: computed in a lower precision, or products are lost"
    if region.kind in (regions.TILES, regions.STRIPES):
        return f"some {region.kind}", f"only {region.subject.rstrip(',')}"
    return UNKNOWN, ""


def _error(wrong: WrongResult) -> str:
    return f"the error is {wrong.error:.0f} units of rounding, {ROUNDING_FACTOR} are allowed"


def _unwritten_cause(region: WrongRegion) -> str:
    """The key of the cause for elements that were never written."""
    if region.advice:
        return f"edge {region.kind}"
    return "tiles never written" if region.kind == regions.TILES else NEVER_WRITTEN


def _advice(region: WrongRegion) -> str:
    return f": {region.advice}" if region.advice else ""


def _was_or_were(region: WrongRegion) -> str:
    return "were" if region.plural else "was"
