"""A Chart as an SVG file."""

from __future__ import annotations

from pathlib import Path

from gemmbench.errors import UsageError
from gemmbench.report.charts.model import Chart
from gemmbench.report.charts.svg.render import render_svg
from gemmbench.report.export import write_text

SUFFIX = ".svg"


def check_suffix(path: Path) -> None:
    """Raises UsageError for the name of a file that is not SVG."""
    if path.suffix.lower() != SUFFIX:
        suffix = f"unknown format '{path.suffix}'" if path.suffix else "no suffix"
        raise UsageError(f"{path}: {suffix}; charts are written as SVG: end the name in {SUFFIX}")


def write_chart(chart: Chart, path: Path) -> None:
    """Write the chart. Raises UsageError for another suffix, and StoreError if the file cannot be written."""
    check_suffix(path)
    write_text(path, render_svg(chart))
