"""The numbers in A, B and C.

A matrix is made in pieces, each from a random stream of its own, on all cores: the same seed gives the same
matrix on any number of them. At 8192 one core takes seconds for what the GPU multiplies in 20 ms.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from gemmbench.planning.problems.precision import Precision
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.sweeps.options import Fill

_PIECE = 1 << 22  # elements
_KEPT = 1 << 28  # bytes of A, B and C that are kept for the batches to come
_SMALL = np.array([-2, -1, 1, 2], np.float32)


@dataclass(frozen=True)
class Operands:
    """Host arrays as they are stored."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray


def filled(problem: Problem, fill: Fill, seed: int) -> Operands:
    """A, B and the C that beta multiplies, not to be written to. `ints` are small integers, see _integers."""
    return _kept(problem, fill, seed) if is_kept(problem) else _made(problem, fill, seed)


def is_kept(problem: Problem) -> bool:
    """Small enough to be kept for the batches to come."""
    return sum(problem.operand_bytes(name) for name in "ABC") <= _KEPT


def _made(problem: Problem, fill: Fill, seed: int) -> Operands:
    kind = problem.precision.numpy_type()
    found = [np.empty(problem.shape(name), kind) for name in "ABC"]
    pieces: list[Callable[[], None]] = []
    for number, matrix in enumerate(found):
        flat, factor = matrix.reshape(-1), number < 2
        for start in range(0, flat.size, _PIECE):
            stream = [seed, number, start // _PIECE]
            pieces.append(partial(_write, flat[start : start + _PIECE], problem, fill, factor, stream))
    if len(pieces) == len(found):
        for piece in pieces:
            piece()
    else:
        with ThreadPoolExecutor() as pool:
            for done in [pool.submit(piece) for piece in pieces]:
                done.result()
    for matrix in found:
        matrix.flags.writeable = False
    return Operands(*found)


_kept = lru_cache(maxsize=3)(_made)  # the fills of one problem: two to verify with, one to time


def _write(piece: np.ndarray, problem: Problem, fill: Fill, factor: bool, stream: list[int]) -> None:
    """Fill a piece of a factor, A or B, or of C."""
    values = _values(np.random.default_rng(stream), problem, piece.size, fill)
    piece[:] = round_factor(values, problem.precision) if factor else values


def _values(rng: np.random.Generator, problem: Problem, count: int, fill: Fill) -> np.ndarray:
    kind = np.float64 if problem.precision.storage == "float64" else np.float32
    if fill == "uniform":
        values = rng.random(count, dtype=kind)
        values *= 2
        values -= 1
        return values
    if fill == "normal":
        return rng.standard_normal(count, dtype=kind)
    if fill == "ints":
        return _integers(rng, count, problem)
    return np.full(count, 0.0 if fill == "zeros" else 1.0, kind)


def _integers(rng: np.random.Generator, count: int, problem: Problem) -> np.ndarray:
    """Integers whose sums, doubled, stay exact in C: -2, -1, 1, 2, or for 16 bits -1, 1 and as few zeros as will do."""
    if problem.precision.bytes > 2:
        return _SMALL[rng.integers(0, 4, count, dtype=np.uint8)]
    # A sum of K products of density d**2 stays within 6 d sqrt(K), but for one case in 10**9.
    limit = 2.0 ** (problem.precision.result_bits - 1)
    density = min(1.0, limit / (8 * problem.K**0.5))
    signs = rng.integers(0, 2, count, dtype=np.int8) * 2 - 1
    return signs * (rng.random(count, dtype=np.float32) < density)


def round_factor(values: np.ndarray, precision: Precision) -> np.ndarray:
    """Round float32 to the significand bits a factor keeps (to nearest), so that products are exact."""
    dropped = 24 - precision.factor_bits
    if values.dtype != np.float32 or precision.storage != "float32" or dropped <= 0:
        return values  # the storage type rounds by itself
    half = np.uint32(1 << (dropped - 1))
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + half) & ~np.uint32((1 << dropped) - 1)).view(np.float32)
