"""A wrong result explained: how much, where, and what most likely went wrong.

Three questions, in this order: do the wrong elements hold what a kernel leaves that never
wrote them; are they what a well-known mistake would give (hypotheses.py); or does the
place alone say something (place.py)? A cause is likely, not proved: the words say what fits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gemmbench.bench.verify import wrong_region as place
from gemmbench.bench.verify.hypotheses import fitting
from gemmbench.bench.verify.wrong_region import Place
from gemmbench.bench.verify.wrong_result import ROUNDING_FACTOR, Wrong

NEVER_WRITTEN, UNKNOWN, RACE, OUTSIDE = "never written", "unknown", "race", "wrote outside"
_LOWER_PRECISION = 1e5
"""Units of rounding; one lost product of f32 gives more from K = 8 to 4096."""


@dataclass(frozen=True)
class Diagnosis:
    """The key of the cause, its words (a clause, "" if nothing fits), and a map of C ("" if all is wrong)."""

    cause: str
    words: str = ""
    map: str = ""


def diagnose(wrong: Wrong) -> Diagnosis:
    """Explain a wrong result."""
    where = place.find(wrong)
    with np.errstate(all="ignore"):  # a guess may overflow 16 bits
        cause, words = _held(wrong, where) or _computed(wrong, where) or _placed(wrong, where)
    return Diagnosis(cause, words, "" if where.kind == place.ALL else place.drawn(wrong))


def sentence(wrong: Wrong, diagnosis: Diagnosis) -> str:
    """How many elements are wrong, the first of them, and the cause."""
    i, j = (int(index) for index in np.argwhere(wrong.mask)[0])
    first = f"first C[{wrong.rows[i]}][{j}] = {wrong.got[i, j]:.9g}, should be {wrong.want[i, j]:.9g}"
    share = f"{int(wrong.mask.sum())} of {wrong.mask.size} elements wrong, {first}"
    rows = "" if wrong.whole or not wrong.exact else f"{len(wrong.suspects)} of {wrong.problem.M} rows wrong; "
    return f"{rows}{share}: {diagnosis.words}" if diagnosis.words else f"{rows}{share}"


def _held(wrong: Wrong, where: Place) -> tuple[str, str] | None:
    """What an element holds that the kernel did not compute: NaN, C as it was, or 0."""
    got = wrong.got[wrong.mask]
    before = wrong.operands.C[wrong.rows].astype(np.float64)[wrong.mask]
    if np.isnan(got).all():
        if where.kind == place.ALL:
            words = "C was never written" if wrong.beta else "C was never written, or C was read though beta is 0"
            return NEVER_WRITTEN, words
        return _cause(
            where
        ), f"{where.words} {_were(where)} never written, or made from memory outside A and B{_see(where)}"
    if wrong.beta and (got == before).all():
        return _cause(where), f"{where.words} {_were(where)} never written: C is as it was before{_see(where)}"
    if not got.any():
        return "zeros", f"{where.words} {'hold' if where.plural else 'holds'} 0{_see(where)}"
    return None


def _computed(wrong: Wrong, where: Place) -> tuple[str, str] | None:
    found = fitting(wrong)
    if found is None:
        return None
    spread = where.kind in (place.ALL, place.SOME)
    words = f"{'' if spread else where.words.rstrip(',') + ': '}as {found.words}"
    return found.cause, words if wrong.exact else f"{words}, {_units(wrong)}"


def _placed(wrong: Wrong, where: Place) -> tuple[str, str]:
    if where.advice:
        return f"edge {where.kind}", f"only {where.words.rstrip(',')}: {where.advice}"
    if math.isfinite(wrong.error) and wrong.error < _LOWER_PRECISION and wrong.mask.mean() > 0.2:
        return "lower precision", f"{_units(wrong)}: a lower precision inside, or lost products"
    if where.kind in (place.TILES, place.STRIPES):
        return f"some {where.kind}", f"only {where.words.rstrip(',')}"
    return UNKNOWN, ""


def _units(wrong: Wrong) -> str:
    return f"{wrong.error:.0f} units of rounding, {ROUNDING_FACTOR} are allowed"


def _cause(where: Place) -> str:
    """The key for elements that were never written."""
    if where.advice:
        return f"edge {where.kind}"
    return "tiles never written" if where.kind == place.TILES else NEVER_WRITTEN


def _see(where: Place) -> str:
    return f": {where.advice}" if where.advice else ""


def _were(where: Place) -> str:
    return "were" if where.plural else "was"
