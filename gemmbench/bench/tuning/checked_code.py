"""What all searches of a command know of the code of their candidates."""

from __future__ import annotations

from dataclasses import dataclass, field

from gemmbench.bench.record import Record
from gemmbench.bench.tuning.task import find_key
from gemmbench.planning.plans.plan import Chain
from gemmbench.planning.problems import Problem

_Code = tuple[object, ...]
"""A variant in a configuration, with a layout and a precision."""


@dataclass
class CheckedCode:
    """What was found on awkward problems, for all searches of a command: it holds for all sizes.

    `faults` say why a configuration is not right, "" if it is, and `checked` are the problems of each.
    """

    faults: dict[_Code, str] = field(default_factory=dict)
    checked: set[tuple[_Code, Problem]] = field(default_factory=set)

    def add(self, record: Record) -> None:
        """Take the record of a check."""
        code = _find_code(record)
        self.checked.add((code, record.problem))
        if record.status != "ok":
            reason = record.reason.partition(chr(10))[0]
            self.faults[code] = f"{record.status} at {record.problem.size}: {reason}"
        else:
            self.faults.setdefault(code, "")

    def find(self, chain: Chain) -> str | None:
        """Why a candidate is not right, "" if it is, None if it was not checked."""
        return self.faults.get(_find_code(chain))

    def knows(self, check: Chain) -> bool:
        """Whether a chain was checked at its problem."""
        return (_find_code(check), check.problem) in self.checked


def _find_code(row: Chain | Record) -> _Code:
    name = row.variant if isinstance(row, Record) else row.name
    return (name, row.problem.layout, row.problem.precision_name, find_key(row))
