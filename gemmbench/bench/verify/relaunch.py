"""Finds causes that one launch cannot show, by launching a wrong kernel again, possibly with other operands."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gemmbench.backends.base import Executable, Step
from gemmbench.bench.operands import guards
from gemmbench.bench.operands.arena import Arena, have_same_bits
from gemmbench.bench.operands.operand_values import Operands, make_inputs, make_scaled_operands
from gemmbench.bench.verify.diagnosis import (
    NEVER_WRITTEN,
    NO_BARRIER,
    OTHER_LAUNCH,
    PRODUCT_NEVER_WRITTEN,
    RACE,
    UNKNOWN,
    ZEROS,
)
from gemmbench.bench.verify.manifest_doubts import find_fixed_sizes, find_integer_pointer, find_line
from gemmbench.bench.verify.other_launches import list_other_launches, write_renamed_arguments
from gemmbench.bench.verify.reference import EXACT, Check, Reference
from gemmbench.bench.verify.storage_mistakes import IsRight, StorageProbe
from gemmbench.bench.verify.wrong_result import name_inputs
from gemmbench.errors import DeviceLost, PlanError
from gemmbench.planning.epilogues import EPILOGUE_STEPS
from gemmbench.planning.manifests.variant import Exactness
from gemmbench.planning.plans.plan import Plan

_MOST_PRODUCTS, _MOST_SECONDS = 1 << 23, 3.0
"""Limits on the size of problems to relaunch and on the total time of relaunches."""


@dataclass(frozen=True)
class Relauncher:
    """A kernel that failed, bound to the first operand set. `bind` binds it again in a mode, with a change if given.

    `fill_scratch` fills those parts of its workspaces that it may not read with a byte. It is None if there is no
    workspace. `fill` is the byte that filled C before the launch that failed. `plan` is the plan of its only step, or
    None if it has several. `declared` is how exact its manifest says that it is.
    """

    arena: Arena
    executable: Executable
    bind: Callable[[str, Callable[[Step], Step] | None], Executable]
    modes: Sequence[str]
    fill_scratch: Callable[[int], None] | None
    fill: int = guards.NAN
    plan: Plan | None = None
    declared: Exactness = EXACT

    @property
    def can_fail_safely(self) -> bool:
        """Whether a failed launch loses only its own process, and the order of threads can be chosen."""
        return len(self.modes) > 1

    def __call__(
        self, data: Operands, poisoned: bool, mode: str | None = None, scratch: int = guards.NAN
    ) -> np.ndarray:
        """Return C after a launch on `data`. If `poisoned`, C is first filled with `fill`.

        Otherwise C comes from `data`. Workspaces are filled with `scratch`.

        Raises the errors of a launch.
        """
        executable = self.executable if mode is None else self.bind(mode, None)
        self._launch(executable, data, poisoned, scratch)
        self.arena.find_breach()  # restores what this launch may have overwritten
        return self.arena.read()

    def launch_padded(self, data: Operands, padding: Operands) -> np.ndarray:
        """Return the result of a launch on `data` whose rows are followed by `padding`, or by NaN.

        Raises the errors of a launch.
        """
        self._launch(self.executable, data, False, guards.NAN, padding)
        self.arena.find_breach()
        return self.arena.read()

    def try_changed(self, data: Operands, mode: str, change: Callable[[Step], Step]) -> np.ndarray | None:
        """Return C after a changed launch; None if that fails or writes elsewhere."""
        try:
            self._launch(self.bind(mode, change), data, True, guards.NAN)
        except DeviceLost:
            raise
        except PlanError:
            return None
        return None if self.arena.find_breach() else self.arena.read()

    def count_absent(self, data: Operands, mode: str) -> int:
        """Return the largest number of threads of a block that had already returned when others left a barrier."""
        return self._launch(self.bind(mode, None), data, True, guards.NAN)

    def _launch(
        self, executable: Executable, data: Operands, poisoned: bool, scratch: int, padding: Operands | None = None
    ) -> int:
        inputs = {name: array for name, array in data.items() if not poisoned or name != self.arena.result.name}
        self.arena.write(inputs, 1, padding)
        self.arena.reset(inputs, 1, self.fill)
        if self.fill_scratch is not None:
            self.fill_scratch(scratch)
        return executable.time(1).absent


def explain_by_relaunch(
    check: Check, result: np.ndarray, reference: Reference, launch: Relauncher, passed: bool
) -> Check:
    """Return the failed check of `result`, with a better cause if further launches reveal one.

    `passed` tells whether an earlier check of the same kernel passed. The operands are restored. Raises the errors of a
    launch.
    """
    if check.diagnosis is None:
        return check
    try:
        better = (
            _find_storage_mistake(check, reference, launch)
            or _find_scale_mistake(check, reference, launch)
            or _find_fixed_sizes(check, launch)
            or _find_integers(check, launch)
            or _name_mistake(check, launch)
            or _find_unasked_step(result, reference, launch)
            or _find_added_product(check, result, reference, launch)
            or _find_right_launch(check, reference, launch)
            or _find_absent_threads(reference, launch)
            or _find_race(check, result, reference, launch)
            or _find_use_of_finite(check, result, reference, launch)
            or _find_kept_state(check, result, reference, launch, passed)
            or _find_read_of_scratch(check, reference, launch)
            or _find_read_of_poison(check, reference, launch)
        )
    finally:
        launch.arena.write(reference.operands, 1)
    cause, words = better or (check.diagnosis.cause, check.diagnosis.words)
    is_own = bool(words) and not words.startswith("right if")
    line = find_line(launch.plan.variant, cause, words) if launch.plan and is_own else ""
    if better is None and not line:
        return check
    words = f"{words}; see {line}" if line else words
    message = check.message.removesuffix(f": {check.diagnosis.words}") + f": {words}" * bool(words)
    found = replace(
        check.diagnosis,
        cause=cause,
        words=words,
        map="" if cause == OTHER_LAUNCH else check.diagnosis.map,
        is_recomputed=check.diagnosis.is_recomputed and cause == check.diagnosis.cause,
    )
    return replace(check, message=message, diagnosis=found)


def _find_storage_mistake(check: Check, reference: Reference, launch: Relauncher) -> tuple[str, str] | None:
    """Find a mistake in leading dimensions, padding, or the roles of C and D."""
    problem = reference.problem
    if not (problem.ld or problem.separate_c) or check.rule != "exact":
        return None
    data = {
        name: array for name, array in reference.operands.items() if reference.beta or problem.separate_c or name != "C"
    }
    judge = _judge_of(check, reference, launch)
    probe = StorageProbe(problem, data, reference.alpha, reference.beta, launch.launch_padded, judge, launch.fill)
    return probe.find_mistake()


def _find_scale_mistake(check: Check, reference: Reference, launch: Relauncher) -> tuple[str, str] | None:
    """Find the mistake in scales on other data if it was found on powers of two, of which many are equal."""
    problem = reference.problem
    if problem.precision.scales is None or check.rule != "exact" or not _is_recomputed_index(check):
        return None
    data = make_scaled_operands(problem, seed=1)
    inputs = make_inputs(data, reference.beta, problem.separate_c)
    again = replace(reference, operands=data, transparent=False, exact_sums=True)
    found = again.check_scales(launch(inputs, not reference.beta), launch.declared).diagnosis
    if found and not found.is_index_mistake and not problem.epilogue:
        return UNKNOWN, ""  # what explained powers of two was chance
    return (found.cause, found.words) if found and found.is_index_mistake else None


def _is_recomputed_index(check: Check) -> bool:
    return check.diagnosis is not None and check.diagnosis.is_index_mistake and check.diagnosis.is_recomputed


def _name_mistake(check: Check, launch: Relauncher) -> tuple[str, str] | None:
    """Describe a known index mistake, including the right order of arguments if that is the mistake."""
    found = check.diagnosis
    if found is None or not found.is_index_mistake:
        return None
    if launch.plan and found.cause.removeprefix("no ") in launch.plan.fused:
        return found.cause, f"{found.words}, although `epilogue` in its manifest lists it"
    written = write_renamed_arguments(launch.plan.variant, found.renamed) if launch.plan and found.renamed else ""
    return found.cause, f"right if {written}: {found.words}" if written else found.words


def _find_integers(check: Check, launch: Relauncher) -> tuple[str, str] | None:
    """Test whether the kernel reads real numbers as integers, whose products are often 0.

    For narrow types, a kernel may legitimately take the bits as integers.
    """
    if check.diagnosis is None or launch.plan is None:
        return None
    holds_zeros = check.diagnosis.cause == ZEROS
    if not holds_zeros and launch.plan.problem.storage("A").nbytes(1) < 4:
        return None
    words = find_integer_pointer(launch.plan)
    return (OTHER_LAUNCH, f"{check.diagnosis.words}: {words}" if holds_zeros else words) if words else None


def _find_fixed_sizes(check: Check, launch: Relauncher) -> tuple[str, str] | None:
    """Test whether the kernel's text fixes the problem, because it takes no sizes and the manifest requires none."""
    words = find_fixed_sizes(launch.plan) if launch.plan and check.diagnosis else ""
    return (OTHER_LAUNCH, words) if words else None


def _find_unasked_step(result: np.ndarray, reference: Reference, launch: Relauncher) -> tuple[str, str] | None:
    """Test whether the kernel applied a step that its manifest lists but that this launch does not want."""
    plan = launch.plan
    unasked = [name for name in plan.variant.epilogue if name not in plan.fused] if plan else []
    for name in unasked:
        if plan and name in EPILOGUE_STEPS and reference.has_extra_step(result, name, plan.variant.approx):
            words = f"{name} was applied although it was not asked for; the code must look at the macro {name.upper()}"
            return "unasked step", words
    return None


def _find_added_product(
    check: Check, result: np.ndarray, reference: Reference, launch: Relauncher
) -> tuple[str, str] | None:
    """Test whether the product is added to C although beta is 0. If so, this happens for any C of numbers."""
    if reference.beta or check.rule != "exact":
        return None
    data = reference.operands
    other = {**data, "C": (data["C"] + data["C"]).astype(data["C"].dtype)}
    for each in (data, other):
        added = launch(each, False).astype(np.float64) - each["C"].astype(np.float64)
        if not reference.is_exactly_right(added.astype(data["C"].dtype), launch.declared):
            return None
    if launch.fill == guards.NAN:
        return (
            "C read at beta 0",
            "the product is added to C although beta is 0; with beta 0 the old values of C must not be read",
        )
    return "C read at beta 0", "the product is added to C although beta is 0; `reads_c` allows only 0 * C"


def _find_right_launch(check: Check, reference: Reference, launch: Relauncher) -> tuple[str, str] | None:
    """Find other arguments, another grid or another block that give the correct result in every order of threads."""
    problem, plan = reference.problem, launch.plan
    if plan is None or problem.groups or not launch.can_fail_safely or check.rule != "exact" or reference.beta:
        return None
    found = check.diagnosis
    if (found is not None and found.is_recomputed) or math.prod((problem.M, problem.N, problem.K)) > _MOST_PRODUCTS:
        return None
    deadline = time.monotonic() + _MOST_SECONDS
    at_edge = found is not None and found.cause.startswith("edge")  # a wrong block would make every tile wrong
    for other in list_other_launches(plan, blocks=not at_edge):
        if time.monotonic() > deadline:
            return None
        if all(_is_right(reference, launch, launch.try_changed(reference.operands, mode, other.change))
               for mode in launch.modes[1:]):  # fmt: skip
            return OTHER_LAUNCH, f"right if {other.words}"
    return None


def _is_right(reference: Reference, launch: Relauncher, result: np.ndarray | None) -> bool:
    return result is not None and reference.is_exactly_right(result, launch.declared)


def _find_absent_threads(reference: Reference, launch: Relauncher) -> tuple[str, str] | None:
    """Test whether threads had returned, or were in another branch, when others of their block met at a barrier."""
    if not launch.can_fail_safely or reference.beta:
        return None
    absent = launch.count_absent(reference.operands, launch.modes[1])
    if not absent:
        return None
    words = (
        f"{absent} threads of a block had returned, or skipped the branch, when the others met at "
        "__syncthreads(), so they did not load their part of the tile; all threads must reach every barrier, "
        "so test rows and columns only at loads and stores"
    )
    return NO_BARRIER, words


def _find_race(check: Check, result: np.ndarray, reference: Reference, launch: Relauncher) -> tuple[str, str] | None:
    """Test whether the same operands give different results in a second launch or in another order of threads.

    Sums of real numbers may depend on the order of atomic additions, so only a correct second result counts for them.
    """
    if check.diagnosis and check.diagnosis.cause == PRODUCT_NEVER_WRITTEN:
        return None  # several products may be written to the same place in any order
    for mode in (None, *(launch.modes if len(launch.modes) > 1 else ())):
        again = launch(reference.operands, not reference.beta, mode)
        if have_same_bits(again, result):
            continue
        right = _judge_of(check, reference, launch)(again)
        if right or check.rule == "exact":
            how = "is right" if right else f"differs in {_count_differences(again, result)} of {result.size} elements"
            what = "a second launch on the same operands" if mode is None else "the threads in another order"
            joined = f"{what} {how}" if mode is None else f"with {what} the result {how}"
            return RACE, f"{joined}: a race, a missing __syncthreads(), or uninitialized memory"
    return None


def _count_differences(one: np.ndarray, other: np.ndarray) -> int:
    return int((one.astype(np.float64) != other.astype(np.float64)).sum())


def _find_kept_state(
    check: Check, result: np.ndarray, reference: Reference, launch: Relauncher, passed: bool
) -> tuple[str, str] | None:
    """Test whether another A or B gives the same result, because it is not used.

    If neither is used, the result is an earlier one.
    """
    cause, storage = check.diagnosis.cause if check.diagnosis else "", reference.problem.storage("C")
    if cause == NEVER_WRITTEN and passed and storage.find_unwritten(result.astype(np.float64)).all():
        return "remembers", "C was not written, although an earlier launch was correct: state is kept between launches"
    data = reference.operands
    if cause != UNKNOWN or not data["A"].any() or not data["B"].any():
        return None
    changed = [{**data, name: (data[name] + data[name]).astype(data[name].dtype)} for name in "AB"]
    unused = [
        name
        for name, each in zip("AB", changed, strict=True)
        if have_same_bits(launch(each, not reference.beta), result)
    ]
    if len(unused) == 1:
        return (
            "operand unused",
            f"the result is the same with another {unused[0]}: the kernel reads it but does not use it",
        )
    if not unused:
        return None
    since = "an earlier launch was correct: " if passed else ""
    return "remembers", f"{since}other operands give the same result: it was kept from an earlier launch"


def _find_read_of_scratch(check: Check, reference: Reference, launch: Relauncher) -> tuple[str, str] | None:
    """Test whether NaN comes from the workspace, in which case a launch with a workspace of zeros is right."""
    if launch.fill_scratch is None or check.diagnosis is None or "never written" not in check.diagnosis.words:
        return None
    if not _judge_of(check, reference, launch)(launch(reference.operands, not reference.beta, scratch=0)):
        return None
    words = (
        "computed from bytes of its workspace that it had not written and that gemmbench fills with NaN: set them, or"
    )
    return "read unset workspace", f"{words} declare them under `zeroed`"


def _find_read_of_poison(check: Check, reference: Reference, launch: Relauncher) -> tuple[str, str] | None:
    """Find out where NaN comes from. A launch on a C of numbers shows whether they were read or skipped.

    It does not if a function returns its result in memory of its own, which holds NaN before each launch.
    """
    if reference.beta or check.diagnosis is None or "never written" not in check.diagnosis.words:
        return None
    if launch.plan is not None and launch.plan.variant.python.returns:
        return None
    data, is_right = reference.operands, _judge_of(check, reference, launch)
    again = launch(data, False)
    if is_right(again):
        return "C read at beta 0", "C is read although beta is 0: it may hold NaN, and 0 * NaN is NaN"
    if is_right(again - data["C"]):  # on real data (on integers it is already known)
        return (
            "C read at beta 0",
            "the product is added to C although beta is 0; with beta 0 the old values of C must not be read",
        )
    words, inputs = check.diagnosis.words, name_inputs(reference.problem)
    if not np.isnan(again.astype(np.float64)).any():
        if words.startswith("C was never written") and 2 * _count_differences(again, data["C"]) > again.size:
            return "C read at beta 0", "C is read although beta is 0, and the result is also wrong with numbers in it"
        for doubt in (", or C was read although beta is 0", f", or computed from memory outside {inputs}"):
            words = words.replace(doubt, "")
        return check.diagnosis.cause, words
    which = f"{check.diagnosis.region}: " if check.diagnosis.region else ""
    words = (
        f"computed from memory outside {inputs}, which gemmbench fills with NaN, or from shared memory before it was "
        "written"
    )
    return f"read outside {inputs}", f"{which}{words}"


def _find_use_of_finite(
    check: Check, result: np.ndarray, reference: Reference, launch: Relauncher
) -> tuple[str, str] | None:
    """Test whether elements of a C that was filled with finite numbers were never written."""
    if reference.beta or launch.fill == guards.NAN:
        return None
    kept = (result.reshape(-1).view(np.uint8).reshape(result.size, -1) == launch.fill).all(axis=1)
    if kept.any():
        return NEVER_WRITTEN, f"{int(kept.sum())} of {result.size} elements were never written"
    return None


def _judge_of(check: Check, reference: Reference, launch: Relauncher) -> IsRight:
    """Return a function that tells whether a result is right by the rule of a check."""
    if check.rule == "exact":
        return lambda result: reference.is_exactly_right(result, launch.declared)
    return lambda result: reference.check_rounding(result, launch.declared).ok
