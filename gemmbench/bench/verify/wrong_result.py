"""A wrong result with everything it was computed from, and where it is wrong, in words and as a map of tiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gemmbench.bench.operands.operand_values import Operands
from gemmbench.bench.operands.products import view_scaled_factor
from gemmbench.planning.precisions import FLOAT32
from gemmbench.planning.problems import Problem

ROUNDING_FACTOR = 16
"""The error that a correct result may have, in units of u (|alpha| |A| |B| + |beta| |C0|)."""
_SLACK = 1 + 2.0**-6
"""How much farther an exact sum may be from C than the nearest number is: scales are rounded in float."""
_ELEMENTS = 64
_MANY, _ENOUGH_BITS = 16, 20
"""The number of wrong elements that a cause must explain, or, if there are fewer, the bits of their errors in total.

Some ten thousand causes are tried, and one that is false gives the right error of `b` bits with probability 2**-b.
"""


def find_storage_error(problem: Problem, values: np.ndarray, exact_sums: bool) -> np.ndarray:
    """The error that storing values in C may add: a unit in its last place, or half of one if all else is exact."""
    if exact_sums:
        return problem.storage("C").find_half_units(values) * _SLACK
    largest = np.maximum(np.abs(values), problem.storage("C").smallest_normal)  # below it, places have one size
    return np.asarray(2 * problem.precision.result_unit * largest)


def find_sum_unit(problem: Problem, exact_sums: bool) -> float:
    """The unit of rounding of sums: that of a float if nothing but scales and scalars is rounded."""
    return FLOAT32.unit if exact_sums else problem.sum_unit


def name_inputs(problem: Problem, has_epilogue: bool = False) -> str:
    """Name the operands whose surroundings hold NaN, for a sentence about memory outside them."""
    others = has_epilogue or any(operand.role not in ("factor", "result", "index") for operand in problem.operands)
    return "its operands" if others else "A or B"


@dataclass(frozen=True)
class WrongResult:
    """A result C = alpha op(A) op(B) + beta C0 that failed.

    `rows` holds the indices of the R rows of C that were compared. `got` and `want` (float64) and `mask`, which is true
    where `got` is wrong, are R x N. `suspects` holds all rows known to be wrong, including those that were not
    compared. `error` is in units of rounding. It is infinite if the comparison was exact. `exact_sums` is as in a
    Reference. Behind an epilogue, `got` and `want` are the sums before it, and `stored` holds what C has and should
    have. What an activation cut off is not `known`.
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
    exact_sums: bool = False
    stored: tuple[np.ndarray, np.ndarray] | None = None
    known: np.ndarray | None = None

    @property
    def has_all_rows(self) -> bool:
        """Whether every row of C was compared."""
        return len(self.rows) == self.problem.M

    @cached_property
    def unwritten(self) -> np.ndarray:
        """R x N values that are true where C is as before the launch: NaN, or -1 among integers."""
        return self.problem.storage("C").find_unwritten(self.got)

    @property
    def has_nan(self) -> bool:
        """Whether some wrong elements are NaN."""
        return bool(np.isnan(self.got[self.mask]).any())

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
        """At most 64 finite wrong elements, spread across C. It is empty if they are too few to name a cause.

        Of real numbers and of wrong elements without a pattern, as many right ones where wrong rows and columns cross
        follow. What rounds a little may make an element wrong, but leaves others right.
        """
        is_known = np.isfinite(self.got) & ~self.unwritten
        wrong = np.argwhere(self.mask & is_known)
        if not self._are_enough(wrong):
            wrong = wrong[:0]
        few = _spread(wrong)
        if len(wrong) and (not self.exact or find_wrong_region(self).kind == SOME):
            crossed = np.logical_and.outer(self.mask.any(axis=1), self.mask.any(axis=0))
            few = np.concatenate([few, _spread(np.argwhere(crossed & self.right & is_known))])
        return WrongSample(self, self.rows[few[:, 0]], few[:, 1], self.got[few[:, 0], few[:, 1]], len(wrong) < _MANY)

    @property
    def right_sample(self) -> WrongSample:
        """At most 64 right elements, spread across C."""
        few = _spread(np.argwhere(self.right))
        return WrongSample(self, self.rows[few[:, 0]], few[:, 1], self.got[few[:, 0], few[:, 1]])

    @property
    def right(self) -> np.ndarray:
        """R x N values that are true where `got` is known to be right."""
        return ~self.mask if self.known is None else ~self.mask & self.known

    def sample_lines(self, positions: np.ndarray, columns: np.ndarray) -> WrongSample:
        """At most 64 wrong numbers, spread across C, and two elements of each of these positions of rows and columns.

        The two are on both diagonals, so that what depends on the row differs from what depends on the column.
        """
        row, column = np.arange(len(columns)) % len(self.rows), np.arange(len(positions)) % self.problem.N
        numbers = _spread(np.argwhere(self.mask & ~np.isnan(self.got)))
        pairs = (row, columns), (-1 - row, columns), (positions, column), (positions, -1 - column)
        lines = [np.stack(pair, axis=1) % self.mask.shape for pair in pairs]
        places = np.concatenate([numbers, *lines])
        return WrongSample(self, self.rows[places[:, 0]], places[:, 1], self.got[tuple(places.T)])

    def _are_enough(self, places: np.ndarray) -> bool:
        """Whether elements are many, or so far from what they should be that chance cannot explain their bits."""
        if len(places) >= _MANY:
            return True
        got, want = self.got[tuple(places.T)], self.want[tuple(places.T)]
        unit = 0.5 if self.exact else 2 * self.problem.storage("C").find_half_units(want)  # integers have a sign
        with np.errstate(divide="ignore", invalid="ignore"):
            bits = np.log2(np.abs(got - want) / unit)
        return bool(np.maximum(bits, 0).sum() >= _ENOUGH_BITS)


@dataclass(frozen=True)
class WrongSample:
    """E elements of C that a cause must explain: their row indices, column indices and values.

    If they are `few` real numbers, a cause must give them to the last bit.
    """

    wrong: WrongResult
    i: np.ndarray
    j: np.ndarray
    got: np.ndarray
    few: bool = False

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

    def matches(self, values: np.ndarray, scale: np.ndarray | None = None) -> np.ndarray:
        """Return where `values` (E or E x n), which are sums of size `scale`, match.

        They must be equal for integers, and for many real numbers as near as the check that failed demands.
        """
        scale = self.scale if scale is None else scale
        got, scale = (vector if values.ndim == 1 else vector[:, None] for vector in (self.got, scale))
        problem, exact_sums = self.wrong.problem, self.wrong.exact_sums
        if self.wrong.exact or self.few:
            return np.asarray(problem.precision.c.store(values) == got)
        unit = ROUNDING_FACTOR * find_sum_unit(problem, exact_sums)
        bound = unit * scale + find_storage_error(problem, values, exact_sums)
        return np.asarray(np.abs(values - got) <= bound)


def _spread(places: np.ndarray) -> np.ndarray:
    """Return at most 64 of some places, spread across them."""
    if not len(places):
        return places
    return np.asarray(places[np.unique(np.linspace(0, len(places) - 1, _ELEMENTS).astype(int))])


_MAP_ROWS, _MAP_COLUMNS = 16, 32
_MOSTLY, _NEARLY_ALL = 0.5, 0.9
_SMALLEST_TILE = 4
_LEAST_STRIPES = 3
_FEW = 3
ALL, COLUMNS, ROWS, _CORNER = "all", "columns", "rows", "rows and columns"
TILES, STRIPES, DIAGONAL, SOME = "tiles", "stripes", "diagonal", "some"


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
    if found := _find_edge(wrong):
        return found
    if wrong.mask.sum() == 1 and wrong.has_all_rows:
        return WrongRegion(SOME, "this element", plural=False)
    return _find_tiles(wrong) or _find_stripes(wrong) or _find_diagonal(wrong) or WrongRegion(SOME, _list_few(wrong))


def _list_few(wrong: WrongResult) -> str:
    """Name two or three wrong elements, or say "these elements"."""
    places = np.argwhere(wrong.mask)
    if len(places) > _FEW or not wrong.has_all_rows:
        return "these elements"
    *first, last = (f"{wrong.problem.result.name}[{row}][{column}]" for row, column in places)
    return f"{', '.join(first)} and {last}"


def _find_edge(wrong: WrongResult) -> WrongRegion | None:
    """Find a wrong edge: the last columns, the last rows or both."""
    M, N = wrong.problem.M, wrong.problem.N
    column = _first_wrong_line(wrong, 0) if _has_wrong_columns(wrong) else N
    row = _first_wrong_row(wrong)
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
        return _first_wrong_line(wrong, 1)
    first = M - len(wrong.suspects)
    return first if wrong.exact and np.array_equal(wrong.suspects, np.arange(first, M)) else M


def _first_wrong_line(wrong: WrongResult, axis: int) -> int:
    """Return the first column (axis 0) or row (axis 1) from which on all are mostly wrong, or their number."""
    right = np.flatnonzero(~_are_mostly_wrong(wrong, wrong.mask.mean(axis=axis)))
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
    """Find wrong stripes: rows or columns that are mostly wrong, of which there are few or which have one distance."""
    columns = np.flatnonzero(wrong.mask.any(axis=0))
    lines = {}
    if wrong.exact and _are_mostly_wrong(wrong, wrong.mask[np.isin(wrong.rows, wrong.suspects)].mean(axis=1)).all():
        lines["row"] = wrong.suspects, wrong.problem.M
    if _has_wrong_columns(wrong) and _are_mostly_wrong(wrong, wrong.mask[:, columns].mean(axis=0)).all():
        lines["column"] = columns, wrong.problem.N
    for name, (numbers, size) in lines.items():
        if len(numbers) < size and (region := _describe_stripes(name, numbers, size)):
            return region
    return None


def _has_wrong_columns(wrong: WrongResult) -> bool:
    """Return whether columns may be wrong: not if only wrong rows were compared, and most rows are right."""
    return not wrong.exact or wrong.has_all_rows or len(wrong.suspects) > _MOSTLY * wrong.problem.M


def _are_mostly_wrong(wrong: WrongResult, shares: np.ndarray) -> np.ndarray:
    """Return which parts with these shares of wrong elements are wrong, but for what chance makes right.

    Chance does not write elements.
    """
    return np.asarray(shares > (_NEARLY_ALL if wrong.unwritten[wrong.mask].all() else _MOSTLY))


def _describe_stripes(name: str, numbers: np.ndarray, size: int) -> WrongRegion | None:
    """Describe adjacent lines, one in p from some line to the end, which must be three or more, or two single lines."""
    first, last, steps = numbers[0], numbers[-1], np.unique(np.diff(numbers))
    if not len(steps):
        return WrongRegion(STRIPES, f"{name} {first}", plural=False)
    if len(steps) == 1 and steps[0] == 1:
        return WrongRegion(STRIPES, f"{name}s {first} to {last}")
    if len(steps) == 1 and len(numbers) >= _LEAST_STRIPES and last + steps[0] >= size:
        return WrongRegion(STRIPES, f"one {name} in {steps[0]}, from {first} on,", plural=False)
    return WrongRegion(STRIPES, f"{name}s {first} and {last}") if len(numbers) == 2 else None


def _find_diagonal(wrong: WrongResult) -> WrongRegion | None:
    """Find a wrong diagonal of C, or wrong elements above or below the main one."""
    row, N, name = np.arange(wrong.problem.M), wrong.problem.N, wrong.problem.result.name
    places = np.argwhere(wrong.mask)
    i, j = wrong.rows[places[:, 0]], places[:, 1]
    for sign in (1, -1):
        if np.unique(j - sign * i).size > 1:
            continue
        column = j[0] - sign * i[0] + sign * row
        if not _is_part_wrong(wrong, column, column + 1):
            return None
        first, last = np.flatnonzero((column >= 0) & (column < N))[[0, -1]]
        ends = f" from {name}[{first}][{column[first]}] to {name}[{last}][{column[last]}]"
        return WrongRegion(DIAGONAL, "the diagonal" + ends * bool((column != row).any()), plural=False)
    if len(row) < _LEAST_STRIPES:
        return None  # with one row or two, nearly all elements are above the diagonal
    for where, begin, end in (
        ("above", row + 1, 0 * row + N),
        ("on and above", row, 0 * row + N),
        ("below", 0 * row, row),
        ("on and below", 0 * row, row + 1),
    ):
        if _is_part_wrong(wrong, begin, end):
            return WrongRegion(DIAGONAL, f"the elements {where} the diagonal")
    return None


def _is_part_wrong(wrong: WrongResult, begin: np.ndarray, end: np.ndarray) -> bool:
    """Return whether the wrong elements are those of columns begin[row] to end[row] - 1, of rows that are not short."""
    begin, end = (columns.clip(0, wrong.problem.N) for columns in (begin, end))
    wrong_rows = np.isin(np.flatnonzero(end > begin), wrong.suspects)
    if wrong.exact and not (wrong_rows.any() and _are_mostly_wrong(wrong, wrong_rows.mean())):
        return False
    column, begin, end = np.arange(wrong.problem.N), begin[wrong.rows, None], end[wrong.rows, None]
    part = (column >= begin) & (column < end)
    if part.sum() < _SMALLEST_TILE or (wrong.mask & ~part).any():
        return False
    long = part.sum(axis=1) >= _SMALLEST_TILE
    shares = (wrong.mask & part)[long].sum(axis=1) / part[long].sum(axis=1)
    return bool(_are_mostly_wrong(wrong, np.append(shares, wrong.mask[part].mean())).all())


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
