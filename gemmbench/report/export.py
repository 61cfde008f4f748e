"""Exports a run as CSV, JSON or Markdown. Each file is written completely or not at all."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from gemmbench.bench.record import SCHEMA, Environment
from gemmbench.errors import StoreError
from gemmbench.planning.files import (
    STDOUT,
    defuse_workflow_commands,
    escape_controls,
    exists,
    follow_links,
    is_file,
    runs_in_github_actions,
)
from gemmbench.report.columns import all_columns, transfer_columns
from gemmbench.report.columns.all_columns import choose_export_columns
from gemmbench.report.columns.column import ExportRow, export_rows
from gemmbench.report.comparison import Comparison
from gemmbench.report.table import escape_formula, format_reports
from gemmbench.report.tables.kernel_tables import report_results
from gemmbench.report.tables.pivot_tables import sort_rows
from gemmbench.report.tables.view import View

_ALL = View()


def export_kernels(comparison: Comparison, view: View = _ALL) -> list[ExportRow]:
    """Return every kernel row as a mapping, with values in seconds, bytes and Hz; None if unknown.

    The view may choose columns and an order. Raises UsageError for an unknown column.
    """
    baseline = comparison.environment.baseline
    columns = choose_export_columns(view.columns, baseline) if view.columns else all_columns.COLUMNS
    return export_rows(columns, sort_rows(comparison.rows, view.sort, baseline) if view.sort else comparison.rows)


def export_transfers(comparison: Comparison) -> list[ExportRow]:
    """Return every transfer row as a mapping."""
    return export_rows(transfer_columns.COLUMNS, (row for problem in comparison.transfers for row in problem.rows))


def write_csv(path: Path, comparison: Comparison, view: View = _ALL) -> None:
    """Write the kernel rows. Raises StoreError, and UsageError for an unknown column."""
    write_text(path, format_csv(export_kernels(comparison, view)))


def write_transfers_csv(path: Path, comparison: Comparison) -> Path | None:
    """Write the transfer rows, if any, to NAME.transfers.csv next to `path`. On stdout they follow the other rows.

    Raises StoreError.
    """
    if not comparison.transfers:
        return None
    if str(path) == STDOUT:
        write_text(path, f"\n{format_csv(export_transfers(comparison))}")
        return path
    path = path.with_suffix(".transfers.csv")
    write_text(path, format_csv(export_transfers(comparison)))
    return path


def write_json(path: Path, comparison: Comparison, view: View = _ALL) -> None:
    """Write the header, the kernel rows and the transfer rows. Raises StoreError, and UsageError for a column."""
    rows, transfers = export_kernels(comparison, view), export_transfers(comparison)
    write_text(path, format_json(comparison.environment, rows, transfers))


def write_markdown(path: Path, comparison: Comparison, view: View) -> None:
    """Write the tables. Raises StoreError."""
    write_text(path, format_reports(report_results(comparison, replace(view, details=True)), "github"))


def format_csv(rows: Sequence[ExportRow]) -> str:
    """Format rows as CSV with the keys of the first row as headings. Text that looks like a formula is escaped."""
    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _escape_value(value) for key, value in row.items()} for row in rows)
    return out.getvalue()


def _escape_value(value: object) -> object:
    """Make a text safe for one cell. Some readers end a row at a carriage return, which csv does not quote."""
    return escape_controls(escape_formula(value)) if isinstance(value, str) else value


def format_json(environment: Environment, rows: Sequence[ExportRow], transfers: Sequence[ExportRow] = ()) -> str:
    """Format the header and the rows as one JSON object. The key `transfers` exists only if there are any."""
    header = msgspec.structs.replace(environment, schema=SCHEMA)  # the names of a header are those of this schema
    exported: dict[str, object] = {"environment": msgspec.to_builtins(header), "rows": rows}
    if transfers:
        exported["transfers"] = transfers
    return encode_json(exported)


def encode_json(exported: Mapping[str, object]) -> str:
    """Encode as indented JSON that ends with a newline."""
    return msgspec.json.format(msgspec.json.encode(exported), indent=1).decode() + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a file completely or not at all, or write to stdout. Raises StoreError."""
    if str(path) == STDOUT:
        sys.stdout.write(text)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if exists(path) and not is_file(path):  # a device such as /dev/stdout must not be replaced by a file
            path.write_text(defuse_workflow_commands(text) if runs_in_github_actions() else text, encoding="utf-8")
            return
        replace_file(path, text)
    except OSError as fault:
        raise StoreError(f"cannot write {path}: {fault.strerror}; choose another path") from None


def replace_file(path: Path, text: str) -> None:
    """Write text to a new or existing file, completely or not at all. Links are followed. Raises OSError."""
    path = follow_links(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        if is_file(path):
            shutil.copymode(path, draft)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
