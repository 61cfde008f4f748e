"""Explains wrong groups: rows that were never written, or were made from the operands of other groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

import numpy as np

from gemmbench.bench.operands.products import find_products, view_factor
from gemmbench.bench.verify.batch_mistakes import Products, describe_in_batch
from gemmbench.bench.verify.diagnosis import PRODUCT_NEVER_WRITTEN, Diagnosis, explain_product
from gemmbench.bench.verify.wrong_result import ROUNDING_FACTOR, WrongResult

_ROWS, _COLUMNS, _LEAST = 64, 8, 4
"""How many wrong rows and elements of each are explained, and the smallest number of elements that is enough."""
_MOST_TERMS = 1 << 27
"""The most products that are computed to find out where a row came from."""
_TILES = (8, 16, 32, 64, 128, 256)
"""The rows that tiles may have."""
_ADVICE = "look at how a block finds its group, and at what begins at offsets[group]"
_GRID_ADVICE = "look at the grid, at how a block finds its group, and at what begins at offsets[group]"
_ROWS_ADVICE = "look at the guard on the rows of a group, and at tiles with rows of several groups"


def explain_groups(wrong: WrongResult) -> tuple[str, Diagnosis]:
    """Describe a wrong result of groups, and return its most likely cause."""
    groups = _Groups(wrong)
    found = (unwritten := groups.find_unwritten()) or groups.find_stride() or groups.find_origin()
    if found is None:
        number = groups.products[0]
        diagnosis = explain_product(groups.take(number))[1]
        return describe_in_batch(wrong, number, diagnosis), diagnosis
    number, cause, words = found
    is_known = unwritten is None
    diagnosis = Diagnosis(cause, words, is_index_mistake=is_known, is_recomputed=is_known)
    return describe_in_batch(wrong, number, diagnosis), diagnosis


_Cause = tuple[int, str, str]
"""A group that shows a cause, the key of the cause, and its description."""


@dataclass(frozen=True)
class _Origin:
    """A wrong row of C, its group, and the row of A, the group of B and the row of C0 that it was made from."""

    row: int
    group: int
    a: int
    b: int
    c: int


class _Groups(Products):
    """A wrong result of groups."""

    def find_unwritten(self) -> _Cause | None:
        """Find groups, or the last rows of groups, that hold what C held before the launch, if others do not."""
        wrong = self.wrong
        if not self._are_unwritten() or len(wrong.suspects) == self.problem.rows:
            return None
        lost = wrong.suspects  # of which those that were not compared are taken to be like the others
        slices, (group, row) = self.problem.slices, find_products(self.problem, lost)
        counts = {int(number): int((group == number).sum()) for number in np.unique(group)}
        left = {number: slices[number].M - count for number, count in counts.items()}
        if not any(left.values()):
            return int(group[0]), PRODUCT_NEVER_WRITTEN, f"{_list_groups(list(counts))} never written: {_GRID_ADVICE}"
        if any(left[number] != row[group == number].min() for number in counts):
            return None
        return self._explain_last_rows(counts, left)

    def _explain_last_rows(self, counts: Mapping[int, int], left: Mapping[int, int]) -> _Cause:
        """Describe groups of which so many last rows were never written, while so many before them are right.

        A guard loses as many rows of each group. A grid with tiles for some rows of a group loses all after these, and
        one with as many tiles as all rows together need loses the end of C, because each group begins a tile.
        """
        (first, *others), begin = counts, int(self.wrong.suspects[0])
        filled = {number: rows for number, rows in enumerate(self.problem.groups) if rows}
        least, most = max(left.values()), max(counts.values())
        in_each = counts == {number: min(most, rows) for number, rows in filled.items()}
        is_above = counts == {number: rows - least for number, rows in filled.items() if rows > least}
        is_end = len(self.wrong.suspects) == self.problem.rows - begin
        rows, verb = ("row", "was") if most == 1 else (f"{most} rows", "were")
        if in_each or not others:
            words = f"the last {rows} of {'each group' if others else f'group {first}'} {verb}"
        elif is_above:
            words = f"in groups of more than {least} rows, those from row {least} on were"
        elif is_end:
            words = f"{self._locate(begin)} and all rows after it were"
        else:
            words = f"the last rows of {_list_groups(list(counts))}"
        is_grid = is_above or is_end
        places = ["at the grid, which must have tiles for all rows of each group"] * (is_grid or not in_each)
        places += ["at the guard on the rows of a group"] * (in_each or not is_grid)
        return first, "last rows of groups", f"{words} never written: look {', and '.join(places)}"

    def _are_unwritten(self) -> bool:
        """Whether all wrong rows among those that were compared were never written."""
        wrong, is_wrong = self.wrong, self.wrong.mask.any(axis=1)
        before = wrong.operands["C"][wrong.rows].astype(np.float64)
        kept = (wrong.got == before).all(axis=1) if wrong.beta else np.zeros(len(wrong.rows), bool)
        return bool((wrong.unwritten.all(axis=1) | kept)[is_wrong].all())

    def find_origin(self) -> _Cause | None:
        """Find rows that were made from other rows of A or C, or with the B of another group."""
        origins = self._find_origins()
        if not origins:
            return None
        of_b = [each for each in origins if each.b != each.group and each.a == each.row == each.c]
        if len(of_b) == len(origins):
            return self._explain_b(of_b)
        first = origins[0]
        row = self._locate(first.row)
        if first.c != first.row and first.a == first.row:
            words = f"{row} got beta times {self._locate(first.c)} of C"
            return first.group, "C of other group", f"{words}: {_ADVICE}"
        if first.b == first.group:
            words = f"{row} was computed from {self._locate(first.a)} of A"
            return first.group, "A of other group", f"{words}: {_ADVICE}"
        words = f"{row} was computed from {self._locate(first.a)} of A and the B of group {first.b}"
        if find_products(self.problem, np.array([first.a]))[0][0] == first.b:
            words = f"{row} holds {self._locate(first.a)}"
        return first.group, "other group", f"{words}: {_ADVICE}"

    def _locate(self, row: int) -> str:
        return self.problem.locate_row("C", row)

    def _explain_b(self, origins: list[_Origin]) -> _Cause:
        """Describe rows that were multiplied with the B of other groups."""
        slices, groups = self.problem.slices, self.problem.groups
        pairs = {each.group: each.b for each in origins}
        number, other = next(iter(pairs.items()))
        suspects = find_products(self.problem, self.wrong.suspects)
        counts = {each: int((suspects[0] == each).sum()) for each in pairs}
        whole = all(counts[each] == slices[each].M for each in pairs)
        filled = [each for each, rows in enumerate(groups) if rows]
        before = {each: filled[filled.index(each) - 1] for each in pairs}
        has_one_source = len({(each.group, each.b) for each in origins}) == len(pairs)
        if not whole and has_one_source and (most := self._find_overrun(pairs)):
            rows = "one row" if most == 1 else f"up to {most} rows"
            over = "the next one" if before == pairs else "the next ones"
            words = f"as if each group wrote {rows} too many, over the first rows of {over}"
            return number, "rows of other group", f"{words}; {_ROWS_ADVICE}"
        words = f"{self._list_rows_of(number, suspects)} multiplied with the B of group {other}"
        hint, numbers = _ADVICE, [int(each) for each in np.unique(suspects[0])]

        def explains_all(find_source: Callable[[int], int]) -> bool:
            """Whether groups are wrong where this is another group, and had its B."""
            moved = [each for each in filled if find_source(each) != each]
            return numbers == moved and all(each.b == find_source(each.group) for each in origins)

        if len(pairs) > 1 and explains_all(lambda group: max(group - 1, 0)):
            words = "rows of each group were multiplied with the B of the group before it"
        elif len(pairs) > 1 and explains_all(lambda group: len(groups) - 1 - group):
            hint = "the groups of B were taken in reverse order"
        elif 0 in groups and explains_all(filled.index):
            hint = "as if empty groups had no B, which shifts those of the rest"
            if len(pairs) == 1 and other == number - 1:
                hint = f"{_ADVICE}; empty groups have a B too"
        elif len(pairs) > 1 and {each.b for each in origins} == {other}:
            which = "every group was" if {*numbers, other} >= set(filled) else _list_groups(numbers)
            words = f"{which} multiplied with the B of group {other}"
        if hint.startswith(_ADVICE) and (most := self._find_tile_overrun(origins)):
            hint += f"; or as if each group wrote up to {most} rows too many, over the next ones; {_ROWS_ADVICE}"
        return number, "B of other group", f"{words}: {hint}"

    def _list_rows_of(self, number: int, suspects: tuple[np.ndarray, np.ndarray]) -> str:
        """Name the wrong rows of a group and add "was" or "were"; `suspects` holds the groups and rows of all."""
        rows, count = suspects[1][suspects[0] == number], self.problem.slices[number].M
        if len(rows) == count or not (self.wrong.exact or self.wrong.has_all_rows):
            return f"rows of group {number} were"
        first, last, is_run = rows[0], rows[-1], len(rows) == rows[-1] + 1 - rows[0]
        if len(rows) == 1:
            where = "the last row" if last + 1 == count else f"row {first}"
        elif is_run and last + 1 == count:
            where = f"the last {len(rows)} rows"
        elif is_run:
            where = f"rows {first} to {last}"
        else:
            return f"{len(rows)} rows of group {number}, of which row {first} is the first, were"
        return f"{where} of group {number} {'was' if len(rows) == 1 else 'were'}"

    def _find_tile_overrun(self, origins: list[_Origin]) -> int:
        """Return how many rows past its end a group wrote if whole tiles in some order explain all rows; 0 if not.

        Of the tiles that hold a row, the one that was written last is that of its group if the row is right, and that
        of the group whose B it had if not.
        """
        first, sources = self.problem.offsets, {each.row: each.b for each in origins}
        is_wrong = np.asarray(self.wrong.mask.any(axis=1))
        rows = [int(row) for row, wrong in zip(self.wrong.rows, is_wrong, strict=True) if row in sources or not wrong]
        own = find_products(self.problem, np.array(rows))[0].tolist()
        for height in _TILES:
            ends = [
                begin + -(-count // height) * height for begin, count in zip(first, self.problem.groups, strict=False)
            ]
            order: dict[tuple[int, int], set[tuple[int, int]]] = {}
            for row, group in zip(rows, own, strict=True):
                holders = [each for each in range(group + 1) if self.problem.groups[each] and row < ends[each]]
                tiles = {each: (each, (row - first[each]) // height) for each in holders}
                if (source := sources.get(row, group)) not in tiles:
                    break
                order.setdefault(tiles[source], set()).update(set(tiles.values()) - {tiles[source]})
            else:
                if _is_acyclic(order):
                    return max(row + 1 - first[source + 1] for row, source in sources.items())
        return 0

    def find_stride(self) -> _Cause | None:
        """Find another distance between the groups of B that explains the compared rows, with NaN after the last.

        If one group is wrong and would begin where another does, no distance is known.
        """
        problem, wrong = self.problem, self.wrong
        if problem.ld:
            return None  # what was read in between is not known
        places = np.union1d(self._choose_rows(), self._choose_right_rows())
        columns = [
            np.unique(np.append(self._spread(wrong.mask[each]), self._spread(~wrong.mask[each]))) for each in places
        ]
        position, column = np.repeat(places, [len(each) for each in columns]), np.concatenate(columns)
        if not len(column) or len(column) * problem.K > _MOST_TERMS:
            return None
        row, got = wrong.rows[position], wrong.got[position, column]
        group, k = find_products(problem, row)[0], np.arange(problem.K)
        inside = column[:, None] * problem.K + k if problem.trans_b else k * problem.N + column[:, None]
        stored = np.append(wrong.operands["B"].astype(np.float64).reshape(-1), np.nan)
        a = self._a[row].astype(np.float64)
        base = wrong.beta * wrong.operands["C"][row, column].astype(np.float64) if wrong.beta else 0.0
        sizes = {"K": problem.K, "N": problem.N, "M": problem.rows}
        usual, number = problem.K * problem.N, int(group[np.isfinite(got)].max(initial=0))
        for names in (("K", "K"), ("N", "N"), ("M", "K"), ("M", "N"), ("K",), ("N",)):
            stride = math.prod(sizes[each] for each in names)
            is_other = len(self.products) == 1 and not self.products[0] * stride % usual
            if stride == usual or not number or is_other:
                continue
            b = stored[np.minimum(group[:, None] * stride + inside, len(stored) - 1)]
            values, size = (a * b).sum(axis=1), np.abs(a * b).sum(axis=1)
            unknown = np.isnan(values)
            fits = self._fit(got, wrong.alpha * values + base, size)
            if np.array_equal(unknown, np.isnan(got)) and (fits | unknown).all():
                words = f"as if B of a group began at group * {' * '.join(names)}: it begins at group * K * N"
                return self.products[0], "stride of B", words
        return None

    @staticmethod
    def _spread(chosen: np.ndarray) -> np.ndarray:
        """Return some true places of a row."""
        return _spread(np.flatnonzero(chosen), _COLUMNS)

    def _find_overrun(self, pairs: dict[int, int]) -> int:
        """Return how far B of one group went on being used after its last row, if no other row is wrong; 0 if not.

        `pairs` maps each wrong group to the one whose B it had. There may be other groups between the two.
        """
        ends, suspects = self.problem.offsets[1:], self.wrong.suspects
        source = np.array([pairs.get(int(group), -1) for group in find_products(self.problem, suspects)[0]])
        reached = {each: int(suspects[source == each].max()) + 1 - ends[each] for each in np.unique(source)}
        whole_runs = (source >= 0).all() and sum(reached.values()) == len(suspects)
        return max(reached.values()) if whole_runs and min(reached.values()) > 0 else 0

    def _find_origins(self) -> list[_Origin]:
        """Find where some wrong rows came from, if all of them came from somewhere else."""
        if self.wrong.has_nan or not len(self.wrong.sample):
            return []
        rows = [each for each in self._choose_rows() if self._columns(each).size >= _LEAST]
        origins = [origin for row in rows if (origin := self._find_row(row)) is not None]
        return origins if rows and len(origins) == len(rows) else []

    def _choose_rows(self) -> list[int]:
        """Choose positions of wrong rows among those that were compared, spread over all groups."""
        return [int(each) for each in _spread(np.flatnonzero(self.wrong.mask.any(axis=1)), _ROWS)]

    def _choose_right_rows(self) -> np.ndarray:
        """Choose positions of right rows among those that were compared: the first of some groups."""
        positions = np.flatnonzero(~self.wrong.mask.any(axis=1))
        _, first = np.unique(find_products(self.problem, self.wrong.rows[positions])[0], return_index=True)
        return np.asarray(positions[_spread(first, _ROWS)])

    def _columns(self, position: int) -> np.ndarray:
        """Return some wrong elements of a row."""
        wrong = self.wrong
        return self._spread(wrong.mask[position] & np.isfinite(wrong.got[position]) & ~wrong.unwritten[position])

    def _find_row(self, position: int) -> _Origin | None:
        wrong, columns = self.wrong, self._columns(position)
        row = int(wrong.rows[position])
        (group,) = (int(each) for each in find_products(self.problem, np.array([row]))[0])
        a, got = self._a[row].astype(np.float64), wrong.got[position, columns]
        base = wrong.beta * wrong.operands["C"][row, columns].astype(np.float64) if wrong.beta else 0.0
        candidates = self._list_candidates(group)
        b = self._b[candidates][:, :, columns].astype(np.float64)
        sums, sizes = np.tensordot(a, b, (0, 1)), np.tensordot(np.abs(a), np.abs(b), (0, 1))
        if (found := _find_first(self._fit(got, wrong.alpha * sums + base, sizes))) is not None:
            return _Origin(row, group, row, candidates[found], row)
        if wrong.beta:
            own = wrong.alpha * sums[0]
            states = (wrong.beta * c[:, columns].astype(np.float64) for c in self._list_states_of_c())
            fits = np.logical_or.reduce([self._fit(got, own + initial, sizes[0]) for initial in states])
            if (found := _find_first(fits)) is not None:
                return _Origin(row, group, row, group, found)
        rows = self._list_rows(row, group, len(candidates) * len(columns))
        others = self._a[rows].astype(np.float64)
        for other, expert in zip(candidates, b, strict=True):
            sums, sizes = others @ expert, np.abs(others) @ np.abs(expert)
            if (found := _find_first(self._fit(got, wrong.alpha * sums + base, sizes))) is not None:
                return _Origin(row, group, int(rows[found]), other, row)
        return None

    def _list_rows(self, row: int, group: int, columns: int) -> np.ndarray:
        """Return the rows of A that may have been read for a row: all, or those at the same place in each group."""
        if self.problem.rows * self.problem.K * columns <= _MOST_TERMS:
            return np.arange(self.problem.rows)
        first = np.array(self.problem.offsets)
        same = first + (row - first[group])
        return np.unique(same[(same >= 0) & (same < self.problem.rows)])

    def _list_candidates(self, group: int) -> list[int]:
        """Return the groups whose B a row may have been multiplied with: all, its own first, unless there are many."""
        count = len(self._b)
        if count * self.problem.K <= _MOST_TERMS >> 8:
            return list(dict.fromkeys([group, *range(count)]))
        near = (group - 1, group + 1, 0, count - 1, count - 1 - group)
        return list(dict.fromkeys([group, *(each for each in near if 0 <= each < count)]))

    def _list_states_of_c(self) -> list[np.ndarray]:
        """Return C from before the launch and, if known completely, from after it. Either may have been read."""
        before, wrong = self.wrong.operands["C"], self.wrong
        return [before, wrong.got] if len(wrong.rows) == self.problem.rows else [before]

    def _fit(self, got: np.ndarray, values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return where elements of C may hold the values of several rows, within rounding of sums of these sizes."""
        precision = self.problem.precision
        if self.wrong.exact:
            return np.asarray(precision.c.store(values) == got)
        unit = ROUNDING_FACTOR * self.problem.sum_unit * abs(self.wrong.alpha)
        bound = unit * sizes + (unit + 2 * precision.result_unit) * np.abs(values)
        return np.asarray(np.abs(values - got) <= bound)

    @cached_property
    def _a(self) -> np.ndarray:
        """The rows of A of all groups."""
        return np.asarray(self.wrong.operands["A"])

    @cached_property
    def _b(self) -> np.ndarray:
        """op(B) of every group."""
        return view_factor(self.problem, self.wrong.operands, "B").all


def _spread(places: np.ndarray, most: int) -> np.ndarray:
    """Return at most this many of some places, spread across them."""
    return places[np.unique(np.linspace(0, len(places) - 1, most).astype(int))] if len(places) else places


def _find_first(fits: np.ndarray) -> int | None:
    """Return the first row of which every element fits."""
    found = np.flatnonzero(fits.all(axis=1))
    return int(found[0]) if found.size else None


def _is_acyclic(order: Mapping[tuple[int, int], set[tuple[int, int]]]) -> bool:
    try:
        TopologicalSorter(order).prepare()
    except CycleError:
        return False
    return True


def _list_groups(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"group {numbers[0]} was"
    *first, last = map(str, numbers)
    return f"groups {', '.join(first)} and {last} were" if len(numbers) <= _LEAST else f"{len(numbers)} groups were"
