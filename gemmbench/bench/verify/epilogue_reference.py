"""What the epilogue of a problem makes of right sums, how far it may be off, and the likely mistakes in one.

Biases and residuals are integers and scales powers of two where sums are integers, so that these steps are exact. ReLU
always is. GELU and SiLU are exact where they return their argument or 0, and elsewhere within an interval: an error of
the argument grows at most by the Lipschitz constant of the step, and its own roundings add 16 u |x|. If the manifest of
a kernel has `approx`, they add that times |x| everywhere.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gemmbench.bench.operands.operand_values import Operands
from gemmbench.bench.operands.products import find_products, find_scales, view_products
from gemmbench.bench.verify.diagnosis import Diagnosis
from gemmbench.bench.verify.wrong_result import ROUNDING_FACTOR
from gemmbench.planning.epilogues import EPILOGUE_STEPS, EpilogueStep, is_smooth
from gemmbench.planning.problems import Problem

CHANGES = {"addend": -1.0, "scale": 2.0}
"""What the audit multiplies the operands of an epilogue by, by their role."""


@dataclass(frozen=True)
class Finish:
    """The epilogue of a problem on some `rows` of C, with its `operands`; `changed` as the audit changes them.

    With `transparent` the data are such that every activation returns its argument. The factor that GELU or SiLU
    multiplies its argument by may be off by `approx`.
    """

    problem: Problem
    operands: Operands
    rows: np.ndarray
    changed: bool = False
    transparent: bool = False
    approx: float = 0.0

    @property
    def steps(self) -> list[EpilogueStep]:
        """The steps in order."""
        return [EPILOGUE_STEPS[name] for name in self.problem.epilogue]

    def find_operand(self, name: str) -> np.ndarray:
        """What a step reads: a column or a matrix that fits the rows, or one number."""
        step, stored = EPILOGUE_STEPS[name], self.operands[name].astype(np.float64)
        role = self.problem.operand(name).role
        found = stored * CHANGES[role] if self.changed else stored
        if step.part == "one":
            return np.asarray(found.reshape(-1)[0])
        return np.asarray(found[find_products(self.problem, self.rows)[0] if step.part == "row" else self.rows])

    @cached_property
    def unit(self) -> float:
        """Unit roundoff of what the steps compute in."""
        return float(self.problem.precision.epilogue_type.unit)

    def apply(self, sums: np.ndarray, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what follows from sums that are off by at most `bound`, and by how much that may be off.

        What is stored in few bits may also be rounded before any one step, as where a pass begins.
        """
        value, errors = sums, [bound]
        for step in self.steps:
            if unit := self.problem.precision.result_unit:
                errors.append(errors[0] + 2 * unit * np.abs(value))
            finished, operand = self._follow(step, value)
            errors = [self._grow(step, value, operand, error, exact=False) for error in errors]
            value = finished
        return value, np.maximum.reduce(errors)

    def apply_exactly(self, sums: np.ndarray, stored_at: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return what follows from exact sums, and by how much an activation may be off.

        Before step `stored_at` a pass begins, which finds what was stored in C.
        """
        value, error = sums, np.zeros(sums.shape)
        for number, step in enumerate(self.steps):
            if number == stored_at:
                value = self.problem.storage("C").store(value)
            finished, operand = self._follow(step, value)
            error = self._grow(step, value, operand, error, exact=True)
            value = finished
        return value, error

    def _follow(self, step: EpilogueStep, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What a step makes of a value, and what it reads."""
        operand = self.find_operand(step.name) if step.part else np.zeros(1)
        return value if self.transparent and step.is_activation else step.apply(value, operand), operand

    def _grow(
        self, step: EpilogueStep, value: np.ndarray, operand: np.ndarray, error: np.ndarray, exact: bool
    ) -> np.ndarray:
        if step.part == "one":
            return np.asarray(error * np.abs(operand))
        if step.part:
            return error if exact else error + ROUNDING_FACTOR * self.unit * (np.abs(value) + np.abs(operand))
        if step.name == "relu" or (self.transparent and not self.approx):
            return error
        assert step.linear_from is not None
        own = np.where(value >= step.linear_from, 0.0, ROUNDING_FACTOR * self.unit)
        return np.asarray(step.slope * error + (own + self.approx) * np.abs(value))

    def follow(
        self, names: Sequence[str], sums: np.ndarray, other: Mapping[str, np.ndarray] | None = None
    ) -> np.ndarray:
        """Return what these steps would make of the sums, some with an `other` operand."""
        value = sums
        for name in names:
            operand = self.find_operand(name) if EPILOGUE_STEPS[name].part else np.zeros(1)
            value = EPILOGUE_STEPS[name].apply(value, (other or {}).get(name, operand))
        return value

    def undo(self, finished: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The sums that a result came from, and where: no activation did anything but return its argument there."""
        known, unwritten = np.ones(finished.shape, bool), self.problem.storage("C").find_unwritten(finished)
        for step in reversed(self.steps):
            if step.linear_from is not None and not self.transparent:
                known &= unwritten | (finished > step.linear_from)
            elif step.part == "one":
                finished = finished / self.find_operand(step.name)
            elif step.part:
                finished = finished - self.find_operand(step.name)
        return finished, known


@dataclass(frozen=True)
class _Mistake:
    """What a mistake makes of the sums; `instead` is the activation that was applied instead of another.

    `is_of_all` tells that its words are about every product.
    """

    cause: str
    words: str
    value: np.ndarray
    instead: str = ""
    is_of_all: bool = False


def explain_epilogue(
    finish: Finish,
    sums: np.ndarray,
    got: np.ndarray,
    bound: np.ndarray,
    is_whole: bool,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Diagnosis | None:
    """The mistake in an epilogue that gives a wrong result (rows x N) from right `sums`; None if none does.

    The sums are alpha op(A) op(B) + beta C0. The rows are those of all products (`is_whole`) or of all wrong ones. A
    mistake gives all of it, within the `bound` of the right result. The sums may be off by so much too.
    """
    right, _ = finish.apply_exactly(sums)
    store, unit = finish.problem.storage("C").store, finish.problem.precision.result_unit
    names = finish.problem.epilogue
    smooth = any(EPILOGUE_STEPS[name].slope > 1 for name in names)
    size = np.maximum.reduce([np.abs(finish.follow(names[:at], sums)) for at in range(len(names))])
    bits = _find_kept_bits(finish, sums, got, bound)

    def are_near(one: np.ndarray, value: np.ndarray) -> np.ndarray:
        stored = store(value)
        slack = bound + 2 * unit * np.abs(stored)
        if smooth:
            slack = slack + ROUNDING_FACTOR * finish.unit * (np.abs(stored) + size)
        return np.asarray(np.abs(one - stored) <= slack)

    for mistake in itertools.chain(_list_scaled(finish, sums, alpha, beta), _list_mistakes(finish, sums, not beta)):
        if mistake.is_of_all and not is_whole:
            continue
        if are_near(got, mistake.value).all() and not are_near(right, mistake.value).all():
            other = f"; write `{mistake.instead}` or `approx: 2^-{bits}` in the manifest"
            words = mistake.words + other * bool(bits and mistake.instead)
            return Diagnosis(mistake.cause, words, is_index_mistake=True, is_recomputed=True)
    if found := _find_row_of_other(finish, sums, lambda value: are_near(got, value)):
        return Diagnosis(*found, is_index_mistake=True, is_recomputed=True)
    return _explain_approximation(finish, bits) if bits else None


_MOST_PRODUCTS = 64
"""The most products whose rows of an operand are tried for those of another."""
_MOST_NAMED = 3


def _find_row_of_other(
    finish: Finish, sums: np.ndarray, find_near: Callable[[np.ndarray], np.ndarray]
) -> tuple[str, str] | None:
    """The key and the description of rows of an operand that wrong products got from others, if they explain all."""
    problem, (product, _) = finish.problem, find_products(finish.problem, finish.rows)
    count, kind = len(problem.slices), problem.product_name
    if not 1 < count <= _MOST_PRODUCTS:
        return None
    for name in problem.epilogue:
        if EPILOGUE_STEPS[name].part != "row":
            continue
        sources: dict[int, int] = {}
        for other in range(count):
            row = finish.operands[name].astype(np.float64)[other]
            near = np.all(find_near(finish.follow(problem.epilogue, sums, {name: row})), axis=1)
            for number in map(int, np.unique(product)):
                if near[product == number].all() and (other == number or number not in sources):
                    sources[number] = other
        moved = sorted((number, other) for number, other in sources.items() if number != other)
        if len(sources) < len(np.unique(product)) or not moved:
            continue
        (number, other), *more = moved
        words = f"rows of {kind} {number} got the {name} of {kind} {other}"
        if more and all(each == number - 1 for number, each in moved):
            words = f"rows of each wrong {kind} got the {name} of the {kind} before it"
        elif more:
            pairs = [f"{number} that of {kind} {other}" for number, other in more[:_MOST_NAMED]]
            words += f", those of {kind} {', '.join(pairs)}"
        return f"{name} of other product", words
    return None


_APPROXIMATED = range(24, 5, -1)
"""How many bits of the factor of an activation an approximation may keep."""


def _find_kept_bits(finish: Finish, sums: np.ndarray, got: np.ndarray, bound: np.ndarray) -> int | None:
    """How exact an activation is if its approximation alone gives a wrong result; None if something else does."""
    for bits in _APPROXIMATED if any(map(is_smooth, finish.problem.epilogue)) else ():
        if (approx := 2.0**-bits) <= finish.approx:
            continue
        want, allowed = replace(finish, approx=approx).apply(sums, bound)
        stored = 2 * finish.problem.precision.result_unit * np.abs(want)
        if (np.abs(got - want) <= allowed + stored).all():
            return bits
    return None


def _explain_approximation(finish: Finish, bits: int) -> Diagnosis:
    smooth = [name for name in finish.problem.epilogue if is_smooth(name)]
    declared = f"the manifest declares {_write_power(finish.approx)}" if finish.approx else "compute it in full"
    words = f"{' and '.join(smooth)} is approximated: the factor of its argument is off by up to 2^-{bits}"
    return Diagnosis("approximated", f"{words}; {declared}, or write `approx: 2^-{bits}` in the manifest")


def _write_power(value: float) -> str:
    """`2^-11`, or another number as it is."""
    share, exponent = math.frexp(value)
    return f"2^{exponent - 1}" if share == 0.5 else f"{value:g}"


def _list_scaled(finish: Finish, sums: np.ndarray, alpha: float, beta: float) -> Iterator[_Mistake]:
    """Mistakes in which alpha or beta multiplied more than its own term. With 2, an addend may also be added twice."""
    names = finish.problem.epilogue
    added = [name for name in names if _is_addend(name)]
    for scalar, factor in (("alpha", alpha), ("beta", beta)):
        for several in [[name] for name in added] + [added] * (len(added) > 1) if factor not in (0, 1) else ():
            other = {name: factor * finish.find_operand(name) for name in several}
            cause, words = f"{scalar} on {several[0]}", f"{scalar} multiplied {' and '.join(several)} too"
            if factor == 2 and len(several) == 1:
                cause, words = (
                    f"{several[0]} twice",
                    f"{several[0]} was added twice, or {scalar}, which is 2, multiplied it",
                )
            yield _Mistake(cause, words, finish.follow(names, sums, other))


def _is_addend(name: str) -> bool:
    return EPILOGUE_STEPS[name].part in ("row", "element")


def _list_mistakes(finish: Finish, sums: np.ndarray, is_beta_zero: bool) -> Iterator[_Mistake]:
    names = finish.problem.epilogue

    def compute(steps: Sequence[str]) -> np.ndarray:
        return finish.follow(steps, sums)

    if len(names) > 1:
        yield _Mistake("no epilogue", "the epilogue was not applied: C holds the product", sums)
    for at, name in enumerate(names):
        rest = (*names[:at], *names[at + 1 :])
        lost = " (or beta, which is 0, multiplied it)" * (is_beta_zero and _is_addend(name))
        yield _Mistake(f"no {name}", f"{name} was not applied{lost}", compute(rest))
        again = "added" if _is_addend(name) else "applied"
        twice = (*names[:at], name, *names[at:])
        yield _Mistake(f"{name} twice", f"{name} was {again} twice", compute(twice))
        for other in range(at):
            moved = (*names[:other], name, *names[other:at], *names[at + 1 :])
            yield _Mistake("epilogue order", f"{name} was applied before {names[other]}", compute(moved))
        if EPILOGUE_STEPS[name].is_activation:
            for other_name, step in EPILOGUE_STEPS.items():
                if step.is_activation and other_name != name:
                    instead = (*names[:at], other_name, *names[at + 1 :])
                    words = f"{other_name} was applied instead of {name}"
                    yield _Mistake("other activation", words, compute(instead), instead=other_name)
        yield from _list_misread(finish, sums, names, name)


def _list_scales(finish: Finish) -> Iterator[tuple[str, np.ndarray]]:
    """Scales of A and B that may have multiplied more than the sums, those of the first block along K, and words."""
    if not finish.problem.precision.scales:
        return
    a = find_scales(finish.problem, finish.operands, "A")[0, finish.rows][:, None]
    b = find_scales(finish.problem, finish.operands, "B")[:1]
    yield "the scale of A", a
    for scales in (b, b[:, :1]):
        yield "the scale of B", scales
        yield "the scales of A and B", a * scales


def _list_misread(finish: Finish, sums: np.ndarray, names: Sequence[str], name: str) -> Iterator[_Mistake]:
    """Mistakes in where an operand was read."""
    step, problem = EPILOGUE_STEPS[name], finish.problem
    stored = finish.operands.get(name)
    if stored is None or not _is_addend(name):
        return

    def compute(changed: np.ndarray) -> np.ndarray:
        return finish.follow(names, sums, {name: changed})

    flat, (product, inside) = stored.astype(np.float64).reshape(-1), find_products(problem, finish.rows)
    several, kind = len(problem.slices) > 1, problem.product_name
    for words, scales in _list_scales(finish):
        scaled = finish.find_operand(name) * scales
        yield _Mistake(f"scale on {name}", f"{words} multiplied {name} too", compute(scaled))
    if step.part == "row":
        for row in (product * problem.N + inside, finish.rows):
            along = flat[np.minimum(row, flat.size - 1)]
            yield _Mistake(f"{name} along M", f"{name} was added along M instead of N", compute(along[:, None]))
        if several:
            first = np.broadcast_to(stored.astype(np.float64)[:1], sums.shape)
            words = f"every {kind} got the {name} of {kind} 0"
            yield _Mistake(f"{name} of product 0", words, compute(first), is_of_all=True)
        only = np.broadcast_to(flat[:1], sums.shape)
        yield _Mistake(f"{name}[0]", f"every column got {name}[0]", compute(only))
        return
    if several:
        words = f"every {kind} got the {name} of {kind} 0"
        yield _Mistake(f"{name} of product 0", words, compute(stored.astype(np.float64)[inside]), is_of_all=True)
    if problem.M == problem.N and not problem.groups:
        squares = view_products(problem, {name: stored.astype(np.float64)}, name)
        turned = squares.all.swapaxes(1, 2).reshape(-1, problem.N)[finish.rows]
        yield _Mistake(f"{name} transposed", f"{name} was read transposed", compute(turned))
    row = np.broadcast_to(stored.astype(np.float64)[:1], sums.shape)
    yield _Mistake(f"{name} row 0", f"every row got row 0 of {name}", compute(row))
