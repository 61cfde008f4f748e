"""What a run leaves behind: its tables, the CSV and other exports, the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gemmbench.bench.record import Record, TransferRecord
from gemmbench.cli.options import OutputOptions
from gemmbench.cli.output import print_line, print_reports
from gemmbench.errors import BAD_ROW, INTERRUPTED, NO_DEVICE, OK, StoreError
from gemmbench.report import export
from gemmbench.report.comparison import Comparison
from gemmbench.report.tables.kernel_tables import report_results
from gemmbench.report.tables.post_tables import find_post, report_post
from gemmbench.report.verdicts import list_fastest
from gemmbench.session.open_run import RunResult


def finish_run(
    result: RunResult, comparison: Comparison, options: OutputOptions, sustained: bool, closing: bool = True
) -> int:
    """Print the tables, write the exports, return the exit code.

    With `closing`, the tables end in who is fastest, unless the run was interrupted. Raises
    StoreError, after the tables are printed.
    """
    run = result.run
    try:
        print_results(comparison, options.style, options.wide, closing and not result.interrupted)
    finally:
        names = [] if result.fault else save_csv(comparison)
    if run.records:
        print_line(f"results: {' and '.join([str(run.path), *names])}", to_stderr=True)
    if sustained and not any(record.sustained for record in run.records):
        why = "it needs a GPU, and launches of at most 0.1 s"
        print_line(f"--sustained: no row has a steady load; {why}", to_stderr=True)
    write_exports(comparison, options)
    refuse_incomplete_file(result)
    return choose_exit_code([*run.full_records, *run.transfers], result.interrupted)


def refuse_incomplete_file(result: RunResult) -> None:
    """Raise StoreError if rows that were shown are not in the results file."""
    if result.fault:
        hint = ", and --resume continues it once that is solved" if result.run.planned else ""
        raise StoreError(f"{result.fault}; the run ended{hint}")


def save_csv(comparison: Comparison) -> list[str]:
    """Write the CSV files next to the results file; returns their names. Raises StoreError."""
    path = comparison.run.path.with_suffix(".csv")
    if comparison.rows:
        export.write_csv(path, comparison)
    transfers = export.write_transfers_csv(path, comparison)
    return [*([path.name] if comparison.rows else []), *([transfers.name] if transfers else [])]


def write_exports(comparison: Comparison, options: OutputOptions) -> None:
    """Write the exports that the options name. Raises StoreError."""
    if options.export_csv:
        export.write_csv(Path(options.export_csv), comparison)
        export.write_transfers_csv(Path(options.export_csv), comparison)
    if options.export_json:
        export.write_json(Path(options.export_json), comparison)
    if options.export_markdown:
        export.write_markdown(Path(options.export_markdown), comparison, options.wide)


def print_results(comparison: Comparison, style: str | None, wide: bool = False, closing: bool = True) -> None:
    """Print the tables of a run, or those of the post that it repeats."""
    post = find_post(comparison.environment)
    reports = report_post(post, comparison) if post else report_results(comparison, wide)
    lines = list_fastest(comparison) if closing else []
    print_reports([*reports[:-1], replace(reports[-1], closing=lines)], style)


def choose_exit_code(records: Sequence[Record | TransferRecord], interrupted: bool) -> int:
    """0 if every row that ran is right, 1 if one is not, 3 if nothing ran, 130 if interrupted."""
    if interrupted:
        return INTERRUPTED
    ran = [record for record in records if record.status != "skipped"]
    if not ran:
        print_line("nothing ran: every row was skipped, for the reasons above", to_stderr=True)
        return NO_DEVICE
    return OK if all(record.status == "ok" for record in ran) else BAD_ROW
