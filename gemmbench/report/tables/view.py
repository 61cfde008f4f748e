"""What a screen shows of a run; separate from the tables, which the options of a command need not import."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    """What a screen shows of a run.

    `details` is a table for each problem, where one for all would do. `wide` has every column of it, and the
    notes, `notes` how everything was measured. `columns` names those to show instead of the usual ones, and `sort`
    the one that orders the rows, with a minus for the largest first.
    """

    wide: bool = False
    details: bool = False
    notes: bool = False
    columns: tuple[str, ...] = ()
    sort: str = ""

    @property
    def has_details(self) -> bool:
        """Every problem has its table."""
        return self.details or self.wide or len(self.columns) > 1
