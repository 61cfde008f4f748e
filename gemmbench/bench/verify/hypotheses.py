"""What a wrong kernel may have computed instead: each guess is recomputed from the operands and compared.

A guess must give every one of up to 64 wrong elements, to the last bit where operands are
integers, so that a chance agreement is out of the question but in the smallest problems.
The cost is 64 K products a guess, whatever M and N.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gemmbench.bench.operands.fill import round_factor
from gemmbench.bench.verify.wrong_result import Sample, Wrong
from gemmbench.planning.problems.precision import PRECISIONS, Precision
from gemmbench.planning.problems.storage import FLOAT32, StorageType

_SHIFTS = tuple(sign * step for step in (1, 2, 3, 4, 8, 16, 32, 64, 128) for sign in (1, -1))
_TILES = (2, 4, 8, 16, 32, 64, 128, 256)
_STRIDES = range(64, 1, -1)


@dataclass(frozen=True)
class Finding:
    """What fits: the key of the cause, and words that begin after "C is what it would be"."""

    cause: str
    words: str


def fitting(wrong: Wrong) -> Finding | None:
    """The first guess that gives the wrong elements, or None."""
    sample = wrong.sample
    if not len(sample):
        return None
    for guess in _GUESSES:
        if found := next(guess(sample), None):
            return found
    return None


def _scalars(sample: Sample) -> Iterator[Finding]:
    """alpha or beta forgotten, or applied in the wrong place."""
    alpha, beta = sample.wrong.alpha, sample.wrong.beta
    product, before = sample.terms.sum(axis=1), sample.before
    guesses = [("alpha ignored", product + beta * before, "if alpha were 1: alpha is ignored")]
    if beta:
        guesses += [
            ("beta ignored", alpha * product, "if beta were 0: beta, or C, is ignored"),
            ("beta ignored", alpha * product + before, "if beta were 1: beta is ignored"),
            ("alpha and beta ignored", product, "if alpha were 1 and beta 0: both are ignored"),
            ("alpha and beta ignored", product + before, "if alpha and beta were 1: both are ignored"),
            ("alpha on the sum", alpha * (product + beta * before), "if alpha multiplied beta C too"),
        ]
    guesses.append(("alpha twice", alpha * alpha * product + beta * before, "if alpha were applied twice"))
    for cause, values, words in guesses:
        if sample.near(values).all():
            yield Finding(cause, words)


def _transposed(sample: Sample) -> Iterator[Finding]:
    """A packed operand read, or the result stored, with rows and columns exchanged."""
    wrong = sample.wrong
    a, b = wrong.a, wrong.b
    flipped_a, flipped_b = _flipped(a), _flipped(b)
    for x, y, names in ((flipped_a, b, "A"), (a, flipped_b, "B"), (flipped_a, flipped_b, "A and B")):
        if sample.near(sample.of(sample.products(x, y, sample.i, sample.j).sum(axis=1))).all():
            yield Finding(f"transposed {names}", f"if {names} were read transposed")
    flat = sample.i * wrong.problem.N + sample.j
    i, j = flat % wrong.problem.M, flat // wrong.problem.M
    sums, before = sample.products(a, b, i, j).sum(axis=1), wrong.operands.C[i, j].astype(np.float64)
    there = wrong.beta * before if wrong.beta else 0.0
    if sample.near(wrong.alpha * sums + there).all() or sample.near(sample.of(sums)).all():
        yield Finding("transposed C", "if C were stored transposed")


def _flipped(matrix: np.ndarray) -> np.ndarray:
    """The same packed numbers read with rows and columns exchanged, in the same shape."""
    rows, columns = matrix.shape
    if matrix.flags.c_contiguous:
        return matrix.reshape(-1).reshape(columns, rows).T
    return matrix.T.reshape(-1).reshape(rows, columns)


def _lost(sample: Sample) -> Iterator[Finding]:
    """Products missing: from some k on, up to some k, one, a tile of them, every p-th."""
    K = sample.terms.shape[1]
    total = sample.terms.sum(axis=1)
    if sample.near(sample.of(np.zeros(len(sample)))).all():
        yield Finding("product lost", "if A B were 0")
    until = np.cumsum(sample.terms, axis=1)[:, :-1]  # [:, k - 1] is the sum of the first k products
    for k in _columns(sample, until)[::-1]:
        yield Finding("last k lost", f"if the last {_products(K - 1 - k)} of {K} were lost: look at the remainder of K")
    for k in _columns(sample, total[:, None] - until):
        yield Finding("first k lost", f"if the first {_products(k + 1)} of {K} were lost")
    for k in _columns(sample, total[:, None] - sample.terms):
        yield Finding("one k lost", f"if the product of k = {k} were lost")
    for k in _columns(sample, total[:, None] + sample.terms):
        yield Finding("k counted twice", f"if the product of k = {k} were counted twice")
    yield from _lost_tiles(sample, total)
    yield from _lost_strides(sample, total)


def _lost_tiles(sample: Sample, total: np.ndarray) -> Iterator[Finding]:
    for tile in _TILES:
        sums = _padded(sample.terms, tile).reshape(len(sample), -1, tile).sum(axis=2)
        for sign, cause, words in ((-1, "tile of k lost", "lost"), (1, "k counted twice", "counted twice")):
            for number in _columns(sample, total[:, None] + sign * sums):
                yield Finding(cause, f"if the {tile} products from k = {tile * number} on were {words}")


def _lost_strides(sample: Sample, total: np.ndarray) -> Iterator[Finding]:
    K = sample.terms.shape[1]
    for stride in _STRIDES:
        if 2 * stride > K:
            continue
        sums = _padded(sample.terms, stride).reshape(len(sample), -1, stride).sum(axis=1)
        for k in _columns(sample, total[:, None] - sums):
            yield Finding("every p-th k lost", f"if one product in {stride} were lost, from k = {k} on")
        for k in _columns(sample, sums):
            yield Finding("every p-th k lost", f"if only one product in {stride} were summed, from k = {k} on")


def _products(count: int) -> str:
    return "product" if count == 1 else f"{count} products"


def _padded(terms: np.ndarray, step: int) -> np.ndarray:
    return np.pad(terms, ((0, 0), (0, -terms.shape[1] % step)))


def _columns(sample: Sample, sums: np.ndarray) -> list[int]:
    """The columns of E x n sums that give what was got in every element."""
    return [int(k) for k in np.flatnonzero(sample.near(sample.of(sums)).all(axis=0))]


def _shifted(sample: Sample) -> Iterator[Finding]:
    """An index off by one, or by the size of a tile."""
    problem = sample.wrong.problem
    for d in _SHIFTS:
        by = f"{abs(d)} {'below' if d > 0 else 'above'}"
        if _moved(sample, sample.i + d, sample.j, (sample.i + d >= 0) & (sample.i + d < problem.M)):
            yield Finding("rows shifted", f"if every row were the one {by}: a row index is off by {abs(d)}")
        side = f"{abs(d)} to the {'right' if d > 0 else 'left'}"
        if _moved(sample, sample.i, sample.j + d, (sample.j + d >= 0) & (sample.j + d < problem.N)):
            yield Finding("columns shifted", f"if every column were the one {side}: a column index is off by {abs(d)}")
        if 0 < abs(d) < problem.K and sample.near(sample.of(_skewed(sample, d))).all():
            yield Finding("k shifted", f"if k were off by {abs(d)} between A and B")


def _moved(sample: Sample, i: np.ndarray, j: np.ndarray, valid: np.ndarray) -> bool:
    """Whether what was got are the elements (i, j) of op(A) op(B), or of C, where they exist: in most places."""
    if 2 * valid.sum() < len(sample):
        return False
    wrong = sample.wrong
    i, j = np.where(valid, i, sample.i), np.where(valid, j, sample.j)
    product = wrong.alpha * sample.products(wrong.a, wrong.b, i, j).sum(axis=1)
    there = wrong.beta * wrong.operands.C[i, j].astype(np.float64) if wrong.beta else 0.0
    here = wrong.beta * sample.before if wrong.beta else 0.0
    return any(bool((sample.near(product + base) | ~valid).all()) for base in (here, there))


def _skewed(sample: Sample, d: int) -> np.ndarray:
    """Sums of A[i][k] B[k + d][j] over the k where both exist."""
    a, b = sample.wrong.a[sample.i].astype(np.float64), sample.wrong.b[:, sample.j].T.astype(np.float64)
    first, second = (a[:, :-d], b[:, d:]) if d > 0 else (a[:, -d:], b[:, :d])
    return np.asarray((first * second).sum(axis=1))


def _precision(sample: Sample) -> Iterator[Finding]:
    """Real data only: factors rounded or cut to fewer bits, or sums kept in fewer."""
    wrong = sample.wrong
    if wrong.exact or wrong.problem.storage("A") != FLOAT32:
        return
    a, b = (values.astype(np.float32) for values in (wrong.a[sample.i], wrong.b[:, sample.j].T))
    for lower in _lower_precisions():
        for change, words in ((_rounded, "rounded"), (_cut, "cut")):
            x, y = change(a, lower).astype(np.float64), change(b, lower).astype(np.float64)
            if sample.near(sample.of((x * y).sum(axis=1))).all():
                yield Finding("lower precision", f"if A and B were {words} to {lower.name}: a lower precision inside")
    for lower in sorted(_lower_precisions(), key=lambda lower: -lower.a.significand):
        if lower.a != FLOAT32 and _sums_kept_in(sample, lower.a):
            yield Finding("lower precision", f"if sums were kept in {lower.name}: a lower precision inside")


def _lower_precisions() -> list[Precision]:
    """Precisions whose factors have fewer bits than f32, each kind of factor once: the widest ranges first."""
    kinds: dict[tuple[int, int], Precision] = {}
    for lower in PRECISIONS.values():
        if not lower.a.is_integer and lower.factor_bits < FLOAT32.significand:
            kinds.setdefault((-lower.a.exponent, -lower.factor_bits), lower)
    return [kinds[key] for key in sorted(kinds)]


def _rounded(values: np.ndarray, lower: Precision) -> np.ndarray:
    if lower.a == FLOAT32:
        return round_factor(values, lower)
    return values.astype(lower.a.numpy_type()).astype(np.float32)


def _cut(values: np.ndarray, lower: Precision) -> np.ndarray:
    """The values without their last bits; rounded where the format has another exponent than float32."""
    if lower.a.exponent != FLOAT32.exponent:
        return _rounded(values, lower)
    cut = FLOAT32.significand - lower.factor_bits
    return (np.ascontiguousarray(values).view(np.uint32) & np.uint32(2**32 - 2**cut)).view(np.float32)


def _sums_kept_in(sample: Sample, storage: StorageType) -> bool:
    """Whether every element is alpha s + beta C0 for an s that the format can hold."""
    alpha, beta = sample.wrong.alpha, sample.wrong.beta
    if not alpha or len(sample) < 4:
        return False
    base = beta * sample.before if beta else np.zeros(len(sample))
    held = ((sample.got - base) / alpha).astype(np.float32).astype(storage.numpy_type()).astype(np.float64)
    rounding = 4 * 2.0**-24 * (np.abs(alpha * held) + np.abs(base))
    return bool((np.abs(alpha * held + base - sample.got) <= rounding).all())


_Guess = Callable[[Sample], Iterator[Finding]]
_GUESSES: tuple[_Guess, ...] = (_scalars, _transposed, _lost, _shifted, _precision)
