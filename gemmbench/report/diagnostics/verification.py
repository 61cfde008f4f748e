"""The table of `verify`: one line a variant, then every failure in words, with a map of where C is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from gemmbench.bench.record import Record
from gemmbench.planning.problems.problem import Problem
from gemmbench.report.table import format_cells
from gemmbench.report.text import number

MOST_FAILURES = 20


def table(records: Sequence[Record], style: str) -> str:
    """Checks passed, failed and skipped for each variant, with the worst rounding error."""
    head = ["kernel", "configurations", "passed", "failed", "skipped", "worst error (u)", "device"]
    by_variant: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda record: (record.order, record.variant)):
        by_variant.setdefault(record.variant, []).append(record)
    cells = [[name, *_counts(rows)] for name, rows in by_variant.items()]
    return format_cells(cells, head, style)


def _counts(rows: Sequence[Record]) -> list[str]:
    ran = [record for record in rows if record.status != "skipped"]
    passed = [record for record in ran if record.status == "ok"]
    worst = max((record.error or 0.0 for record in passed), default=float("nan"))
    configurations = len({record.configuration for record in ran})
    counts = [configurations, len(passed), len(ran) - len(passed), len(rows) - len(ran)]
    return [*map(str, counts), number(worst), rows[0].backend if ran else "-"]


def failures(records: Sequence[Record]) -> list[str]:
    """One line for each configuration that failed, and for each reason to skip a whole variant.

    Below the first of each variant stands a map of C, if there is one.
    """
    bad: dict[str, list[Record]] = {}
    for record in records:
        if record.status not in ("ok", "skipped"):
            bad.setdefault(f"{record.variant} {record.configuration}".strip(), []).append(record)
    lines, drawn = [], set()
    for name, rows in list(bad.items())[:MOST_FAILURES]:
        lines.append(f"{name}: {_first(rows)}")
        if rows[0].variant not in drawn:
            drawn.add(rows[0].variant)
            lines += [f"    {line}" for line in _telling(rows).wrong_map.splitlines()]
    if len(bad) > MOST_FAILURES:
        lines.append(f"and {len(bad) - MOST_FAILURES} more configurations failed")
    ran = {record.variant for record in records if record.status != "skipped"}
    skipped = {record.variant: record.reason for record in records if record.variant not in ran}
    return [*lines, *(f"{name}: skipped: {reason}" for name, reason in skipped.items())]


def _telling(rows: Sequence[Record]) -> Record:
    """The first that is large enough to tell one cause from another, else the first."""
    return next((record for record in rows if _smallest_dimension(record.problem) > 8), rows[0])


def _smallest_dimension(problem: Problem) -> int:
    return min(problem.M, problem.N, problem.K)


def _first(rows: Sequence[Record]) -> str:
    first = _telling(rows)
    more = f" (and {len(rows) - 1} more problems)" if len(rows) > 1 else ""
    problem = f"{first.problem.size} {first.problem.layout} {first.problem.precision_name}"
    return f"{first.status} at {problem}: {first.reason}{more}"
