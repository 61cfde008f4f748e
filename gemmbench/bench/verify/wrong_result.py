"""A wrong result with everything it was computed from, and where it is wrong, in words and as a map of tiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gemmbench.bench.operands.operand_values import Operands
from gemmbench.bench.operands.products import view_scaled_factor
from gemmbench.planning.problems import Problem

ROUNDING_FACTOR = 16
"""The error that a correct result may have, in units of u (|alpha| |A| |B| + |beta| |C0|)."""
_ELEMENTS = 64


def name_inputs(problem: Problem, has_epilogue: bool = False) -> str:
    """Name the operands whose surroundings hold NaN, for a sentence about memory outside them."""
    others = has_epilogue or any(operand.role not in ("factor", "result", "index") for operand in problem.operands)
    return "its operands" if others else "A or B"


@dataclass(frozen=True)
class WrongResult:
    """A result C = alpha op(A) op(B) + beta C0 that failed.

    `rows` holds the indices of the R rows of C that were compared. `got` and `want` (float64) and `mask`, which is true
    where `got` is wrong, are R x N. `suspects` holds all rows known to be wrong, including those that were not
    compared. `error` is in units of rounding. It is infinite if the comparison was exact. Behind an epilogue, `got` and
    `want` are the sums before it, and `stored` holds what C has and should have.
    """

    problem: Problem
    operands: Operands
    alpha: float
    beta: float
    rows: np.ndarray
    got: np.ndarray
    want: np.ndarray
    mask: np.ndarray
    suspects: np.ndarray
    error: float = float("inf")
    exact: bool = True
    stored: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def has_all_rows(self) -> bool:
        """Whether every row of C was compared."""
        return len(self.rows) == self.problem.M

    @cached_property
    def unwritten(self) -> np.ndarray:
        """R x N values that are true where C is as before the launch: NaN, or -1 among integers."""
        return self.problem.storage("C").find_unwritten(self.got)

    @cached_property
    def a(self) -> np.ndarray:
        """op(A), M x K, with its scales."""
        return view_scaled_factor(self.problem, self.operands, "A")[0]

    @cached_property
    def b(self) -> np.ndarray:
        """op(B), K x N, with its scales."""
        return view_scaled_factor(self.problem, self.operands, "B")[0]

    @cached_property
    def sample(self) -> WrongSample:
        """At most 64 finite wrong elements, spread across C."""
        wrong = np.argwhere(self.mask & np.isfinite(self.got) & ~self.unwritten)
        few = wrong[np.unique(np.linspace(0, len(wrong) - 1, _ELEMENTS).astype(int))] if len(wrong) else wrong
        return WrongSample(self, self.rows[few[:, 0]], few[:, 1], self.got[few[:, 0], few[:, 1]])


@dataclass(frozen=True)
class WrongSample:
    """E wrong elements of C: their row indices, column indices and values."""

    wrong: WrongResult
    i: np.ndarray
    j: np.ndarray
    got: np.ndarray

    def __len__(self) -> int:
        return len(self.got)

    @cached_property
    def terms(self) -> np.ndarray:
        """The products whose sums the elements should be, E x K."""
        return self.products(self.wrong.a, self.wrong.b, self.i, self.j)

    @cached_property
    def before(self) -> np.ndarray:
        """C0 at these elements."""
        return np.asarray(self.wrong.operands["C"][self.i, self.j], np.float64)

    @cached_property
    def scale(self) -> np.ndarray:
        """|alpha| |A| |B| + |beta| |C0| at these elements."""
        product = abs(self.wrong.alpha) * np.abs(self.terms).sum(axis=1)
        return np.asarray(product + abs(self.wrong.beta) * np.abs(self.before))

    def products(self, a: np.ndarray, b: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return the products whose sums are the elements (i, j) of a b, with one row for each element."""
        return np.asarray(a[i].astype(np.float64) * b[:, j].T.astype(np.float64))

    def apply_scalars(self, sums: np.ndarray) -> np.ndarray:
        """Return alpha sums + beta C0 for sums of shape E or E x n."""
        base = self.wrong.beta * self.before if self.wrong.beta else np.zeros(len(self))
        return self.wrong.alpha * sums + (base if sums.ndim == 1 else base[:, None])

    def matches(self, values: np.ndarray) -> np.ndarray:
        """Return where `values` (E or E x n) match.

        They must be equal for integers, and within rounding for real data.
        """
        got, scale = (vector if values.ndim == 1 else vector[:, None] for vector in (self.got, self.scale))
        problem = self.wrong.problem
        if self.wrong.exact:
            return np.asarray(problem.precision.c.store(values) == got)
        bound = ROUNDING_FACTOR * problem.sum_unit * scale + 2 * problem.precision.result_unit * np.abs(values)
        return np.asarray(np.abs(values - got) <= bound)


_MAP_ROWS, _MAP_COLUMNS = 16, 32
_MOSTLY = 0.5
_SMALLEST_TILE = 4
ALL, COLUMNS, ROWS, _CORNER = "all", "columns", "rows", "rows and columns"
TILES, STRIPES, SOME = "tiles", "stripes", "some"


@dataclass(frozen=True)
class WrongRegion:
    """The wrong elements: the kind of region, the subject of a sentence, and advice on where to look.

    `advice` is "" if there is none.
    """

    kind: str
    subject: str
    advice: str = ""
    plural: bool = True


def find_wrong_region(wrong: WrongResult) -> WrongRegion:
    """Return the simplest region that contains the wrong elements and is mostly wrong."""
    checked = wrong.problem.M if wrong.exact else len(wrong.rows)
    if wrong.mask.all() and len(wrong.suspects) == checked:
        return WrongRegion(ALL, "every element", plural=False)
    return _find_edge(wrong) or _find_tiles(wrong) or _find_stripes(wrong) or WrongRegion(SOME, "these elements")


def _find_edge(wrong: WrongResult) -> WrongRegion | None:
    """Find a wrong edge: the last columns, the last rows or both."""
    M, N = wrong.problem.M, wrong.problem.N
    column, row = _first_wrong_line(wrong.mask, 0), _first_wrong_row(wrong)
    if 0 < row < M and (wrong.mask.mean() > _MOSTLY or wrong.has_all_rows) and 2 * row >= M:
        inside = wrong.rows < row
        if 2 * column >= N and 0 < column < N and not wrong.mask[inside][:, :column].any():
            subject = f"{_describe_last('rows', row, M)} and {_describe_last('columns', column, N)}"
            return WrongRegion(_CORNER, subject, "look at the guards on M and N, and at the grid")
        if not wrong.mask[inside].any():
            return WrongRegion(
                ROWS, _describe_last("rows", row, M), "look at the guard on M, and at the grid", row < M - 1
            )
    if 0 < column < N and 2 * column >= N and not wrong.mask[:, :column].any():
        return WrongRegion(
            COLUMNS, _describe_last("columns", column, N), "look at the guard on N, and at the grid", column < N - 1
        )
    return None


def _first_wrong_row(wrong: WrongResult) -> int:
    """Return the first row from which on all rows are mostly wrong; M if there is none."""
    M = wrong.problem.M
    if wrong.has_all_rows:
        return _first_wrong_line(wrong.mask, 1)
    first = M - len(wrong.suspects)
    return first if wrong.exact and np.array_equal(wrong.suspects, np.arange(first, M)) else M


def _first_wrong_line(mask: np.ndarray, axis: int) -> int:
    """Return the first column (axis 0) or row (axis 1) from which on all are mostly wrong, or their number."""
    right = np.flatnonzero(mask.mean(axis=axis) <= _MOSTLY)
    return int(right[-1]) + 1 if right.size else 0


def _describe_last(what: str, first: int, size: int) -> str:
    count = size - first
    return f"the last {what.rstrip('s')}, {first}," if count == 1 else f"the last {count} {what}, from {first} on,"


def _find_tiles(wrong: WrongResult) -> WrongRegion | None:
    """Find the largest tiles with power-of-two sides that are each entirely wrong or entirely right."""
    if not wrong.has_all_rows:
        return None
    fine = _share_per_tile(wrong.mask, _SMALLEST_TILE, _SMALLEST_TILE)
    if not np.isin(fine, (0.0, 1.0)).all():
        return None
    sides = [2**n for n in range(8, 1, -1)]
    for area, height, width in sorted(((h * w, h, w) for h in sides for w in sides), reverse=True):
        if area > wrong.mask.size // 2:
            continue
        share = _share_per_tile(fine > 0, height // _SMALLEST_TILE, width // _SMALLEST_TILE)
        if np.isin(share, (0.0, 1.0)).all():
            count = int(share.sum())
            return WrongRegion(TILES, f"{count} of {share.size} tiles of {height} x {width}", plural=count > 1)
    return None


def _find_stripes(wrong: WrongResult) -> WrongRegion | None:
    """Find wrong stripes: one row or column, several adjacent ones, or one in p."""
    lines = {"column": np.flatnonzero(wrong.mask.any(axis=0))}
    if wrong.exact:
        lines = {"row": wrong.suspects, **lines}
    for name, wrong_lines in lines.items():
        steps = np.unique(np.diff(wrong_lines))
        if len(wrong_lines) == (wrong.problem.M if name == "row" else wrong.problem.N) or len(steps) > 1:
            continue
        if not len(steps):
            return WrongRegion(STRIPES, f"{name} {wrong_lines[0]}", plural=False)
        if steps[0] > 1:
            return WrongRegion(STRIPES, f"one {name} in {steps[0]}, from {wrong_lines[0]} on,", plural=False)
        return WrongRegion(STRIPES, f"{name}s {wrong_lines[0]} to {wrong_lines[-1]}")
    return None


def _share_per_tile(mask: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return the fraction of true elements in each tile. Tiles at the edges are cut off."""
    rows, columns = (range(0, size, step) for size, step in zip(mask.shape, (height, width), strict=True))
    sums = np.add.reduceat(np.add.reduceat(mask.astype(float), rows, axis=0), columns, axis=1)
    sizes = np.outer(*(np.diff([*starts, size]) for starts, size in zip((rows, columns), mask.shape, strict=True)))
    return np.asarray(sums / sizes)


def draw_map(wrong: WrongResult) -> str:
    """Draw a map of C with at most 16 lines of 32 characters, below a line that explains it.

    If only some rows were compared, they represent their tiles. `?` marks tiles with wrong rows that were not compared.
    """
    height, width = _tile_side(wrong.problem.M, _MAP_ROWS), _tile_side(wrong.problem.N, _MAP_COLUMNS)
    shape = wrong.problem.M, wrong.problem.N
    lines = [_draw_line(wrong, top, height, width) for top in range(0, shape[0], height)]
    legend = f"{shape[0]} x {shape[1]} in tiles of {height} x {width}: # all wrong, + some wrong, n all NaN, . correct"
    unknown = ", ? not compared" if any("?" in line for line in lines) else ""
    return "\n".join([legend + unknown, *lines])


def _tile_side(size: int, most: int) -> int:
    step = 1
    while -(-size // step) > most:
        step *= 2
    return step


def _draw_line(wrong: WrongResult, top: int, height: int, width: int) -> str:
    inside = (wrong.rows >= top) & (wrong.rows < top + height)
    suspected = bool(((wrong.suspects >= top) & (wrong.suspects < top + height)).any())
    if not inside.any():
        return ("?" if suspected else ".") * -(-wrong.problem.N // width)
    rows = int(inside.sum())
    shares = _share_per_tile(wrong.mask[inside], rows, width)[0]
    unwritten = _share_per_tile(wrong.unwritten[inside], rows, width)[0]
    return "".join(_draw_tile(share, nan) for share, nan in zip(shares, unwritten, strict=True))


def _draw_tile(share: float, nan: float) -> str:
    if share == 0:
        return "."
    if nan == 1:
        return "n"
    return "#" if share == 1 else "+"
