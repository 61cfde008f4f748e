"""What one launch cannot tell: a wrong kernel is launched again, and again with other operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gemmbench.backends.base import Executable
from gemmbench.bench.operands.arena import Arena, same_bits
from gemmbench.bench.operands.fill import Operands
from gemmbench.bench.verify.diagnosis import NEVER_WRITTEN, RACE, UNKNOWN
from gemmbench.bench.verify.reference import Check, Reference


@dataclass(frozen=True)
class Launcher:
    """The kernel that failed, on the first operand set; `bind` binds it anew, in one of `modes`."""

    arena: Arena
    executable: Executable
    bind: Callable[[str], Executable]
    modes: Sequence[str]

    def __call__(self, data: Operands, poisoned: bool, mode: str | None = None) -> np.ndarray:
        """C after a launch on `data`; before it C is NaN if `poisoned`, else data.C. Raises what a launch raises."""
        executable = self.executable if mode is None else self.bind(mode)
        self.arena.write_inputs(data, 1)
        self.arena.reset_c(data, 0.0 if poisoned else 1.0, 1)
        executable.time(1)
        self.arena.breach()  # restores what this launch may have overwritten
        return self.arena.read_c()


def explained(check: Check, result: np.ndarray, reference: Reference, launch: Launcher, passed: bool) -> Check:
    """The failed check of `result`, with a better cause where further launches give one.

    `passed` says that an earlier check of the same kernel was right. The operands are put back.
    Raises what a launch raises.
    """
    try:
        found = (
            _race(check, result, reference, launch)
            or _memory(check, result, reference, launch, passed)
            or _poison(check, reference, launch)
        )
    finally:
        launch.arena.write_inputs(reference.operands, 1)
    if found is None or check.diagnosis is None:
        return check
    cause, words = found
    message = check.message.removesuffix(f": {check.diagnosis.words}") + f": {words}"
    return replace(check, message=message, diagnosis=replace(check.diagnosis, cause=cause, words=words))


def _race(check: Check, result: np.ndarray, reference: Reference, launch: Launcher) -> tuple[str, str] | None:
    """The same operands give other results: in a second launch, or in another order of the threads.

    Sums of real numbers may differ with the order of atomic additions, so there only a second
    result that is right is a sign.
    """
    for mode in (None, *(launch.modes if len(launch.modes) > 1 else ())):
        again = launch(reference.operands, not reference.beta, mode)
        if same_bits(again, result):
            continue
        right = _judge(check, reference)(again).ok
        if right or check.rule == "exact":
            how = "is right" if right else f"differs from it in {_differing(again, result)} elements"
            what = "a second launch on the same operands" if mode is None else "the threads in another order"
            joined = f"{what} {how}" if mode is None else f"with {what} the result {how}"
            return RACE, f"{joined}: a race, a missing __syncthreads(), or memory that nobody set"
    return None


def _differing(one: np.ndarray, other: np.ndarray) -> int:
    return int((one.astype(np.float64) != other.astype(np.float64)).sum())


def _memory(
    check: Check, result: np.ndarray, reference: Reference, launch: Launcher, passed: bool
) -> tuple[str, str] | None:
    """Other operands give the same result: it was computed in an earlier launch."""
    cause = check.diagnosis.cause if check.diagnosis else ""
    if cause == NEVER_WRITTEN and passed and np.isnan(result.astype(np.float64)).all():
        return "remembers", "C was not written, though an earlier launch was right: state is kept between launches"
    data = reference.operands
    if cause != UNKNOWN or not data.A.any() or not data.B.any():
        return None
    other = launch(Operands(-data.A, data.B, data.C), not reference.beta)
    if not same_bits(other, result):
        return None
    since = "an earlier launch was right: " if passed else ""
    return "remembers", f"{since}other operands give the same result: it is remembered from an earlier launch"


def _poison(check: Check, reference: Reference, launch: Launcher) -> tuple[str, str] | None:
    """NaN where C was NaN before: launched on a C of numbers, the kernel shows whether it read or skipped them."""
    if reference.beta or check.diagnosis is None or "never written" not in check.diagnosis.words:
        return None
    data, judge = reference.operands, _judge(check, reference)
    again = launch(data, False)
    if judge(again).ok:
        return "C read at beta 0", "C is read though beta is 0: what lies there may be NaN, and 0 * NaN is NaN"
    if judge(again - data.C).ok:
        return "C read at beta 0", "the product is added to C though beta is 0: what lies there must not be read"
    words = check.diagnosis.words
    if not np.isnan(again.astype(np.float64)).any():
        for doubt in (", or C was read though beta is 0", ", or made from memory outside A and B"):
            words = words.replace(doubt, "")
        return check.diagnosis.cause, words
    which = "" if words.startswith("C was") else words.partition(" never written")[0].rpartition(" ")[0] + ": "
    return "read outside A or B", f"{which}made from memory outside A and B, where NaN lies"


def _judge(check: Check, reference: Reference) -> Callable[[np.ndarray], Check]:
    return reference.check_exact if check.rule == "exact" else reference.check_rounding
