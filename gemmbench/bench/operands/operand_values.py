"""Makes the numbers in A, B and C.

A matrix is filled in pieces on all cores. Each piece has a separate random stream, so a seed gives the same matrix on
any number of cores. At size 8192, one core takes seconds to fill matrices that a GPU multiplies in 20 ms.

Groups have a B each. Only that of the first is drawn if they are large; the others hold its elements in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial

import numpy as np

from gemmbench.planning.precisions import FLOAT32, FLOAT64, Precision, StorageType
from gemmbench.planning.problems import OFFSETS, SCALED, Operand, Problem
from gemmbench.planning.sweeps.run_request import Fill

_PIECE = 1 << 22  # elements
_LARGE_B = 1 << 16  # elements of a B that is not drawn for each group
_CACHED_BYTES = 1 << 28  # operands up to this size are kept for the next batches
_SMALL = np.array([-2, -1, 1, 2], np.float32)
_MANY_BITS = 24  # sums of products of _SMALL stay exact up to K = 2**21


Operands = Mapping[str, np.ndarray]
"""Host arrays by operand name, in storage order, with the rows of all products stacked.

The initial contents of the result, such as C, are included only if a launch may read them. Otherwise the result holds
NaN.
"""


def make_array(operand: Operand) -> np.ndarray:
    """Return an empty host array for an operand, with the rows of all products stacked."""
    return np.empty((operand.rows, operand.shape[-1]), operand.storage.numpy_type())


def make_index(problem: Problem) -> np.ndarray:
    """Return the first row of each group, and last the number of all rows, as an operand is stored."""
    return np.array([problem.offsets], problem.operand(OFFSETS).storage.numpy_type())


def make_inputs(operands: Operands, beta: float, separate_c: bool = False) -> Operands:
    """Return the operands that a launch may read. C is included only if beta is not 0, or if the result is D.

    A C that may not be read is NaN.
    """
    if beta:
        return operands
    if separate_c:
        unread = np.empty_like(operands["C"])
        unread.view(np.uint8)[:] = 0xFF
        return {**operands, "C": unread}
    return {name: array for name, array in operands.items() if name != "C"}


def make_operands(problem: Problem, fill: Fill, seed: int) -> Operands:
    """Return all operands, including the C that beta multiplies, read-only.

    `ints` are small integers with exact sums.
    """
    return (_fill_cached if is_cached(problem) else _fill_operands)(problem, fill, seed)


def make_scaled_operands(problem: Problem, seed: int) -> Operands:
    """Return operands of a precision with scales that only its scales round, read-only.

    A and B are integers of full significands. Their sums fill the bits of the accumulator without exceeding them, so
    that they have more bits than C. Scales have full significands too. They are so far from 1, and their products
    too, that a scale that is ignored differs from one of which only the exponent is used.
    """
    scales, precision = problem.precision.scales, problem.precision
    assert scales is not None
    operands = dict(make_operands(problem, "uniform", seed))
    largest = 2**precision.factor_bits - 1
    # The standard deviation of a product of two such integers is their mean square.
    size = (
        sum(number**2 for number in range(1, largest + 1)) / largest * min(problem.K, scales.depth or problem.K) ** 0.5
    )
    density = min(1.0, 2.0 ** (precision.accumulator.exact_bits - 1) / (_MOST_DEVIATIONS * size))
    for number, name in enumerate("AB"):
        rng, old = np.random.default_rng([seed, 4, number]), operands[name]
        values = rng.integers(1, largest, old.shape, np.int8, endpoint=True)
        values *= rng.integers(0, 2, old.shape, np.int8) * 2 - 1
        values *= rng.random(old.shape, dtype=np.float32) < density
        operands[name] = values.astype(old.dtype)
        operands[name].flags.writeable = False
    for name, factor in _FACTORS.items():
        operands[name] = (operands[name] * factor).astype(operands[name].dtype)
        operands[name].flags.writeable = False
    return operands


_MOST_DEVIATIONS = 6
_FACTORS = {"scale_a": 32, "scale_b": 1 / 4, "C": 8}
"""What multiplies scales between 1/2 and 2, and C, so that products keep their size beside it. With `ints`, the only
scale of an operand is this.
"""
_TRANSPARENT = 48
"""The usual sum of transparent operands in a precision of few exact bits."""


_LEAST_K = 128


def has_transparent_operands(problem: Problem) -> bool:
    """Whether an activation follows sums that can be made so large that it returns them."""
    return problem.K >= _LEAST_K and problem.has_activation and not problem.precision.is_exact


def make_transparent_operands(problem: Problem, seed: int) -> Operands:
    """Operands whose sums, doubled, are exact and so large that an activation returns them; read-only.

    A and B are 1 and 2; with few exact bits 0 and 1, with so many zeros that the sums stay near 48. Scales are 1.
    """
    return (_make_transparent_cached if is_cached(problem) else _make_transparent)(problem, seed)


def _make_transparent(problem: Problem, seed: int) -> Operands:
    operands = dict(make_operands(problem, "ints", seed))
    for number, name in enumerate("ABC"):
        rng, old = np.random.default_rng([seed, 2, number]), operands[name]
        if problem.precision.exact_bits >= _MANY_BITS or name == "C":
            values = np.abs(old)
        else:
            density = min(1.0, (_TRANSPARENT / problem.K) ** 0.5)
            values = (rng.random(old.shape, dtype=np.float32) < density).astype(old.dtype)
        operands[name] = values
    operands |= make_unit_scales(operands)
    for values in operands.values():
        values.flags.writeable = False
    return operands


def make_unit_scales(operands: Operands) -> Operands:
    """Return scales of 1 for those among these operands."""
    return {name: np.ones_like(array) for name, array in operands.items() if name in SCALED}


_make_transparent_cached = lru_cache(maxsize=1)(_make_transparent)


def make_large_operands(problem: Problem, seed: int) -> Operands:
    """Return operands of which A and B are the lowest quarter of an integer type, read-only.

    In int8 all products are large and positive: sums pass 16 bits at K = 7 and 24 bits from about K = 1330 on.
    """
    operands = dict(make_operands(problem, "ints", seed))
    for number, name in enumerate("AB"):
        lowest = -(2 ** problem.storage(name).significand)
        old, rng = operands[name], np.random.default_rng([seed, 3, number])
        drawn = rng.integers(lowest, lowest * 3 // 4, old.shape, np.int8)  # no factor has more bits
        operands[name] = drawn.astype(old.dtype, copy=False)
        operands[name].flags.writeable = False
    return operands


def is_cached(problem: Problem) -> bool:
    """Return whether the operands are small enough to be kept for the next batches."""
    return sum(operand.nbytes for operand in problem.operands) <= _CACHED_BYTES


def _fill_operands(problem: Problem, fill: Fill, seed: int) -> Operands:
    operands = [operand for operand in problem.operands if operand.role != "result" or operand.name == "C"]
    matrices = [make_array(operand) for operand in operands]
    pieces: list[Callable[[], None]] = []
    turned: list[Callable[[], None]] = []
    for number, matrix in enumerate(matrices):
        flat, operand = matrix.reshape(-1), operands[number]
        if operand.role == "index":
            matrix[:] = make_index(problem)
            continue
        one = flat.size // max(1, len(problem.groups))
        if operand.name == "B" and problem.groups and one >= _LARGE_B:
            turned += [partial(_turn, flat, one, group) for group in range(1, len(problem.groups))]
            flat = flat[:one]
        for start in range(0, flat.size, _PIECE):
            stream = [seed, number, start // _PIECE]
            pieces.append(partial(_fill_piece, flat[start : start + _PIECE], problem, fill, operand, stream))
    if len(pieces) <= len(matrices) and not turned:
        for piece in pieces:
            piece()
    else:
        with ThreadPoolExecutor() as pool:
            for tasks in (pieces, turned):
                for done in [pool.submit(task) for task in tasks]:
                    done.result()
    for matrix in matrices:
        matrix.flags.writeable = False
    return {operand.name: matrix for operand, matrix in zip(operands, matrices, strict=True)}


_fill_cached = lru_cache(maxsize=3)(_fill_operands)  # the fills of one problem: two for verification, one for timing


_GOLDEN = (5**0.5 - 1) / 2


def _turn(flat: np.ndarray, size: int, group: int) -> None:
    """Fill a group's part of an operand, `size` elements, with those of the first group from another one on.

    The golden ratio keeps the elements with which groups begin far apart.
    """
    begin = int(group * _GOLDEN % 1 * size)
    part = flat[group * size : (group + 1) * size]
    part[: size - begin], part[size - begin :] = flat[begin:size], flat[:begin]


def _fill_piece(piece: np.ndarray, problem: Problem, fill: Fill, operand: Operand, stream: list[int]) -> None:
    """Fill a piece of an operand."""
    storage = operand.storage
    rng = np.random.default_rng(stream)
    if operand.role == "scale":
        piece[:] = _draw_scales(rng, operand, piece.size, fill) if operand.name in SCALED else rng.choice([0.5, 2.0])
        return
    if storage.is_integer:
        piece[:] = _draw_whole(rng, operand, piece.size, fill)
        return
    values = _draw_values(rng, problem, storage, piece.size, fill)
    piece[:] = round_factor(values, problem.precision) if operand.role == "factor" else values


_LARGEST_SCALE = 2


def _draw_scales(rng: np.random.Generator, operand: Operand, count: int, fill: Fill) -> np.ndarray:
    """Draw scales: 1 and 2 with `ints`, 1 if A and B are all alike, else numbers of full significands near 1.

    With `ints`, a scale that is the only one of its operand cannot be confused with another or with alpha, and several
    are not all alike.
    """
    if fill in ("zeros", "ones"):
        return np.ones(count)
    is_only = operand.rows * operand.shape[-1] == 1
    if fill == "ints":
        if is_only:
            return np.array([_FACTORS[operand.name]])
        drawn = rng.integers(1, _LARGEST_SCALE, count, endpoint=True)
        if (drawn == drawn[0]).all():
            drawn[-1] = 1 + _LARGEST_SCALE - drawn[0]
        return drawn
    if is_only:
        return np.array([_draw_only_scale(rng, operand.name)])
    return np.asarray(2 ** rng.uniform(-1, 1, count))


_ONLY_OF_A = 5 / 3
_SHORT = (3, 4, 8, 11)
"""The bits of the significands to which a kernel may shorten scales: those of fp8, bf16, and f16 and tf32."""
_TOLD_APART = 8
"""From so many bits on, it also shows which of the scales is short."""
_LEAST_CHANGE = 1 / 6
_DRAWN_AT_ONCE = 2**16


def _draw_only_scale(rng: np.random.Generator, name: str) -> float:
    """Draw the only scale of A or B, so that it shows if a kernel shortens one of them, both, or their product.

    Each changes the product by a factor that is a sixth of a last place or more from 1. 5/3 is 1.1010... in binary;
    that of A is 5/3 or 5/6. The nearest power of two is above it, and that of B is below.
    """
    if name == "scale_a":
        return float(rng.choice([_ONLY_OF_A, _ONLY_OF_A / 2]))
    drawn = 2 ** rng.uniform(-1, 1, _DRAWN_AT_ONCE)
    b, _ = np.frexp(drawn)  # from 1/2 to 1
    far, a = b < 0.5**0.5, np.full(b.shape, _ONLY_OF_A / 2)
    for bits in _SHORT:
        of_a, of_b, of_product = (_shorten(each, bits) / each for each in (a, b, np.frexp(a * b)[0]))
        single, both = [of_a, of_b, of_product], of_a * of_b
        together = [single] if bits >= _TOLD_APART else [[each] for each in single]
        for factors in (*together, [both]):
            sorted_factors = np.sort(np.stack([np.ones(b.shape), *factors]), axis=0)
            far &= np.diff(sorted_factors, axis=0).min(axis=0) >= _LEAST_CHANGE / 2**bits
    return float(drawn[far][0])


def _shorten(significands: np.ndarray, bits: int) -> np.ndarray:
    return np.asarray(np.rint(significands * 2.0**bits) / 2.0**bits)


_HEADROOM = {"A": 2, "B": 0}
"""The bits that a timed factor leaves: the sets of operands hold A times 1 or 2, and the audit doubles it again."""
_SUM_HEADROOM = 3
"""The bits that C and the addends leave, so that no sum of a problem of ordinary size overflows."""


def _draw_whole(rng: np.random.Generator, operand: Operand, count: int, fill: Fill) -> np.ndarray:
    """Draw numbers of an integer type.

    With `ints`, a factor has its whole range. Other fills are timed and leave _HEADROOM, and each number has its
    negative. Normal values reach the ends of the range at 4 sigma.
    """
    bits = operand.storage.significand
    if operand.role != "factor":
        bits -= _SUM_HEADROOM
    elif fill == "ints":
        return rng.integers(-(2**bits), 2**bits, count)
    else:
        bits -= _HEADROOM[operand.name]
    largest = 2**bits - 1
    if fill in ("zeros", "ones"):
        return np.full(count, int(fill == "ones"))
    if fill == "normal":
        return np.asarray(np.rint(rng.standard_normal(count) * (largest / 4)).clip(-largest, largest))
    return rng.integers(-largest, largest, count, endpoint=True)


def _draw_values(
    rng: np.random.Generator, problem: Problem, storage: StorageType, count: int, fill: Fill
) -> np.ndarray:
    kind = np.float64 if storage == FLOAT64 else np.float32
    if fill == "uniform":
        values = rng.random(count, dtype=kind)
        values *= 2
        values -= 1
        return values
    if fill == "normal":
        return rng.standard_normal(count, dtype=kind)
    if fill == "ints":
        return _draw_integers(rng, count, problem)
    return np.full(count, 0.0 if fill == "zeros" else 1.0, kind)


def _draw_integers(rng: np.random.Generator, count: int, problem: Problem) -> np.ndarray:
    """Return integers whose doubled sums stay exact: -2, -1, 1 and 2, or -1, 0 and 1 if there are few exact bits.

    There are as few zeros as the precision's exact bits allow.
    """
    if problem.precision.exact_bits >= _MANY_BITS:
        return np.asarray(_SMALL[rng.integers(0, 4, count, dtype=np.uint8)])
    # A sum of K products of density d**2 stays within 6 d sqrt(K), except in one of 10**9 cases.
    # Scales may multiply it, and C has room for few bits.
    limit = 2.0 ** (problem.precision.exact_bits - 1) / (_LARGEST_SCALE**2 if problem.precision.scales else 1)
    density = min(1.0, limit / (8 * problem.K**0.5))
    signs = rng.integers(0, 2, count, dtype=np.int8) * 2 - 1
    return np.asarray(signs * (rng.random(count, dtype=np.float32) < density))


def round_factor(values: np.ndarray, precision: Precision) -> np.ndarray:
    """Round float32 values to the nearest ones with a factor's significand bits, so that products are exact."""
    dropped = 24 - precision.factor_bits
    if values.dtype != np.float32 or precision.a != FLOAT32 or dropped <= 0:
        return values  # conversion to the storage type rounds
    half = np.uint32(1 << (dropped - 1))
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return np.asarray(((bits + half) & ~np.uint32((1 << dropped) - 1)).view(np.float32))
