"""Finds index mistakes by computing C with mixed-up sizes, leading dimensions, tiles or pointers.

Every hypothesis predicts which element of C holds which sum. It is compared with elements of all kinds, including those
that were not written, and is accepted if all of them are as predicted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from gemmbench.bench.operands import guards
from gemmbench.bench.verify.wrong_result import WrongResult

_MOST_ELEMENTS, _FIRST_ELEMENTS = 192, 12
_LEAST_WRONG = 8
"""The number of wrong elements whose values a hypothesis must give.

By chance, one in ten sums of small integers is right.
"""
_LEAST_SIDE, _LARGEST = 9, 1 << 27
"""The shortest side of a problem that can distinguish hypotheses, and the largest M N K that is tried."""
_MOST_WRITERS = 8
_SIDES = (16, 32, 8, 64, 4, 128)
"""Sides of square tiles. The usual ones come first."""
_LONG_SIDES = (8, 16, 32, 64, 128, 256)
_STEPS = (4, 8, 16, 32, 64)
_SIZES = "MNK"


@dataclass(frozen=True)
class IndexMistake:
    """A hypothesis that fits: the key of the cause, and words that complete "C is as".

    If the mistake is in the kernel's arguments, `renamed` maps them to those that must take their place.
    """

    cause: str
    words: str
    renamed: Mapping[str, str] = field(default_factory=dict)


def find_index_mistake(wrong: WrongResult) -> IndexMistake | None:
    """Return the simplest index mistake that gives this result; None if there is none or the problem is too small."""
    problem = wrong.problem
    shape = problem.M, problem.N, problem.K
    if not wrong.exact or wrong.beta or min(shape) < _LEAST_SIDE or math.prod(shape) > _LARGEST:
        return None
    probe = Probe(wrong)
    if (probe.wrong & ~probe.unwritten).sum() < _LEAST_WRONG:
        return None
    searches = (_search_strides, _search_tiles, _search_tile_places, _search_steps, _search_narrow_rows, _search_orders)
    return next((found for search in searches for found in search(probe)), None)


@dataclass(frozen=True)
class Prediction:
    """What elements hold according to a hypothesis: E x W values, one for each thread that may have written them.

    NaN means an unknown value. `written` (E x W) tells whether there is such a thread.
    """

    values: np.ndarray
    written: np.ndarray


class Probe:
    """A sample of elements of a wrong C: their rows `i`, columns `j` and values. Half of them are wrong elements."""

    def __init__(self, wrong: WrongResult):
        self.result, self.problem = wrong, wrong.problem
        rng = np.random.default_rng(0)
        finite = np.flatnonzero(wrong.mask & np.isfinite(wrong.got) & ~wrong.unwritten)
        anywhere = np.arange(wrong.mask.size)
        half = _MOST_ELEMENTS // 2
        chosen = np.concatenate([rng.permutation(each)[:half] for each in (finite, anywhere)])
        rows, self.j = np.divmod(chosen, wrong.mask.shape[1])
        self.i = wrong.rows[rows]
        self.got, self.wrong = wrong.got[rows, self.j], wrong.mask[rows, self.j]

    @cached_property
    def flat(self) -> dict[str, np.ndarray]:
        """A and B as stored in memory, with a NaN at the end."""
        operands = self.result.operands
        return {name: np.append(operands[name].reshape(-1).astype(np.float64), np.nan) for name in "AB"}

    @cached_property
    def padded(self) -> dict[str, np.ndarray]:
        """op(A) and op(B) with a row and a column of zeros at the end."""
        return {
            name: np.pad(each.astype(np.float64), ((0, 1), (0, 1)))
            for name, each in (("A", self.result.a), ("B", self.result.b))
        }

    def take(self, name: str, addresses: np.ndarray) -> np.ndarray:
        """Return the elements of an operand at these addresses, and NaN outside it."""
        flat = self.flat[name]
        last = len(flat) - 1
        return np.asarray(flat[np.where((addresses >= 0) & (addresses < last), addresses, last)])

    def take_padded(self, name: str, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return elements of op(A) or op(B), and 0 outside it."""
        padded = self.padded[name]
        height, width = padded.shape[0] - 1, padded.shape[1] - 1
        return np.asarray(padded[np.clip(rows, 0, height), np.clip(columns, 0, width)])

    @cached_property
    def unwritten(self) -> np.ndarray:
        """Whether each element holds what C was filled with before the launch."""
        kind = self.problem.precision.c.numpy_type()
        fills = [np.full(kind.itemsize, byte, np.uint8).view(kind)[0] for byte in (guards.FINITE, guards.NEGATIVE)]
        unwritten = self.problem.precision.c.find_unwritten(self.got)
        return np.asarray(unwritten | np.isin(self.got, np.array(fills, np.float64)))

    @cached_property
    def few(self) -> Probe:
        """Only the first elements, with the same operands."""
        short = object.__new__(Probe)
        short.__dict__.update(self.__dict__, flat=self.flat, padded=self.padded)
        every = self.i, self.j, self.got, self.wrong, self.unwritten
        short.i, short.j, short.got, short.wrong, short.unwritten = (each[:_FIRST_ELEMENTS] for each in every)
        return short

    def matches(self, prediction: Prediction, lenient: bool) -> bool:
        """Return whether the elements are as predicted. If `lenient`, elements may also be unwritten."""
        values = self.problem.precision.c.store(self.result.alpha * prediction.values)
        unknown = (np.isnan(prediction.values) & prediction.written).any(axis=1)
        equal = ((values == self.got[:, None]) & prediction.written).any(axis=1)
        unwritten = self.unwritten if lenient else self.unwritten & ~prediction.written.any(axis=1)
        return bool((equal | unwritten | unknown).all())

    def count_explained(self, prediction: Prediction) -> int:
        """Return how many of the wrong elements that were written have a known value."""
        known = prediction.written.any(axis=1) & ~(np.isnan(prediction.values) & prediction.written).any(axis=1)
        return int((known & self.wrong & ~self.unwritten).sum())


@dataclass(frozen=True)
class _Walk:
    """The sizes that a kernel uses, and the strides in memory of rows and columns of op(A), op(B) and C.

    `pointers` names the operands that it uses as A and as B.
    """

    sizes: tuple[int, int, int]
    a: tuple[int, int]
    b: tuple[int, int]
    c: tuple[int, int]
    pointers: str = "AB"

    def predict(self, probe: Probe) -> Prediction:
        m, n, k = self.sizes
        address = probe.i * probe.problem.N + probe.j
        across = self.c[1] == 1
        step = max(self.c)
        turn = np.arange(min(_MOST_WRITERS, -(-(n if across else m) // step)))
        long, short = (address // step)[:, None] - turn, (address % step)[:, None] + turn * step
        i, j = (long, short) if across else (short, long)
        written = (i >= 0) & (i < m) & (j >= 0) & (j < n)
        inner = np.arange(k)
        a = probe.take(self.pointers[0], i[..., None] * self.a[0] + inner * self.a[1])
        b = probe.take(self.pointers[1], inner * self.b[0] + j[..., None] * self.b[1])
        return Prediction((a * b).sum(axis=2), written)


class _Hypothesis(Protocol):
    """Predicts what elements of C hold."""

    def predict(self, probe: Probe) -> Prediction: ...


def _is_right(probe: Probe, hypothesis: _Hypothesis, lenient: bool = False) -> bool:
    """Return whether all elements are as predicted. The first few already rule out most hypotheses."""
    few = probe.few
    if not few.matches(hypothesis.predict(few), lenient):
        return False
    prediction = hypothesis.predict(probe)
    return probe.matches(prediction, lenient) and probe.count_explained(prediction) >= _LEAST_WRONG


def _stride(transposed: bool, leading: int) -> tuple[int, int]:
    return (1, leading) if transposed else (leading, 1)


def _make_walk(probe: Probe, sizes: Sequence[str], pointers: str = "AB") -> _Walk:
    """Return the walk of a correct kernel that uses these sizes as M, N and K."""
    problem = probe.problem
    m, n, k = (getattr(problem, name) for name in sizes)
    a, b = _stride(problem.trans_a, m if problem.trans_a else k), _stride(problem.trans_b, k if problem.trans_b else n)
    return _Walk((m, n, k), a, b, (n, 1), pointers)


def _search_strides(probe: Probe) -> Iterator[IndexMistake]:
    """Search for leading dimensions, sizes and operands that were exchanged."""
    problem = probe.problem
    yield from _search_roles(probe)
    right = _make_walk(probe, _SIZES)
    names = {problem.K: "K", problem.N: "N", problem.M: "M"}
    usual = {"A": "MK"[not problem.trans_a], "B": "NK"[problem.trans_b], "C": "N"}
    flips = {"A": problem.trans_a, "B": problem.trans_b, "C": False}
    choices = [
        [(flip, size) for flip in (flips[operand], not flips[operand]) for size in sorted(names, reverse=True)]
        for operand in "ABC"
    ]
    plain = [(flips[name], getattr(problem, usual[name])) for name in "ABC"]
    packed = [(not flips[name], {"M": problem.M, "N": problem.N, "K": problem.K}[other]) for name, other in
              (("A", "KM"[not problem.trans_a]), ("B", "KN"[problem.trans_b]), ("C", "M"))]  # fmt: skip

    def count_changes(chosen: tuple[tuple[bool, int], ...]) -> int:
        weights = (0 if one == plain[at] else 2 if one == packed[at] else 2 + (one[0] != plain[at][0])
                   for at, one in enumerate(chosen))  # fmt: skip
        return sum(weights)

    for chosen in sorted(itertools.product(*choices), key=count_changes)[1:]:
        a, b, c = (_stride(*each) for each in chosen)
        if not _is_right(probe, _Walk(right.sizes, a, b, c)):
            continue
        changed = [at for at in range(3) if chosen[at] != plain[at]]
        parts = []
        for at in changed:
            operand, (flip, size) = "ABC"[at], chosen[at]
            if chosen[at] == packed[at]:
                parts.append(f"{operand} were {'stored' if operand == 'C' else 'read'} transposed")
            elif flip != plain[at][0]:
                parts.append(
                    f"{operand} were {'stored' if operand == 'C' else 'read'} transposed with the leading dimension "
                    f"{names[size]}"
                )
            else:
                index = _write_index(operand, flip, names[size])
                parts.append(f"the leading dimension of {operand} were {names[size]} instead of {usual[operand]} "
                             f"({index})")  # fmt: skip
        words = "if " + " and ".join(parts)
        if c != right.c and c[1] == 1 and max(c) < problem.N:
            words += ": several threads write the same element"
        transposed = all(chosen[at] == packed[at] for at in changed)
        kind = "transposed" if transposed else "leading dimension"
        yield IndexMistake(f"{kind} {' and '.join('ABC'[at] for at in changed)}", words)


def _write_index(operand: str, flip: bool, size: str) -> str:
    row, column = {"A": ("row", "k"), "B": ("k", "col"), "C": ("row", "col")}[operand]
    return f"{operand}[{column} * {size} + {row}]" if flip else f"{operand}[{row} * {size} + {column}]"


def _search_roles(probe: Probe) -> Iterator[IndexMistake]:
    """Search for an exchange of M, N and K, or of A and B."""
    problem = probe.problem
    values = {name: getattr(problem, name) for name in _SIZES}
    seen = {tuple(values.values())}
    for pointers in ("AB", "BA"):
        for sizes in itertools.permutations(_SIZES):
            numbers = tuple(values[name] for name in sizes)
            if pointers == "AB" and numbers in seen:
                continue
            seen.add(numbers)
            if not _is_right(probe, _make_walk(probe, sizes, pointers), lenient=True):
                continue
            renamed = {given: wanted for given, wanted in zip(sizes, _SIZES, strict=True) if given != wanted}
            renamed |= {"A": "B", "B": "A"} if pointers == "BA" else {}
            yield IndexMistake("roles exchanged", f"if {_describe_roles(renamed)}", renamed)


def _describe_roles(renamed: Mapping[str, str]) -> str:
    """Describe which sizes or operands a kernel confuses."""
    taken = [name for name in ("A", "B", *_SIZES) if name in renamed]
    others = [renamed[name] for name in taken]
    return f"the kernel took {', '.join(taken[:-1])} and {taken[-1]} for {', '.join(others[:-1])} and {others[-1]}"


@dataclass(frozen=True)
class _Tiles:
    """Square tiles in shared memory with mixed-up indices inside a tile: i, j or k in each of six places.

    If `loaded`, the mistake is in the address of a load whose guard uses the right indices.
    """

    side: int
    a: str = "ik"
    b: str = "kj"
    c: str = "ij"
    loaded: bool = False

    def predict(self, probe: Probe) -> Prediction:
        side = self.side
        i, j = probe.i % side, probe.j % side
        if self.c == "ji":
            i, j = j, i
        k = np.arange(-(-probe.problem.K // side) * side)
        inside = {"i": i[:, None], "j": j[:, None], "k": (k % side)[None]}
        down, across, along = (probe.i - probe.i % side)[:, None], (probe.j - probe.j % side)[:, None], k - k % side
        a_at = down + inside[self.a[0]], along + inside[self.a[1]]
        b_at = along + inside[self.b[0]], across + inside[self.b[1]]
        if self.loaded:
            right, within = _make_walk(probe, _SIZES), k < probe.problem.K
            a = np.where(within, probe.take("A", a_at[0] * right.a[0] + a_at[1] * right.a[1]), 0)
            b = np.where(within, probe.take("B", b_at[0] * right.b[0] + b_at[1] * right.b[1]), 0)
        else:
            a, b = probe.take_padded("A", *a_at), probe.take_padded("B", *b_at)
        values = (a * b).sum(axis=1)[:, None]
        return Prediction(values, ((i == j) | (self.c[0] != self.c[1]))[:, None])

    def describe(self) -> str:
        tile = f"{self.side} x {self.side} tile"
        if (self.a, self.b, self.c) == ("kk", "kk", "ij"):
            return (
                f"if threadIdx.x and threadIdx.y were exchanged in row and column, but not in the loads of the {tile}s"
            )
        usual = {"A": "ik", "B": "kj", "C": "ij"}
        chosen = {"A": self.a, "B": self.b, "C": self.c}
        changed = [name for name in "ABC" if chosen[name] != usual[name]]
        if all(chosen[name] == usual[name][::-1] for name in changed):
            verb = "stored" if changed == ["C"] else "read"
            return f"if each {tile} of {' and '.join(changed)} were {verb} transposed: its two indices are exchanged"
        parts = [f"{name}[{chosen[name][0]}][{chosen[name][1]}] instead of {name}[{usual[name][0]}][{usual[name][1]}]"
                 for name in changed]  # fmt: skip
        return f"if each {tile} used {' and '.join(parts)}, with i, j and k inside the tile"


def _search_tiles(probe: Probe) -> Iterator[IndexMistake]:
    """Search for exchanged indices inside a tile."""
    pairs = ["".join(each) for each in itertools.product("ijk", repeat=2)]
    choices = sorted(
        itertools.product(pairs, pairs, ("ij", "ji", "jj")),
        key=lambda each: sum(one != right for one, right in zip("".join(each), "ikkjij", strict=True)),
    )[1:]
    for side in _SIDES:
        if side >= 2 * max(probe.problem.M, probe.problem.N):
            continue
        for (a, b, c), loaded in itertools.product(choices, (False, True)):
            if _is_right(probe, tiles := _Tiles(side, a, b, c, loaded)):
                yield IndexMistake("transposed tile", tiles.describe())


@dataclass(frozen=True)
class _TilePlaces:
    """Tiles of height x width with coordinates that are exchanged in the address of A, B or C."""

    height: int
    width: int
    a: bool
    b: bool
    c: bool

    def predict(self, probe: Probe) -> Prediction:
        problem = probe.problem
        wraps = np.arange(3 if self.c else 1)
        row, column = probe.i[:, None] - wraps, probe.j[:, None] + wraps * problem.N
        down, across = (
            (column // self.width, row // self.height) if self.c else (row // self.height, column // self.width)
        )
        li, lj = row % self.height, column % self.width
        i, j = down * self.height + li, across * self.width + lj
        written = (row >= 0) & (i < problem.M) & (j < problem.N)
        from_a = across * self.height + li if self.a else i
        from_b = down * self.width + lj if self.b else j
        a, b = self._rows(probe, from_a), self._columns(probe, from_b)
        return Prediction((a * b).sum(axis=2), written)

    @staticmethod
    def _rows(probe: Probe, rows: np.ndarray) -> np.ndarray:
        a = np.vstack([probe.result.a.astype(np.float64), np.full((1, probe.problem.K), np.nan)])
        return np.asarray(a[np.where((rows >= 0) & (rows < probe.problem.M), rows, probe.problem.M)])

    @staticmethod
    def _columns(probe: Probe, columns: np.ndarray) -> np.ndarray:
        b = np.vstack([probe.result.b.T.astype(np.float64), np.full((1, probe.problem.K), np.nan)])
        return np.asarray(b[np.where((columns >= 0) & (columns < probe.problem.N), columns, probe.problem.N)])


def _search_tile_places(probe: Probe) -> Iterator[IndexMistake]:
    """Search for an exchange of the row and column of a block's tile."""
    problem = probe.problem
    flags = [each for each in itertools.product((False, True), repeat=3) if any(each)]
    for height, width in itertools.product(_LONG_SIDES, repeat=2):
        if height >= problem.M and width >= problem.N:
            continue
        for a, b, c in sorted(flags, key=sum):
            if _is_right(probe, _TilePlaces(height, width, a, b, c)):
                names = " and ".join(name for name, flag in zip("ABC", (a, b, c), strict=True) if flag)
                yield IndexMistake(
                    "tile coordinates exchanged",
                    f"if row and column of the {height} x {width} tile of a block were exchanged in the address of "
                    f"{names}",
                )


@dataclass(frozen=True)
class _Advance:
    """The pointer to an operand advances by `step` elements from one tile of `depth` along K to the next."""

    operand: str
    depth: int
    step: int

    def predict(self, probe: Probe) -> Prediction:
        problem = probe.problem
        right = _make_walk(probe, _SIZES)
        k = np.arange(problem.K)
        tile, inner = k // self.depth, k % self.depth
        shifts = {"A": inner * right.a[1] + tile * self.step, "B": inner * right.b[0] + tile * self.step}
        a_k = shifts["A"] if self.operand == "A" else k * right.a[1]
        b_k = shifts["B"] if self.operand == "B" else k * right.b[0]
        a = probe.take("A", probe.i[:, None] * right.a[0] + a_k)
        b = probe.take("B", probe.j[:, None] * right.b[1] + b_k)
        values = (a * b).sum(axis=1)[:, None]
        return Prediction(values, np.ones_like(values, bool))


def _search_steps(probe: Probe) -> Iterator[IndexMistake]:
    """Search for a pointer that advances by a wrong number of elements from tile to tile, or not at all."""
    right = _make_walk(probe, _SIZES)
    sizes = {name: getattr(probe.problem, name) for name in _SIZES}
    for depth in _STEPS:
        if depth >= probe.problem.K:
            continue
        names = {0: "0", 1: "1", depth: f"{depth}", 2 * depth: f"{2 * depth}"}
        names |= {other: f"{other}" for other in _LONG_SIDES}
        names |= {other * size: f"{other} * {name}" for other in _LONG_SIDES for name, size in sizes.items()}
        near = itertools.product((depth - 1, depth + 1), sizes.items())
        names |= {other * size: f"{other} * {name}" for other, (name, size) in near}
        names |= {size: name for name, size in sizes.items()}
        names |= {depth * size: f"{depth} * {name}" for name, size in sizes.items()}
        for operand, unit in (("A", right.a[1]), ("B", right.b[0])):
            wanted = depth * unit
            for step, written in names.items():
                if step == wanted or not _is_right(probe, _Advance(operand, depth, step)):
                    continue
                if step == 0:
                    words = f"if {operand} did not advance from one tile of {depth} products to the next"
                else:
                    tiles = f"from one tile of {depth} to the next"
                    words = f"if {operand} advanced by {written} {tiles}, not by {names[wanted]}"
                yield IndexMistake(f"{operand} advances wrongly", words)


@dataclass(frozen=True)
class _NarrowRows:
    """A tile whose rows in shared memory overlap, because they have only `width` elements, fewer than its columns.

    If two threads write the same element, the last one wins, which is that of the higher row if `forward`. The end of
    the last row may lie in the tile of the other operand.
    """

    operand: str
    side: int
    width: int
    forward: bool

    def predict(self, probe: Probe) -> Prediction:
        side, width = self.side, self.width
        i, j = (probe.i % side)[:, None], (probe.j % side)[:, None]
        k = np.arange(-(-probe.problem.K // side) * side)[None]
        lk = k % side
        along, down, across = k - lk, probe.i[:, None] - i, probe.j[:, None] - j

        def take(name: str, row: np.ndarray, column: np.ndarray) -> np.ndarray:
            return probe.take_padded(
                name, *((down + row, along + column) if name == "A" else (along + row, across + column))
            )

        own, other = {"A": (i, lk), "B": (lk, j)}[self.operand], {"A": (lk, j), "B": (i, lk)}[self.operand]
        name = "AB".replace(self.operand, "")
        place = own[0] * width + own[1]
        beyond = place - side * width
        written = take(self.operand, *self._find_writer(place))
        spilled = np.where(beyond >= 0, take(name, np.zeros_like(beyond), np.maximum(beyond, 0)), written)
        kept = take(name, *other)
        is_hit = (other[0] == 0) & (other[1] < side - width)
        hit = np.where(is_hit, take(self.operand, np.full_like(other[1], side - 1), width + other[1]), kept)
        values = np.stack([(one * two).sum(axis=1) for one in (written, spilled) for two in (kept, hit)], axis=1)
        return Prediction(values, np.ones_like(values, bool))

    def _find_writer(self, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.forward:
            row = np.minimum(place // self.width, self.side - 1)
        else:
            row = np.maximum(0, -(-(place - self.side + 1) // self.width))
        return row, place - row * self.width


def _search_narrow_rows(probe: Probe) -> Iterator[IndexMistake]:
    """Search for rows in shared memory that are shorter than the tile."""
    for side, operand, forward in itertools.product(_SIDES[:3], "AB", (True, False)):
        for width in range(side - 1, side // 2 - 1, -1):
            if _is_right(probe, _NarrowRows(operand, side, width, forward)):
                yield IndexMistake(
                    "shared array too small",
                    f"if rows of the tile of {operand} overlapped: its array in shared memory has {width} elements "
                    f"a row, the tile {side}",
                )


@dataclass(frozen=True)
class _Order:
    """The order in which rows or columns of the product are stored in C.

    Each group of `side` rows is reordered as if `step` adjacent threads each computed strided rows and stored them next
    to each other, or the other way round. If `side` is 0, all rows are stored backwards. If `step` is 1, the order is
    unchanged.
    """

    side: int
    step: int

    def find(self, place: np.ndarray, size: int) -> np.ndarray:
        if self.side == 0:
            return size - 1 - place
        inside = place % self.side
        return np.asarray(place - inside + inside // self.step + inside % self.step * (self.side // self.step))

    def describe(self, name: str) -> str:
        if self.side == 0:
            return f"the {name}s of C were stored backwards"
        return (
            f"{name} i + {self.side // self.step} * m of each {self.side} {name}s were stored as {name} "
            f"{self.step} * i + m"
        )


_IN_ORDER = _Order(1, 1)


@dataclass(frozen=True)
class _Reordered:
    """A correct product with rows and columns stored in a different order."""

    rows: _Order
    columns: _Order

    def predict(self, probe: Probe) -> Prediction:
        problem = probe.problem
        i, j = self.rows.find(probe.i, problem.M), self.columns.find(probe.j, problem.N)
        k = np.arange(problem.K)[None]
        values = (probe.take_padded("A", i[:, None], k) * probe.take_padded("B", k, j[:, None])).sum(axis=1)[:, None]
        return Prediction(values, np.ones_like(values, bool))


def _search_orders(probe: Probe) -> Iterator[IndexMistake]:
    """Search for correct sums in the wrong row or column."""
    steps = [(side, 2**power) for side in _LONG_SIDES for power in range(1, int(math.log2(side)))]
    orders = [_IN_ORDER, _Order(0, 1), *(_Order(*each) for each in steps)]
    for rows, columns in sorted(itertools.product(orders, repeat=2), key=lambda pair: pair.count(_IN_ORDER) == 0)[1:]:
        if _is_right(probe, _Reordered(rows, columns)):
            parts = [order.describe(name) for order, name in ((rows, "row"), (columns, "column")) if order != _IN_ORDER]
            yield IndexMistake("places in C", f"if {' and '.join(parts)}")
