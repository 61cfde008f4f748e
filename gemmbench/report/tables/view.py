"""What a screen shows of a run. This is separate from the tables, which the options of a command need not import."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    """What a screen shows of a run.

    `details` asks for a table for each problem, even if one would do for all. `wide` asks for every column and for the
    notes, and `notes` for how everything was measured. `columns` names columns to show instead of the usual ones.
    `sort` names the column that orders the rows, with a minus for the largest first. Without `caveat`, lines below the
    report say what a CPU's times mean.
    """

    wide: bool = False
    details: bool = False
    notes: bool = False
    columns: tuple[str, ...] = ()
    sort: str = ""
    caveat: bool = True

    @property
    def has_details(self) -> bool:
        """Whether every problem gets its own table."""
        return self.details or self.wide or len(self.columns) > 1
