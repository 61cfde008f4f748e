"""Finding one row of a run by its number or its name."""

from __future__ import annotations

from collections.abc import Sequence

from gemmbench.errors import UsageError, nearest
from gemmbench.report.comparison import Comparison
from gemmbench.report.explanation.sentences import name_row
from gemmbench.report.row import Row

_MOST_LISTED = 12


def find_row(comparison: Comparison, wanted: str) -> Row:
    """The row with this number, or the only one of VARIANT or VARIANT@SIZE. Raises UsageError."""
    rows, file = comparison.rows, comparison.run.path.name
    if wanted.isdecimal():
        if not 1 <= int(wanted) <= len(rows):
            raise UsageError(f"--explain {wanted}: {file} has rows 1 to {len(rows)}")
        return rows[int(wanted) - 1]
    name, _, size = wanted.partition("@")
    named = [row for row in rows if row.record.variant == name]
    if not named:
        known = list(dict.fromkeys(row.record.variant for row in rows))
        raise UsageError(f"--explain: no row of '{name}'{nearest(name, known)}; {file} has {', '.join(known)}")
    found = [row for row in named if not size or row.record.problem.size == size]
    if not found:
        sizes = ", ".join(dict.fromkeys(row.record.problem.size for row in named))
        raise UsageError(f"--explain: no row {wanted}; sizes of {name}: {sizes}")
    if len(found) > 1:
        raise UsageError(f"--explain {wanted}: {len(found)} rows; choose one by its number: {_list_rows(found)}")
    return found[0]


def _list_rows(rows: Sequence[Row]) -> str:
    listed = "; ".join(f"{row.number}: {name_row(row)}" for row in rows[:_MOST_LISTED])
    more = len(rows) - _MOST_LISTED
    return f"{listed}; and {more} more (--wide numbers them)" if more > 0 else listed
