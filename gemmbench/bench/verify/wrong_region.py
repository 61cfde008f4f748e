"""Where a result is wrong: in words, and as a map of tiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gemmbench.bench.verify.wrong_result import Wrong

_MAP_ROWS, _MAP_COLUMNS = 16, 32
_MOSTLY = 0.5
_SMALLEST_TILE = 4
ALL, COLUMNS, ROWS, CORNER = "all", "columns", "rows", "rows and columns"
TILES, STRIPES, SOME = "tiles", "stripes", "some"


@dataclass(frozen=True)
class Place:
    """Which elements are wrong: the kind, words to begin a sentence with, and where to look ("" if unknown)."""

    kind: str
    words: str
    advice: str = ""
    plural: bool = True


def find(wrong: Wrong) -> Place:
    """The simplest shape that holds the wrong elements, most of them wrong."""
    of = wrong.problem.M if wrong.exact else len(wrong.rows)
    if wrong.mask.all() and len(wrong.suspects) == of:
        return Place(ALL, "every element", plural=False)
    return _edge(wrong) or _tiles(wrong) or _stripes(wrong) or Place(SOME, "these elements")


def _edge(wrong: Wrong) -> Place | None:
    """The last columns, the last rows, or both."""
    M, N = wrong.problem.M, wrong.problem.N
    column, row = _run_to_the_end(wrong.mask, 0), _first_of_the_last_rows(wrong)
    if 0 < row < M and (wrong.mask.mean() > _MOSTLY or wrong.whole) and 2 * row >= M:
        inside = wrong.rows < row
        if 2 * column >= N and 0 < column < N and not wrong.mask[inside][:, :column].any():
            words = f"{_last('rows', row, M)} and {_last('columns', column, N)}"
            return Place(CORNER, words, "look at the guards on M and N, and at the grid")
        if not wrong.mask[inside].any():
            return Place(ROWS, _last("rows", row, M), "look at the guard on M, and at the grid", row < M - 1)
    if 0 < column < N and 2 * column >= N and not wrong.mask[:, :column].any():
        return Place(COLUMNS, _last("columns", column, N), "look at the guard on N, and at the grid", column < N - 1)
    return None


def _first_of_the_last_rows(wrong: Wrong) -> int:
    """The first of the rows from which on all are mostly wrong; M if none."""
    M = wrong.problem.M
    if wrong.whole:
        return _run_to_the_end(wrong.mask, 1)
    first = M - len(wrong.suspects)
    return first if wrong.exact and np.array_equal(wrong.suspects, np.arange(first, M)) else M


def _run_to_the_end(mask: np.ndarray, axis: int) -> int:
    """The first of the columns (axis 0) or rows (axis 1) from which on all are mostly wrong; their number if none."""
    right = np.flatnonzero(mask.mean(axis=axis) <= _MOSTLY)
    return int(right[-1]) + 1 if right.size else 0


def _last(what: str, first: int, of: int) -> str:
    count = of - first
    return f"the last {what.rstrip('s')}, {first}," if count == 1 else f"the last {count} {what}, from {first} on,"


def _tiles(wrong: Wrong) -> Place | None:
    """Whole tiles of a power of two, each wrong in every element or right in every one; the largest such."""
    if not wrong.whole:
        return None
    fine = tiled(wrong.mask, _SMALLEST_TILE, _SMALLEST_TILE)
    if not np.isin(fine, (0.0, 1.0)).all():
        return None
    sides = [2**n for n in range(8, 1, -1)]
    for area, height, width in sorted(((h * w, h, w) for h in sides for w in sides), reverse=True):
        if area > wrong.mask.size // 2:
            continue
        share = tiled(fine > 0, height // _SMALLEST_TILE, width // _SMALLEST_TILE)
        if np.isin(share, (0.0, 1.0)).all():
            count = int(share.sum())
            return Place(TILES, f"{count} of {share.size} tiles of {height} x {width}", plural=count > 1)
    return None


def _stripes(wrong: Wrong) -> Place | None:
    """One row or column, some that lie together, or one in p."""
    lines = {"column": np.flatnonzero(wrong.mask.any(axis=0))}
    if wrong.exact:
        lines = {"row": wrong.suspects, **lines}
    for name, found in lines.items():
        steps = np.unique(np.diff(found))
        if len(found) == (wrong.problem.M if name == "row" else wrong.problem.N) or len(steps) > 1:
            continue
        if not len(steps):
            return Place(STRIPES, f"{name} {found[0]}", plural=False)
        if steps[0] > 1:
            return Place(STRIPES, f"one {name} in {steps[0]}, from {found[0]} on,", plural=False)
        return Place(STRIPES, f"{name}s {found[0]} to {found[-1]}")
    return None


def tiled(mask: np.ndarray, height: int, width: int) -> np.ndarray:
    """The share of true elements of each tile; tiles at the edges are cut."""
    rows, columns = (range(0, size, step) for size, step in zip(mask.shape, (height, width), strict=True))
    sums = np.add.reduceat(np.add.reduceat(mask.astype(float), rows, axis=0), columns, axis=1)
    sizes = np.outer(*(np.diff([*starts, size]) for starts, size in zip((rows, columns), mask.shape, strict=True)))
    return np.asarray(sums / sizes)


def drawn(wrong: Wrong) -> str:
    """A map of C, at most 16 lines of 32 characters, below a line that explains it.

    Where only some rows were compared, they stand for their tiles, and `?` are tiles with
    wrong rows that were not compared.
    """
    height, width = _step(wrong.problem.M, _MAP_ROWS), _step(wrong.problem.N, _MAP_COLUMNS)
    shape = wrong.problem.M, wrong.problem.N
    lines = [_line(wrong, top, height, width) for top in range(0, shape[0], height)]
    said = f"{shape[0]} x {shape[1]} in tiles of {height} x {width}: # all wrong, + some wrong, n all NaN, . right"
    unknown = ", ? not compared" if any("?" in line for line in lines) else ""
    return "\n".join([said + unknown, *lines])


def _step(size: int, most: int) -> int:
    step = 1
    while -(-size // step) > most:
        step *= 2
    return step


def _line(wrong: Wrong, top: int, height: int, width: int) -> str:
    inside = (wrong.rows >= top) & (wrong.rows < top + height)
    suspected = bool(((wrong.suspects >= top) & (wrong.suspects < top + height)).any())
    if not inside.any():
        return ("?" if suspected else ".") * -(-wrong.problem.N // width)
    rows = int(inside.sum())
    shares = tiled(wrong.mask[inside], rows, width)[0]
    unwritten = tiled(wrong.unwritten[inside], rows, width)[0]
    return "".join(_letter(share, nan) for share, nan in zip(shares, unwritten, strict=True))


def _letter(share: float, nan: float) -> str:
    if share == 0:
        return "."
    if nan == 1:
        return "n"
    return "#" if share == 1 else "+"
