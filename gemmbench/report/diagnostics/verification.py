"""What `gemmbench verify` prints: a line per variant, then every failure, with a map of C."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from gemmbench.bench.record import Record
from gemmbench.planning.problems import Problem
from gemmbench.report.table import Report, Table
from gemmbench.report.text import number

MOST_FAILURES = 20
_HEADINGS = ("kernel", "configurations", "passed", "failed", "skipped", "worst error (u)", "device")
_HIDE = ("worst error (u)", "device", "configurations")
_LARGE_ENOUGH = 8  # dimensions beyond this let the causes of a wrong result be told apart


def report_checks(records: Sequence[Record]) -> Report:
    """The table of checks, and every failure below it."""
    return Report([replace(tabulate_checks(records), notes=list_failures(records))])


def tabulate_checks(records: Sequence[Record]) -> Table:
    """Checks passed, failed and skipped for each variant, with the worst rounding error."""
    by_variant: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda record: (record.order, record.variant)):
        by_variant.setdefault(record.variant, []).append(record)
    cells = [[name, *_count_checks(rows)] for name, rows in by_variant.items()]
    statuses = [_summarize_status(rows) for rows in by_variant.values()]
    return Table("", _HEADINGS, cells, left=["kernel", "device"], statuses=statuses, hide=_HIDE)


def _summarize_status(rows: Sequence[Record]) -> str:
    """`skipped` if nothing ran, else `ok` or the first status that is not."""
    ran = [record.status for record in rows if record.status != "skipped"]
    return next((status for status in ran if status != "ok"), "ok") if ran else "skipped"


def _count_checks(rows: Sequence[Record]) -> list[str]:
    ran = [record for record in rows if record.status != "skipped"]
    passed = [record for record in ran if record.status == "ok"]
    worst = max((record.error or 0.0 for record in passed), default=math.nan)
    configurations = len({record.configuration for record in ran})
    counts = [configurations, len(passed), len(ran) - len(passed), len(rows) - len(ran)]
    return [*map(str, counts), number(worst, 3), rows[0].backend if ran else "-"]


def list_failures(records: Sequence[Record]) -> list[str]:
    """One line for each configuration that failed, and for each variant that was skipped entirely.

    A map of C, if there is one, follows the first failure of each variant.
    """
    failed: dict[str, list[Record]] = {}
    for record in records:
        if record.status not in ("ok", "skipped"):
            failed.setdefault(f"{record.variant} {record.configuration}".strip(), []).append(record)
    lines, drawn = [], set()
    for name, rows in list(failed.items())[:MOST_FAILURES]:
        lines.append(f"{name}: {_describe_failure(rows)}")
        if rows[0].variant not in drawn:
            drawn.add(rows[0].variant)
            lines += [f"    {line}" for line in _choose_example(rows).wrong_map.splitlines()]
    if len(failed) > MOST_FAILURES:
        lines.append(f"and {len(failed) - MOST_FAILURES} more configurations failed")
    return [*lines, *_list_skips(records)]


def _list_skips(records: Sequence[Record]) -> list[str]:
    ran = {record.variant for record in records if record.status != "skipped"}
    skipped = {record.variant: record.reason for record in records if record.variant not in ran}
    return [f"{name}: skipped: {reason}" for name, reason in skipped.items()]


def _choose_example(rows: Sequence[Record]) -> Record:
    """The first row that is large enough to show the cause, otherwise the first."""
    return next((record for record in rows if _smallest_dimension(record.problem) > _LARGE_ENOUGH), rows[0])


def _smallest_dimension(problem: Problem) -> int:
    return min(problem.M, problem.N, problem.K)


def _describe_failure(rows: Sequence[Record]) -> str:
    example = _choose_example(rows)
    problem = f"{example.problem.size} {example.problem.layout} {example.problem.precision_name}"
    more = f" (and {len(rows) - 1} more problems)" if len(rows) > 1 else ""
    return f"{example.status} at {problem}: {example.reason}{more}"
