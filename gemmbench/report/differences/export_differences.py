"""Exports of two runs compared: CSV, JSON and Markdown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gemmbench.bench.timing.stats import Interval
from gemmbench.report.columns.column import Column, ExportRow, export_rows
from gemmbench.report.columns.identity import PROBLEM
from gemmbench.report.differences.difference_tables import report_differences
from gemmbench.report.differences.run_differences import Difference, RunDifferences
from gemmbench.report.export import encode_json, format_csv, write_text
from gemmbench.report.table import format_reports


def _ratio_columns(key: str, meaning: str, ratio: Callable[[Difference], Interval]) -> list[Column[Difference]]:
    """A ratio and both ends of its 95 % interval."""
    return [
        Column(key, meaning, lambda each: ratio(each).value),
        Column(f"{key}_low", "lower end of its 95 % interval", lambda each: ratio(each).low),
        Column(f"{key}_high", "upper end", lambda each: ratio(each).high),
    ]


def _ask_problem(key: str) -> Callable[[Difference], object]:
    (column,) = [column for column in PROBLEM if column.key == key]
    return lambda each: column.value(each.row.record.problem)


COLUMNS: tuple[Column[Difference], ...] = (
    Column("variant", "name of the kernel or library", lambda each: each.row.record.variant),
    Column("config", "its parameters", lambda each: each.row.record.configuration),
    *(Column(column.key, column.meaning, _ask_problem(column.key)) for column in PROBLEM),
    Column("phase", "sweep or final", lambda each: each.row.record.phase),
    Column("reference_status", "status in the reference run", lambda each: each.reference.status),
    Column("status", "status in the run", lambda each: each.row.status),
    Column("reference_time_s", "seconds per launch in the reference run", lambda each: each.reference.time.value),
    Column("time_s", "seconds per launch in the run", lambda each: each.row.time.value),
    *_ratio_columns("speed_ratio", "speed of the run relative to the reference", lambda each: each.speed),
    *_ratio_columns(
        "baseline_ratio", "the same by the ratio to the baseline of each run", lambda each: each.speed_by_baseline
    ),
    Column("verdict", "faster, slower, same or inconclusive, by the ratio to the baseline", lambda each: each.verdict),
    Column("margin", "the share that does not matter for the verdict", lambda each: each.margin),
)


def export_differences(differences: RunDifferences) -> list[ExportRow]:
    """Each row that both runs have, by key; None where unknown."""
    return export_rows(COLUMNS, differences.rows)


def write_differences_csv(path: Path, differences: RunDifferences) -> None:
    """Write the rows. Raises StoreError."""
    write_text(path, format_csv(export_differences(differences)))


def write_differences_json(path: Path, differences: RunDifferences) -> None:
    """Write the names of both runs, and the rows. Raises StoreError."""
    runs = {"reference": differences.reference.environment.run, "run": differences.run.environment.run}
    exported = {**runs, "rows": export_differences(differences)}
    write_text(path, encode_json(exported))


def write_differences_markdown(path: Path, differences: RunDifferences) -> None:
    """Write the tables. Raises StoreError."""
    write_text(path, format_reports([report_differences(differences)], "github"))
