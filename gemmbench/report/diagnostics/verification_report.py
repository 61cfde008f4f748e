"""What `gemmbench verify` prints: a line per variant, every failure with a map of C, and what `--sanitize` found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gemmbench.analysis.sanitizer import ToolVerdict
from gemmbench.bench.record import Record
from gemmbench.planning.problems import Problem
from gemmbench.report.table import Report, Table
from gemmbench.report.tables.footer import list_printed
from gemmbench.report.text import number

MOST_FAILURES = 20
_HEADINGS = ("kernel", "configurations", "passed", "failed", "skipped", "worst error (u)", "device")
_HIDE = ("worst error (u)", "device", "configurations")
_LARGE_ENOUGH = 8  # dimensions beyond this let the causes of a wrong result be told apart


def report_checks(records: Sequence[Record], closing: str = "") -> Report:
    """The table of checks, below it every failure and what kernels printed, and the `closing` line."""
    notes = [*list_failures(records), *list_printed(records)]
    return Report([replace(tabulate_checks(records), notes=notes)], closing=[closing] if closing else [])


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


@dataclass(frozen=True)
class SanitizerResult:
    """What one tool found in some configurations of a variant.

    A variant that cannot run has no verdict.
    """

    variant: str
    configuration: str
    tool: str
    verdict: ToolVerdict | None
    reason: str = ""

    @property
    def clean(self) -> bool:
        """The tool found no error, or nothing ran."""
        return self.verdict is None or self.verdict.status == "clean"


def report_results(results: Sequence[SanitizerResult]) -> Report:
    """One line per result, and the errors below; errors include hazards."""
    headings = ["kernel", "configuration", "tool", "errors", "status"]
    cells = [_format_cells(result) for result in results]
    statuses = [row[-1] for row in cells]
    left, fold = ["kernel", "tool", "status"], ["configuration"]
    return Report([Table("", headings, cells, list_errors(results), left, statuses, fold)])


def _format_cells(result: SanitizerResult) -> list[str]:
    verdict = result.verdict
    if verdict is None:
        return [result.variant, "-", "-", "-", "skipped"]
    errors = str(verdict.errors) if verdict.status in ("clean", "errors") else "-"
    return [result.variant, result.configuration or "-", result.tool, errors, verdict.status]


def list_errors(results: Sequence[SanitizerResult]) -> list[str]:
    """The first error of each result that is not clean, and the reason for each skip."""
    lines = []
    for result in results:
        if result.verdict is None:
            lines.append(f"{result.variant}: skipped: {result.reason}")
        elif not result.clean:
            name = " ".join(filter(None, (result.variant, result.configuration, result.tool)))
            lines.append(f"{name}: {result.verdict.message}")
    return lines
