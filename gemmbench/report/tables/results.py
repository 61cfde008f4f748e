"""All reports of a run: its kernels, and its transfers if there are any."""

from __future__ import annotations

from gemmbench.report.comparison import Comparison
from gemmbench.report.table import Report
from gemmbench.report.tables.kernels import report_kernels
from gemmbench.report.tables.transfers import report_transfers


def report_results(comparison: Comparison, wide: bool = False) -> list[Report]:
    """The reports of a run; `wide` adds the details of each row."""
    transfers = [report_transfers(comparison, wide)] if comparison.transfers else []
    return [report_kernels(comparison, wide), *transfers]
