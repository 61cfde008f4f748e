"""The table of `verify --sanitize`: one line a kernel and tool, then every first error in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gemmbench.analysis.sanitizer import ToolVerdict
from gemmbench.report.table import format_cells


@dataclass(frozen=True)
class Finding:
    """What a tool says of some configurations of a variant; a variant that cannot run has no verdict."""

    variant: str
    configuration: str
    tool: str
    verdict: ToolVerdict | None
    reason: str = ""

    @property
    def clean(self) -> bool:
        """Nothing was found, or nothing ran."""
        return self.verdict is None or self.verdict.status == "clean"


def table(findings: Sequence[Finding], style: str) -> str:
    """One line a finding; errors include hazards."""
    head = ["kernel", "configuration", "tool", "errors", "status"]
    return format_cells([_cells(finding) for finding in findings], head, style)


def _cells(finding: Finding) -> list[str]:
    verdict = finding.verdict
    if verdict is None:
        return [finding.variant, "-", "-", "-", "skipped"]
    errors = str(verdict.errors) if verdict.status in ("clean", "errors") else "-"
    return [finding.variant, finding.configuration or "-", finding.tool, errors, verdict.status]


def notes(findings: Sequence[Finding]) -> list[str]:
    """The first error of each finding that is not clean, and the reason of each skip."""
    lines = []
    for finding in findings:
        if finding.verdict is None:
            lines.append(f"{finding.variant}: skipped: {finding.reason}")
        elif not finding.clean:
            name = " ".join(filter(None, (finding.variant, finding.configuration, finding.tool)))
            lines.append(f"{name}: {finding.verdict.message}")
    return lines
