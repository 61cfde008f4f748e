"""What a command leaves behind: tables on stdout, the CSV and other exports, the exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from gemmbench.bench.record import Record, TransferRecord
from gemmbench.cli.options import OutputOptions
from gemmbench.errors import BAD_ROW, INTERRUPTED, NO_DEVICE, OK
from gemmbench.planning.sweeps.sweep_config import read_post
from gemmbench.report import store, tables, transfer_columns, transfer_tables
from gemmbench.report.comparison import flat
from gemmbench.report.posts import own_tables
from gemmbench.report.store import Run
from gemmbench.session.results_file import RunResult

PLAIN = "simple"


def finish(result: RunResult, options: OutputOptions, energy: bool) -> int:
    """Print the tables, write the exports, return the exit code.

    Raises StoreError, after the tables are printed.
    """
    run = result.run
    print_report(run, options.style, options.wide)
    names = save_csv(run)
    if run.records:
        click.echo(f"results: {' and '.join([str(run.path), *names])}", err=True)
    if energy and not any(record.telemetry and record.telemetry.energy for record in run.records):
        click.echo("--energy: no row has a value; it needs a busy GPU with an energy counter", err=True)
    export(run, options)
    return choose_exit_code([*run.records, *run.transfers], result.interrupted)


def save_csv(run: Run) -> list[str]:
    """Write the CSV files next to the results file; returns their names. Raises StoreError."""
    path = run.path.with_suffix(".csv")
    if run.records:
        store.write_text(path, store.to_csv(flat(run)))
    return [*([path.name] if run.records else []), *_write_transfers(run, path)]


def _write_transfers(run: Run, csv: Path) -> list[str]:
    """Write the rows of transfers, if there are any, as NAME.transfers.csv; returns names. Raises StoreError."""
    if not run.transfers:
        return []
    path = csv.with_suffix(".transfers.csv")
    store.write_text(path, store.to_csv(transfer_columns.flat(run)))
    return [path.name]


def export(run: Run, options: OutputOptions) -> None:
    """Write the exports that the options name. Raises StoreError."""
    if options.export_csv:
        store.write_text(Path(options.export_csv), store.to_csv(flat(run)))
        _write_transfers(run, Path(options.export_csv))
    if options.export_json:
        text = store.to_json(run.environment, flat(run), transfer_columns.flat(run))
        store.write_text(Path(options.export_json), text)
    if options.export_markdown:
        text = tables.text(run, "github", options.wide) + transfer_tables.section(run, "github")
        store.write_text(Path(options.export_markdown), text)


def print_report(run: Run, style: str | None, wide: bool = False) -> None:
    """Print the tables on stdout: rich on a terminal, plain text elsewhere, unless a format was requested."""
    post = read_post(run.environment.post) if run.environment.post else None
    if post:
        plain = choose_plain_style(style)
        click.echo(own_tables(post, run, plain) + transfer_tables.section(run, plain), nl=False)
        return
    style = style or (tables.RICH if sys.stdout.isatty() else PLAIN)
    if style != tables.RICH:
        click.echo(tables.text(run, style, wide) + transfer_tables.section(run, style), nl=False)
        return
    from rich.console import Console  # slow to import, and needed on a terminal only

    Console().print(tables.rich_report(run, wide))
    if run.transfers:
        Console().print(transfer_tables.rich_report(run))


def choose_plain_style(style: str | None) -> str:
    """A tabulate format, for tables that rich does not draw."""
    return PLAIN if style in (None, "rich") else str(style)


def choose_exit_code(records: Sequence[Record | TransferRecord], interrupted: bool) -> int:
    """0 if every row that ran is right, 1 if one is not, 3 if nothing ran, 130 if interrupted."""
    if interrupted:
        return INTERRUPTED
    ran = [record for record in records if record.status != "skipped"]
    if not ran:
        click.echo("nothing ran: every row was skipped, for the reasons above", err=True)
        return NO_DEVICE
    return OK if all(record.status == "ok" for record in ran) else BAD_ROW
