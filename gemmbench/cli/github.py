"""What GitHub Actions shows of a command: its job summary and annotations at lines of files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gemmbench.errors import StoreError
from gemmbench.report.table import Report, format_reports


def append_job_summary(reports: Sequence[Report], closing_line: str = "") -> None:
    """Append reports and a last line to the file that GITHUB_STEP_SUMMARY names, if it is set. Raises StoreError."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{format_reports(reports, 'github')}\n" + (f"**{closing_line}**\n\n" if closing_line else ""))
    except OSError as fault:
        raise StoreError(f"GITHUB_STEP_SUMMARY: cannot write {path}: {fault.strerror}") from None


def wants_annotations() -> bool:
    """Whether the command runs in a job of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"
