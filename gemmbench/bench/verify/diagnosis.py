"""Explains a wrong result: how much of it is wrong, where, and the most likely cause.

For each hypothesis, the result is computed again from the operands and compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from gemmbench.bench.operands.operand_values import round_factor
from gemmbench.bench.operands.products import view_scaled_factor
from gemmbench.bench.verify import wrong_result as regions
from gemmbench.bench.verify.index_mistakes import find_index_mistake
from gemmbench.bench.verify.wrong_result import ROUNDING_FACTOR, WrongRegion, WrongResult, WrongSample
from gemmbench.planning.precisions import FLOAT32, PRECISIONS, Precision, StorageType

_SHIFTS = tuple(sign * step for step in (1, 2, 3, 4, 8, 16, 32, 64, 128) for sign in (1, -1))
_TILES = (2, 4, 8, 16, 32, 64, 128, 256)
_STRIDES = range(64, 1, -1)
_NEAR = 1 / 8
"""The largest error of sums kept in few bits, as a fraction of |alpha| |A| |B| + |beta| |C0|."""


@dataclass(frozen=True)
class Explanation:
    """A hypothesis that fits: the key of the cause, and words that complete "C is as"."""

    cause: str
    words: str


def _find_explanation(wrong: WrongResult) -> Explanation | None:
    """Return the first hypothesis that explains the wrong elements, or None.

    Where some are NaN, only a shift explains why there are no numbers.
    """
    sample = wrong.sample
    if not len(sample):
        return None
    for hypothesis in (_explain_by_shift,) if wrong.has_nan else _HYPOTHESES:
        if explanation := next(hypothesis(sample), None):
            return explanation
    return None


def _explain_by_scalars(sample: WrongSample) -> Iterator[Explanation]:
    """Test whether alpha or beta was ignored or applied to the wrong term."""
    alpha, beta = sample.wrong.alpha, sample.wrong.beta
    product, before = sample.terms.sum(axis=1), sample.before
    cut = ", or cut to an integer" if math.trunc(alpha) == 1 else ""
    guesses = [("alpha ignored", product + beta * before, f"if alpha were 1: alpha is ignored{cut}")]
    if beta:
        guesses += [
            ("beta ignored", alpha * product, "if beta were 0: beta, or C, is ignored"),
            ("beta ignored", alpha * product + before, "if beta were 1: beta is ignored"),
            ("alpha and beta ignored", product, "if alpha were 1 and beta 0: both are ignored"),
            ("alpha and beta ignored", product + before, "if alpha and beta were 1: both are ignored"),
            ("alpha on the sum", alpha * (product + beta * before), "if alpha multiplied beta C too"),
        ]
    guesses.append(("negated", beta * before - alpha * product, "if products were subtracted, not added"))
    guesses.append(("alpha twice", alpha * alpha * product + beta * before, "if alpha were applied twice"))
    for cause, values, words in guesses:
        if sample.matches(values).all():
            yield Explanation(cause, words)


def is_explained_by_scalars(wrong: WrongResult) -> bool:
    """Return whether a mistake in alpha or beta explains the wrong elements and leaves the right ones right."""
    right = wrong.right_sample
    causes = {each.cause for each in _explain_by_scalars(wrong.sample)} if len(wrong.sample) else set()
    return bool(causes) and (not len(right) or any(each.cause in causes for each in _explain_by_scalars(right)))


def _explain_by_transposition(sample: WrongSample) -> Iterator[Explanation]:
    """Test whether a packed operand was read, or the result was stored, with rows and columns exchanged."""
    wrong = sample.wrong
    a, b = wrong.a, wrong.b
    flipped_a, flipped_b = _read_transposed(wrong, "A"), _read_transposed(wrong, "B")
    for x, y, names in ((flipped_a, b, "A"), (a, flipped_b, "B"), (flipped_a, flipped_b, "A and B")):
        if sample.matches(sample.apply_scalars(sample.products(x, y, sample.i, sample.j).sum(axis=1))).all():
            yield Explanation(f"transposed {names}", f"if {names} were read transposed")
    flat = sample.i * wrong.problem.N + sample.j
    i, j = flat % wrong.problem.M, flat // wrong.problem.M
    sums, before = sample.products(a, b, i, j).sum(axis=1), wrong.operands["C"][i, j].astype(np.float64)
    base = wrong.beta * before if wrong.beta else 0.0
    if sample.matches(wrong.alpha * sums + base).all() or sample.matches(sample.apply_scalars(sums)).all():
        yield Explanation("transposed C", "if C were stored transposed")


def _read_transposed(wrong: WrongResult, name: str) -> np.ndarray:
    """Return op(A) or op(B) of the same packed numbers, read with rows and columns exchanged, times the same scales."""
    stored = wrong.operands[name]
    flipped = np.ascontiguousarray(stored.reshape(-1).reshape(stored.shape[::-1]).T)
    return np.asarray(view_scaled_factor(wrong.problem, {**wrong.operands, name: flipped}, name)[0])


def _explain_by_lost_products(sample: WrongSample) -> Iterator[Explanation]:
    """Test whether products are missing: from some k on, up to some k, one, a tile of them or every p-th."""
    K = sample.terms.shape[1]
    total = sample.terms.sum(axis=1)
    if sample.matches(sample.apply_scalars(np.zeros(len(sample)))).all():
        yield Explanation("product lost", _describe_lost_remainder(K) or "if the product A B were 0")
    until = np.cumsum(sample.terms, axis=1)[:, :-1]  # [:, k - 1] is the sum of the first k products
    for k in _matching_columns(sample, until)[::-1]:
        yield Explanation(
            "last k lost", f"if the last {_count_products(K - 1 - k)} of {K} were lost: look at the remainder of K"
        )
    for k in _matching_columns(sample, total[:, None] - until):
        yield Explanation("first k lost", f"if the first {_count_products(k + 1)} of {K} were lost")
    for k in _matching_columns(sample, total[:, None] - sample.terms):
        yield Explanation("one k lost", f"if the product of k = {k} were lost")
    for k in _matching_columns(sample, total[:, None] + sample.terms):
        yield Explanation("k counted twice", f"if the product of k = {k} were counted twice")
    yield from _explain_by_lost_tiles(sample, total)
    yield from _explain_by_lost_strides(sample, total)


def _explain_by_lost_tiles(sample: WrongSample, total: np.ndarray) -> Iterator[Explanation]:
    for tile in _TILES:
        sums = _pad(sample.terms, tile).reshape(len(sample), -1, tile).sum(axis=2)
        for sign, cause, words in ((-1, "tile of k lost", "lost"), (1, "k counted twice", "counted twice")):
            for number in _matching_columns(sample, total[:, None] + sign * sums):
                yield Explanation(cause, f"if the {tile} products from k = {tile * number} on were {words}")


def _explain_by_lost_strides(sample: WrongSample, total: np.ndarray) -> Iterator[Explanation]:
    K = sample.terms.shape[1]
    for stride in _STRIDES:
        if 2 * stride > K:
            continue
        sums = _pad(sample.terms, stride).reshape(len(sample), -1, stride).sum(axis=1)
        for k in _matching_columns(sample, total[:, None] - sums):
            yield Explanation("every p-th k lost", f"if one product in {stride} were lost, from k = {k} on")
        for k in _matching_columns(sample, sums):
            yield Explanation("every p-th k lost", f"if only one product in {stride} were summed, from k = {k} on")


def _describe_lost_remainder(K: int) -> str:
    """Describe a product that was lost although no step along K may have been whole; "" if K is too large for that."""
    return f"if all {K} products were lost: look at the remainder of K" if 1 < K < _TILES[-1] else ""


def _count_products(count: int) -> str:
    return "product" if count == 1 else f"{count} products"


def _pad(terms: np.ndarray, step: int) -> np.ndarray:
    return np.pad(terms, ((0, 0), (0, -terms.shape[1] % step)))


def _matching_columns(sample: WrongSample, sums: np.ndarray) -> list[int]:
    """Return the columns of E x n sums that match all elements."""
    return [int(k) for k in np.flatnonzero(sample.matches(sample.apply_scalars(sums)).all(axis=0))]


def _explain_by_shift(sample: WrongSample) -> Iterator[Explanation]:
    """Test whether an index is off by one or by the size of a tile."""
    problem = sample.wrong.problem
    for d in _SHIFTS:
        side = f"{abs(d)} {'below' if d > 0 else 'above'} it"
        if _matches_shifted(sample, d, 0):
            yield Explanation("rows shifted", f"if each row held the row {side}: a row index is off by {abs(d)}")
        side = f"{abs(d)} to its {'right' if d > 0 else 'left'}"
        if _matches_shifted(sample, 0, d):
            yield Explanation(
                "columns shifted", f"if each column held the column {side}: a column index is off by {abs(d)}"
            )
        skews = abs(d) < problem.K and not sample.wrong.has_nan
        if skews and sample.matches(sample.apply_scalars(_sum_skewed(sample, d))).all():
            yield Explanation("k shifted", f"if k were off by {abs(d)} between A and B")


def _matches_shifted(sample: WrongSample, down: int, right: int) -> bool:
    """Return whether the sample holds the elements so far below and to its right, where these exist, as most must.

    NaN may only be where they do not exist.
    """
    wrong = sample.wrong

    def exists(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        i, j = i + down, j + right
        return np.asarray((i >= 0) & (i < wrong.problem.M) & (j >= 0) & (j < wrong.problem.N))

    row, column = np.nonzero(wrong.mask & np.isnan(wrong.got))
    valid = exists(sample.i, sample.j)
    if 2 * valid.sum() < len(sample) or exists(wrong.rows[row], column).any():
        return False
    i, j = np.where(valid, sample.i + down, sample.i), np.where(valid, sample.j + right, sample.j)
    product = wrong.alpha * sample.products(wrong.a, wrong.b, i, j).sum(axis=1)
    shifted = wrong.beta * wrong.operands["C"][i, j].astype(np.float64) if wrong.beta else 0.0
    in_place = wrong.beta * sample.before if wrong.beta else 0.0
    return any(bool((sample.matches(product + base) | ~valid).all()) for base in (in_place, shifted))


def _sum_skewed(sample: WrongSample, d: int) -> np.ndarray:
    """Return sums of A[i][k] B[k + d][j] over all k for which both exist."""
    a, b = sample.wrong.a[sample.i].astype(np.float64), sample.wrong.b[:, sample.j].T.astype(np.float64)
    first, second = (a[:, :-d], b[:, d:]) if d > 0 else (a[:, -d:], b[:, :d])
    return np.asarray((first * second).sum(axis=1))


def _explain_by_precision(sample: WrongSample) -> Iterator[Explanation]:
    """Test, on real data only, whether factors were rounded or truncated to fewer bits, or sums were kept in fewer."""
    wrong = sample.wrong
    if wrong.exact or wrong.problem.storage("A") != FLOAT32:
        return
    a, b = (values.astype(np.float32) for values in (wrong.a[sample.i], wrong.b[:, sample.j].T))
    for lower in _lower_precisions():
        for reduce, words in ((_round, "rounded"), (_truncate, "truncated")):
            x, y = reduce(a, lower).astype(np.float64), reduce(b, lower).astype(np.float64)
            if sample.matches(sample.apply_scalars((x * y).sum(axis=1))).all():
                yield Explanation(
                    "lower precision", f"if A and B were {words} to {lower.name}: computed in a lower precision"
                )
    for lower in sorted(_lower_precisions(), key=lambda lower: -lower.a.significand):
        if lower.a != FLOAT32 and _sums_fit(sample, lower.a):
            yield Explanation("lower precision", f"if sums were kept in {lower.name}: computed in a lower precision")


def _lower_precisions() -> list[Precision]:
    """Return precisions whose factors have fewer bits than f32, one of each kind. The widest ranges come first."""
    kinds: dict[tuple[int, int], Precision] = {}
    for lower in PRECISIONS.values():
        if not lower.a.is_integer and lower.factor_bits < FLOAT32.significand:
            kinds.setdefault((-lower.a.exponent, -lower.factor_bits), lower)
    return [kinds[key] for key in sorted(kinds)]


def _round(values: np.ndarray, lower: Precision) -> np.ndarray:
    if lower.a == FLOAT32:
        return round_factor(values, lower)
    return values.astype(lower.a.numpy_type()).astype(np.float32)


def _truncate(values: np.ndarray, lower: Precision) -> np.ndarray:
    """Return the values without their last bits. They are rounded if the exponent differs from that of float32."""
    if lower.a.exponent != FLOAT32.exponent:
        return _round(values, lower)
    cut = FLOAT32.significand - lower.factor_bits
    kept = np.ascontiguousarray(values).view(np.uint32) & np.uint32(2**32 - 2**cut)
    return np.asarray(kept.view(np.float32))


def _sums_fit(sample: WrongSample, storage: StorageType) -> bool:
    """Return whether all elements are near the right ones and equal alpha s + beta C0 for an s in this format."""
    alpha, beta = sample.wrong.alpha, sample.wrong.beta
    if not alpha or len(sample) < 4:
        return False
    base = beta * sample.before if beta else np.zeros(len(sample))
    held = ((sample.got - base) / alpha).astype(np.float32).astype(storage.numpy_type()).astype(np.float64)
    rounding = 4 * 2.0**-24 * (np.abs(alpha * held) + np.abs(base))
    near = np.abs(sample.apply_scalars(sample.terms.sum(axis=1)) - sample.got) <= _NEAR * sample.scale
    return bool((near & (np.abs(alpha * held + base - sample.got) <= rounding)).all())


_FEW_BITS = (8, 16, 24)


def _explain_by_integers(sample: WrongSample) -> Iterator[Explanation]:
    """Test, on integers only, whether factors were unsigned, or sums or results were kept in fewer bits or in float."""
    if not sample.wrong.problem.precision.is_exact:
        return
    sums = sample.terms.sum(axis=1)
    for bits in _FEW_BITS:
        half, end = 2.0 ** (bits - 1), 2.0**bits
        for cause, words, values in (
            (f"{bits} bits", f"it accumulated in {bits} bits", np.remainder(sums + half, end) - half),
            (f"{bits} bits", f"it accumulated in {bits} unsigned bits", np.remainder(sums, end)),
            ("saturated", f"the sum were saturated to {bits} bits", sums.clip(-half, half - 1)),
            ("saturated", f"each addition were saturated to {bits} bits", _saturate_each(sample.terms, half)),
        ):
            if sample.matches(sample.apply_scalars(values)).all():
                yield Explanation(cause, f"if {words}")
        whole = sample.apply_scalars(sums)
        if any(sample.matches(cut).all() for cut in (np.remainder(whole + half, end) - half, np.remainder(whole, end))):
            yield Explanation(f"{bits} bits", f"if the result were cut to {bits} bits")
    yield from _explain_by_changed_factors(sample)
    yield from _explain_by_float(sample, sums)


def _saturate_each(terms: np.ndarray, half: float) -> np.ndarray:
    total = np.zeros(len(terms))
    for column in terms.T:
        total = (total + column).clip(-half, half - 1)
    return total


def _explain_by_changed_factors(sample: WrongSample) -> Iterator[Explanation]:
    a, b, storage = sample.wrong.a, sample.wrong.b, sample.wrong.problem.storage("A")
    a, b = a.astype(np.float64), b.astype(np.float64)
    end, least = 2.0**storage.bits, 1 - 2.0**storage.significand
    changes: tuple[tuple[str, str, Callable[[np.ndarray], np.ndarray]], ...] = (
        ("unsigned factors", "{} held unsigned numbers", lambda factor: np.remainder(factor, end)),
        ("clipped factors", f"{least - 1:.0f} in {{}} were clipped to {least:.0f}", lambda factor: factor.clip(least)),
    )
    for cause, words, change in changes:
        for x, y, names in ((change(a), b, "A"), (a, change(b), "B"), (change(a), change(b), "A and B")):
            if sample.matches(sample.apply_scalars(sample.products(x, y, sample.i, sample.j).sum(axis=1))).all():
                yield Explanation(cause, f"if {words.format(names)}")


def _explain_by_float(sample: WrongSample, sums: np.ndarray) -> Iterator[Explanation]:
    """Test whether alpha and beta were applied in float, or sums were kept there."""
    alpha, beta, got = sample.wrong.alpha, sample.wrong.beta, sample.got
    base = beta * sample.before if beta else np.zeros(len(sample))
    product, added = alpha * _to_float(sums), beta * _to_float(sample.before) if beta else base
    orders = _to_float(product) + _to_float(added), product + _to_float(added), _to_float(product) + added
    if any((got == _to_float(each)).all() for each in orders):
        yield Explanation("scalars in float", "if alpha and beta were applied in float, which holds 24 bits")
    if not alpha:
        return
    error = sample.terms.shape[1] * FLOAT32.unit * sample.scale
    near = np.abs(got - alpha * sums - base) <= error
    for held in (got, got - base, (got - base) / alpha):
        large = np.abs(held) > 1 / FLOAT32.unit  # smaller integers are floats
        if large.mean() > _MOSTLY_WRONG and (near & (held == _to_float(held))).all():
            yield Explanation("float", "if it accumulated in float, which holds 24 bits")


def _to_float(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32).astype(np.float64)


_Hypothesis = Callable[[WrongSample], Iterator[Explanation]]
_HYPOTHESES: tuple[_Hypothesis, ...] = (
    _explain_by_scalars,
    _explain_by_transposition,
    _explain_by_lost_products,
    _explain_by_shift,
    _explain_by_precision,
    _explain_by_integers,
)


NEVER_WRITTEN, UNKNOWN, RACE, OUTSIDE = "never written", "unknown", "race", "wrote outside"
INDEX = "index: "
"""The prefix of the keys of index mistakes."""
WATCHED = "watched: "
"""The prefix of the keys of faults that were found by watching a kernel's accesses."""
OTHER_LAUNCH, NO_BARRIER, ZEROS, CRASH = "other launch", "barrier not reached", "zeros", "crash"
LOWER_PRECISION, PRODUCT_NEVER_WRITTEN = "lower precision", "product never written"
_MOSTLY_WRONG, _NEARLY_ALL = 0.5, 0.95
_LEAST_SIGNS = 8
"""The number of wrong and of right elements whose signs must show that a sign matters."""
_LARGEST_ROUNDING = 1e5
"""The largest error attributed to rounding, in units of rounding.

In f32, one lost product gives a larger error for K from 8 to 4096.
"""


@dataclass(frozen=True)
class Diagnosis:
    """The key of a cause, its description ("" if none fits), and a map of C ("" if it has no structure).

    `is_index_mistake` tells whether the whole result was reproduced with such a mistake. `renamed` maps arguments of
    the kernel to those that must take their place. `is_recomputed` tells whether C, wherever it is wrong, has the
    values of a product with this cause. `region` is the wrong part of C, or "" if all of it is wrong.
    """

    cause: str
    words: str = ""
    map: str = ""
    is_index_mistake: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)
    is_recomputed: bool = False
    region: str = ""


def diagnose(wrong: WrongResult) -> Diagnosis:
    """Find the most likely cause of a wrong result."""
    region = regions.find_wrong_region(wrong)
    with np.errstate(all="ignore"):  # a hypothesis may overflow 16 bits
        recomputed = _explain_signs(wrong)
        found = None if recomputed else _explain_contents(wrong, region)
        recomputed = recomputed or (None if found else _explain_values(wrong, region))
        unknown = not (found or recomputed or wrong.problem.ld or wrong.problem.precision.scales)
        if unknown and (mistake := find_index_mistake(wrong)):
            return Diagnosis(INDEX + mistake.cause, f"as {mistake.words}", "", True, mistake.renamed, True)
        cause, words = found or recomputed or _explain_region(wrong, region)
    return Diagnosis(
        cause,
        words,
        regions.draw_map(wrong) if _has_structure(wrong, region) else "",
        is_recomputed=recomputed is not None and _is_everywhere(region),
        region="" if region.kind == regions.ALL else region.subject.rstrip(","),
    )


def explain_product(wrong: WrongResult) -> tuple[str, Diagnosis]:
    """Describe a wrong result of one product, and return its most likely cause."""
    diagnosis = diagnose(wrong)
    return describe(wrong, diagnosis), diagnosis


def _has_structure(wrong: WrongResult, region: WrongRegion) -> bool:
    """Return whether a map of C would be useful.

    A map is useless if all of C is wrong, except what is right by chance.
    """
    if region.kind == regions.SOME and wrong.mask.mean() > _MOSTLY_WRONG:
        return bool(0 < wrong.unwritten.mean() < _NEARLY_ALL)
    return region.kind != regions.ALL


def describe(wrong: WrongResult, diagnosis: Diagnosis) -> str:
    """Write a sentence with the number of wrong elements, the first one, and the cause."""
    i, j = (int(index) for index in np.argwhere(wrong.mask)[0])
    element = f"{wrong.problem.result.name}[{wrong.rows[i]}][{j}]"
    got, want = wrong.stored or (wrong.got, wrong.want)
    first = f"first {element} = {got[i, j]:.9g}, should be {want[i, j]:.9g}"
    share = f"{int(wrong.mask.sum())} of {wrong.mask.size} elements wrong, {first}"
    rows = "" if wrong.has_all_rows or not wrong.exact else f"{len(wrong.suspects)} of {wrong.problem.M} rows wrong; "
    return f"{rows}{share}: {diagnosis.words}" if diagnosis.words else f"{rows}{share}"


def _explain_contents(wrong: WrongResult, region: WrongRegion) -> tuple[str, str] | None:
    """Test whether the wrong elements hold something that the kernel did not compute: NaN, the old C or 0."""
    got = wrong.got[wrong.mask]
    before = wrong.operands["C"][wrong.rows].astype(np.float64)[wrong.mask]
    if wrong.unwritten[wrong.mask].all():
        if region.kind == regions.ALL:
            words = "C was never written" if wrong.beta else "C was never written, or C was read although beta is 0"
            return NEVER_WRITTEN, words
        inputs = regions.name_inputs(wrong.problem, has_epilogue=wrong.stored is not None)
        words = f"{region.subject} {_was_or_were(region)} never written, or computed from memory outside {inputs}"
        return _unwritten_cause(region), words + _advice(region)
    if wrong.beta and (got == before).all():
        words = f"{region.subject} {_was_or_were(region)} never written: C is unchanged"
        return _unwritten_cause(region), words + _advice(region)
    if not got.any():
        words = f"{region.subject} {'hold' if region.plural else 'holds'} 0"
        if _is_everywhere(region) and (lost := _describe_lost_remainder(wrong.problem.K)):
            return ZEROS, f"{words}, as {lost}"
        return ZEROS, words + _advice(region)
    return None


def _explain_signs(wrong: WrongResult) -> tuple[str, str] | None:
    """Test whether negative results or sums, and only these, are wrong: they became positive or 0."""
    sample, alpha, beta = wrong.sample, wrong.alpha, wrong.beta
    if not len(sample) or wrong.has_nan or not alpha:
        return None
    base = beta * wrong.operands["C"][wrong.rows].astype(np.float64) if beta else 0.0
    sums, own = sample.terms.sum(axis=1), beta * sample.before if beta else np.zeros(len(sample))
    for what, values, few, factor, added in (
        ("results", wrong.want, alpha * sums + own, 1.0, 0 * own),
        ("sums", (wrong.want - base) / alpha, sums, alpha, own),
    ):
        share = wrong.mask[(values < 0) & (wrong.mask | wrong.right)]
        right = int((wrong.right & (values > 0)).sum())
        if (wrong.mask & (values >= 0)).any() or min(len(share), right) < _LEAST_SIGNS:
            continue
        if share.mean() < (1 if wrong.exact else _NEARLY_ALL):
            continue
        for words, changed in (("positive", np.abs(few)), ("0", np.maximum(few, 0))):
            if sample.matches(factor * changed + added).all():
                return "sign lost", f"as if negative {what} became {words}"
    return None


def _explain_values(wrong: WrongResult, region: WrongRegion) -> tuple[str, str] | None:
    explanation = _find_explanation(wrong)
    if explanation is None:
        return None
    words = f"{'' if _is_everywhere(region) else region.subject.rstrip(',') + ': '}as {explanation.words}"
    return explanation.cause, words if wrong.exact else f"{words}, {_error(wrong)}"


def _is_everywhere(region: WrongRegion) -> bool:
    """Return whether the wrong elements are not limited to a special part of C."""
    return region.kind in (regions.ALL, regions.SOME)


def _explain_region(wrong: WrongResult, region: WrongRegion) -> tuple[str, str]:
    if region.advice:
        return f"edge {region.kind}", f"only {region.subject.rstrip(',')}: {region.advice}"
    if math.isfinite(wrong.error) and wrong.error < _LARGEST_ROUNDING and wrong.mask.mean() > 0.2:
        return LOWER_PRECISION, f"{_error(wrong)}: computed in a lower precision, or products are lost"
    if region.kind in (regions.TILES, regions.STRIPES, regions.DIAGONAL):
        return f"some {region.kind}", f"only {region.subject.rstrip(',')}"
    return UNKNOWN, ""


def _error(wrong: WrongResult) -> str:
    return f"the error is {wrong.error:.0f} units of rounding, {ROUNDING_FACTOR} are allowed"


def _unwritten_cause(region: WrongRegion) -> str:
    """Return the key of the cause for elements that were never written."""
    if region.advice:
        return f"edge {region.kind}"
    return "tiles never written" if region.kind == regions.TILES else NEVER_WRITTEN


def _advice(region: WrongRegion) -> str:
    return f": {region.advice}" if region.advice else ""


def _was_or_were(region: WrongRegion) -> str:
    return "were" if region.plural else "was"
