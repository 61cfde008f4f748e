"""What `verify --sanitize` prints: a line per kernel and tool, then each first error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gemmbench.analysis.sanitizer import ToolVerdict
from gemmbench.report.table import Report, Table


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
