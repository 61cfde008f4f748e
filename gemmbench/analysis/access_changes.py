"""Finds the lines of a kernel that ask more of memory than before, by matching two versions of its text line by line.

Counts have no noise, so any difference comes from the text. If a line's code appears elsewhere, the line has moved. If
a new line costs the same as a line that is gone, the line was renamed. What one line asks for may be spread over
several lines, or the reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gemmbench.analysis.accesses import JOINED, WRITTEN, Access, AccessCounts, Cost

Code = Mapping[tuple[str, int], str]
"""The code of each line, by file name and line number, without comments and white space."""


@dataclass(frozen=True)
class AccessChange:
    """An access whose cost has changed. `earlier` is None for a new access, and `later` is None for one that is gone.

    `is_more` is False if other lines for the same operand ask for that much less.
    """

    earlier: Access | None
    later: Access | None
    is_more: bool


def cost_of_line(access: Access) -> Cost:
    """Return the cost by which lines are compared. Neighbouring accesses to shared memory are taken as joined."""
    return access.costs[JOINED if access.is_shared else WRITTEN]


def measure_line(access: Access) -> int:
    """Return how much an access asks for in all: sectors of global memory, or wavefronts of shared memory."""
    cost = cost_of_line(access)
    return cost.wavefronts if access.is_shared else cost.sectors


def compare_lines(
    earlier: AccessCounts, earlier_code: Code, later: AccessCounts, later_code: Code
) -> list[AccessChange]:
    """Find the accesses whose cost differs between the two versions, including those that are new or gone."""
    groups: dict[Hashable, tuple[list[_Line], list[_Line]]] = {}
    for place, (counts, code) in enumerate(((earlier, earlier_code), (later, later_code))):
        for access in counts.accesses:
            line = _Line(access, code.get((access.file, access.line), ""))
            groups.setdefault(line.group, ([], []))[place].append(line)
    changes = [change for past, now in groups.values() for change in _compare_group(past, now)]
    return sorted(changes, key=_find_place)


@dataclass(frozen=True, eq=False)
class _Line:
    access: Access
    code: str

    @property
    def group(self) -> Hashable:
        """A key that two lines must share to be matched. Names of shared arrays are left out, since they may change."""
        return self.access.is_shared, self.access.writes, "" if self.access.is_shared else self.access.operand

    @property
    def units(self) -> int:
        return measure_line(self.access)


_KEYS: tuple[Callable[[_Line], Hashable], ...] = (
    lambda line: (line.access.operand, line.code, cost_of_line(line.access)),
    lambda line: (line.access.operand, line.code),
    lambda line: (line.access.operand, cost_of_line(line.access)),
    lambda line: cost_of_line(line.access),
    lambda line: line.access.operand,
    lambda line: None,
)
"""The criteria for matching lines, in the order in which they are tried. A line is matched by the first that fits."""


def _compare_group(earlier: Sequence[_Line], later: Sequence[_Line]) -> Iterator[AccessChange]:
    pairs, gone, new = _match_lines(earlier, later)
    lost = sum(each.units for each in gone)
    spared = lost + sum(max(0, past.units - now.units) for past, now in pairs)
    is_spread = sum(each.units for each in new) <= spared
    is_gathered = sum(max(0, now.units - past.units) for past, now in pairs) <= lost
    for past, now in pairs:
        if cost_of_line(past.access) != cost_of_line(now.access):
            yield AccessChange(past.access, now.access, now.units > past.units and not is_gathered)
    for each in new:
        yield AccessChange(None, each.access, not is_spread)
    for each in gone:
        yield AccessChange(each.access, None, False)


def _match_lines(
    earlier: Sequence[_Line], later: Sequence[_Line]
) -> tuple[list[tuple[_Line, _Line]], list[_Line], list[_Line]]:
    """Match the lines of both versions. Returns the pairs and the lines that are left in each version."""
    pairs: list[tuple[_Line, _Line]] = []
    left, right = list(earlier), list(later)
    for find_key in _KEYS:
        known: dict[Hashable, tuple[list[_Line], list[_Line]]] = {}
        for place, lines in enumerate((left, right)):
            for each in lines:
                known.setdefault(find_key(each), ([], []))[place].append(each)
        for past, now in known.values():
            if len(past) != len(now):  # the largest are the ones that matter
                past, now = (sorted(lines, key=lambda each: -each.units) for lines in (past, now))
            pairs += zip(past, now, strict=False)
        matched = {id(each) for pair in pairs for each in pair}
        left, right = ([each for each in lines if id(each) not in matched] for lines in (left, right))
    return pairs, left, right


def _find_place(change: AccessChange) -> tuple[str, int, str, bool]:
    access = change.later or change.earlier
    assert access is not None
    return access.file, access.line, access.operand, access.writes
