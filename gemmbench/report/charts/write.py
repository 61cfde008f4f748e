"""A Chart as a file: SVG by our own writer, PNG and PDF through matplotlib."""

from __future__ import annotations

from pathlib import Path

from gemmbench.errors import UsageError
from gemmbench.report.charts.figure.render import render_matplotlib
from gemmbench.report.charts.model import Chart
from gemmbench.report.charts.svg.render import render_svg
from gemmbench.report.export import write_text

FORMATS = (".svg", ".png", ".pdf")


def check_format(path: Path) -> None:
    """Raises UsageError for a suffix that names no format."""
    if path.suffix.lower() not in FORMATS:
        suffix = f"unknown format '{path.suffix}'" if path.suffix else "no suffix"
        raise UsageError(f"{path}: {suffix}; end the name in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")


def write_chart(chart: Chart, path: Path) -> None:
    """Write the chart in the format that the suffix of `path` names.

    Raises UsageError for an unknown format or without matplotlib, and StoreError if the file cannot
    be written.
    """
    check_format(path)
    if path.suffix.lower() == ".svg":
        write_text(path, render_svg(chart))
    else:
        render_matplotlib(chart, path)
