"""Causes that one launch cannot show: launch a wrong kernel again, also with other operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gemmbench.backends.base import Executable
from gemmbench.bench.operands import guards
from gemmbench.bench.operands.arena import Arena, Inputs, have_same_bits
from gemmbench.bench.operands.operand_values import Operands
from gemmbench.bench.verify.diagnosis import NEVER_WRITTEN, RACE, UNKNOWN
from gemmbench.bench.verify.reference import Check, Reference


@dataclass(frozen=True)
class Relauncher:
    """A kernel that failed, bound to the first operand set; `bind` binds it again in a mode.

    `fill_scratch` fills what it may not read of its workspaces with a byte; None without a workspace.
    `fill` is the byte that filled C before the launch that failed.
    """

    arena: Arena
    executable: Executable
    bind: Callable[[str], Executable]
    modes: Sequence[str]
    fill_scratch: Callable[[int], None] | None
    fill: int = guards.NAN

    def __call__(
        self, data: Operands, poisoned: bool, mode: str | None = None, scratch: int = guards.NAN
    ) -> np.ndarray:
        """C after a launch on `data`; before it, `fill` fills C if `poisoned`, and `scratch` fills workspaces.

        Otherwise C is data.C.

        Raises what a launch raises.
        """
        executable = self.executable if mode is None else self.bind(mode)
        inputs = Inputs((data.A, data.B), None if poisoned else data.C)
        self.arena.write(inputs, 1)
        self.arena.reset(inputs, 1, self.fill)
        if self.fill_scratch is not None:
            self.fill_scratch(scratch)
        executable.time(1)
        self.arena.find_breach()  # restores what this launch may have overwritten
        return self.arena.read()


def explain_by_relaunch(
    check: Check, result: np.ndarray, reference: Reference, launch: Relauncher, passed: bool
) -> Check:
    """The failed check of `result`, with a better cause where further launches give one.

    `passed`: an earlier check of the same kernel passed. The operands are restored.
    Raises what a launch raises.
    """
    try:
        better = (
            _find_race(check, result, reference, launch)
            or _find_kept_state(check, result, reference, launch, passed)
            or _find_read_of_scratch(check, reference, launch)
            or _find_read_of_poison(check, reference, launch)
            or _find_use_of_finite(check, result, reference, launch)
        )
    finally:
        launch.arena.write(Inputs((reference.operands.A, reference.operands.B)), 1)
    if better is None or check.diagnosis is None:
        return check
    cause, words = better
    message = check.message.removesuffix(f": {check.diagnosis.words}") + f": {words}"
    return replace(check, message=message, diagnosis=replace(check.diagnosis, cause=cause, words=words))


def _find_race(check: Check, result: np.ndarray, reference: Reference, launch: Relauncher) -> tuple[str, str] | None:
    """The same operands give different results in a second launch or in another order of threads.

    Sums of real numbers may differ with the order of atomic additions, so there only a correct
    second result counts.
    """
    for mode in (None, *(launch.modes if len(launch.modes) > 1 else ())):
        again = launch(reference.operands, not reference.beta, mode)
        if have_same_bits(again, result):
            continue
        right = _check_of(check, reference)(again).ok
        if right or check.rule == "exact":
            how = "is right" if right else f"differs from it in {_count_differences(again, result)} elements"
            what = "a second launch on the same operands" if mode is None else "the threads in another order"
            joined = f"{what} {how}" if mode is None else f"with {what} the result {how}"
            return RACE, f"{joined}: a race, a missing __syncthreads(), or uninitialized memory"
    return None


def _count_differences(one: np.ndarray, other: np.ndarray) -> int:
    return int((one.astype(np.float64) != other.astype(np.float64)).sum())


def _find_kept_state(
    check: Check, result: np.ndarray, reference: Reference, launch: Relauncher, passed: bool
) -> tuple[str, str] | None:
    """Other operands give the same result, so it was computed in an earlier launch."""
    cause = check.diagnosis.cause if check.diagnosis else ""
    if cause == NEVER_WRITTEN and passed and np.isnan(result.astype(np.float64)).all():
        return "remembers", "C was not written, although an earlier launch was right: state is kept between launches"
    data = reference.operands
    if cause != UNKNOWN or not data.A.any() or not data.B.any():
        return None
    other = launch(Operands(-data.A, data.B, data.C), not reference.beta)
    if not have_same_bits(other, result):
        return None
    since = "an earlier launch was right: " if passed else ""
    return "remembers", f"{since}other operands give the same result: it was kept from an earlier launch"


def _find_read_of_scratch(check: Check, reference: Reference, launch: Relauncher) -> tuple[str, str] | None:
    """NaN where its workspace was NaN: a launch on a workspace of zeros is right."""
    if launch.fill_scratch is None or check.diagnosis is None or "never written" not in check.diagnosis.words:
        return None
    if not _check_of(check, reference)(launch(reference.operands, not reference.beta, scratch=0)).ok:
        return None
    words = "computed from bytes of its workspace that it had not written, where gemmbench puts NaN: set them, or"
    return "read unset workspace", f"{words} declare them under `zeroed`"


def _find_read_of_poison(check: Check, reference: Reference, launch: Relauncher) -> tuple[str, str] | None:
    """NaN where C was NaN: a launch on a C of numbers shows whether they were read or skipped."""
    if reference.beta or check.diagnosis is None or "never written" not in check.diagnosis.words:
        return None
    data, judge = reference.operands, _check_of(check, reference)
    again = launch(data, False)
    if judge(again).ok:
        return "C read at beta 0", "C is read although beta is 0: it may hold NaN, and 0 * NaN is NaN"
    if judge(again - data.C).ok:
        return "C read at beta 0", "the product is added to C although beta is 0: its old values must not be read"
    words = check.diagnosis.words
    if not np.isnan(again.astype(np.float64)).any():
        for doubt in (", or C was read although beta is 0", ", or computed from memory outside A or B"):
            words = words.replace(doubt, "")
        return check.diagnosis.cause, words
    which = "" if words.startswith("C was") else words.partition(" never written")[0].rpartition(" ")[0] + ": "
    words = "computed from memory outside A or B, where gemmbench puts NaN, or from shared memory before it was written"
    return "read outside A or B", f"{which}{words}"


def _find_use_of_finite(
    check: Check, result: np.ndarray, reference: Reference, launch: Relauncher
) -> tuple[str, str] | None:
    """C was finite: elements still hold what it was filled with, or the product was added to it."""
    if reference.beta or launch.fill == guards.NAN:
        return None
    if _check_of(check, reference)(launch(reference.operands, False) - reference.operands.C).ok:
        return "C read at beta 0", "the product is added to C although beta is 0; `reads_c` allows 0 * C only"
    kept = (result.reshape(-1).view(np.uint8).reshape(result.size, -1) == launch.fill).all(axis=1)
    if kept.any():
        return NEVER_WRITTEN, f"{int(kept.sum())} of {result.size} elements were never written"
    return None


def _check_of(check: Check, reference: Reference) -> Callable[[np.ndarray], Check]:
    return reference.check_exact if check.rule == "exact" else reference.check_rounding
