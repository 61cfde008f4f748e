"""Which lines of a kernel ask for more than before: the accesses of two versions of its text, matched line by line.

Counts have no noise, so any difference is one of the text. A line has moved if its code is the same elsewhere, and was
renamed if it costs the same as a line that is gone. What one line asks for may be spread over several, and the reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gemmbench.analysis.accesses import JOINED, WRITTEN, Access, AccessCounts, Cost

Code = Mapping[tuple[str, int], str]
"""The code of each line, by the name of its file and its number, without comments and white space."""


@dataclass(frozen=True)
class AccessChange:
    """An access that costs more or less than before; `earlier` is None for a new one, `later` for one that is gone.

    `is_more` is False where other lines for the same operand ask for less by as much.
    """

    earlier: Access | None
    later: Access | None
    is_more: bool


def cost_of_line(access: Access) -> Cost:
    """The cost by which lines are compared: neighbouring accesses to shared memory count as joined."""
    return access.costs[JOINED if access.is_shared else WRITTEN]


def measure_line(access: Access) -> int:
    """What an access asks for in all: sectors of global memory, or wavefronts in shared memory."""
    cost = cost_of_line(access)
    return cost.wavefronts if access.is_shared else cost.sectors


def compare_lines(
    earlier: AccessCounts, earlier_code: Code, later: AccessCounts, later_code: Code
) -> list[AccessChange]:
    """Every access of the later version that costs something else than in the earlier one, and those that are gone."""
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
        """Only lines of one group can be the same; arrays in shared memory may have other names."""
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
"""Lines are the same if they are alike in the first of these in which they have a partner."""


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
    """Pairs of lines that are the same, and what is left of both."""
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
