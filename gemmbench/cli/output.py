"""What a command leaves behind: tables on stdout, the CSV and other exports, the exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gemmbench.errors import BAD_ROW, INTERRUPTED, NO_DEVICE, OK

if TYPE_CHECKING:
    from gemmbench.bench.record import Record, TransferRecord
    from gemmbench.report.store import Run

PLAIN = "simple"


def finish(run: Run, interrupted: bool, settings: dict[str, Any]) -> int:
    """Print the tables, write the exports, return the exit code. Raises StoreError, after what can be said is said."""
    from gemmbench.cli.transfers import write_transfers

    print_report(run, settings["style"], settings["wide"])
    save_csv(run)
    transfers = write_transfers(run, run.path)
    if run.records:
        files = [run.path, run.path.with_suffix(".csv").name, *transfers]
        click.echo(f"results: {' and '.join(map(str, files))}", err=True)
    if settings["energy"] and not any(record.telemetry and record.telemetry.energy for record in run.records):
        click.echo("--energy: no row has one; it takes a GPU with an energy counter, kept busy", err=True)
    export(run, settings)
    return code_of([*run.records, *run.transfers], interrupted)


def save_csv(run: Run) -> None:
    """Write the CSV beside the results file. Raises StoreError."""
    from gemmbench.report import store
    from gemmbench.report.comparison import flat

    if run.records:
        store.write_text(run.path.with_suffix(".csv"), store.to_csv(flat(run)))


def export(run: Run, settings: dict[str, Any]) -> None:
    """Write what --export-csv, --export-json and --export-markdown ask for. Raises StoreError."""
    from gemmbench.cli.transfers import write_transfers
    from gemmbench.report import store, tables, transfer_columns, transfer_tables
    from gemmbench.report.comparison import flat

    if path := settings["export_csv"]:
        store.write_text(Path(path), store.to_csv(flat(run)))
        write_transfers(run, Path(path))
    if path := settings["export_json"]:
        store.write_text(Path(path), store.to_json(run.environment, flat(run), transfer_columns.flat(run)))
    if path := settings["export_markdown"]:
        store.write_text(
            Path(path), tables.text(run, "github", settings["wide"]) + transfer_tables.section(run, "github")
        )


def print_report(run: Run, style: str | None, wide: bool = False) -> None:
    """Print the tables on stdout: rich on a terminal, plain text elsewhere, unless a format was asked for."""
    from gemmbench.report import tables, transfer_tables

    if run.environment.post:
        from gemmbench.planning.sweeps.sweep_config import read_post
        from gemmbench.report.posts import own_tables

        if post := read_post(run.environment.post):
            click.echo(own_tables(post, run, plain(style)) + transfer_tables.section(run, plain(style)), nl=False)
            return
    style = style or (tables.RICH if sys.stdout.isatty() else PLAIN)
    if style != tables.RICH:
        click.echo(tables.text(run, style, wide) + transfer_tables.section(run, style), nl=False)
        return
    from rich.console import Console

    Console().print(tables.rich_report(run, wide))
    if run.transfers:
        Console().print(transfer_tables.rich_report(run))


def plain(style: str | None) -> str:
    """A tabulate format for tables that rich does not draw."""
    return PLAIN if style in (None, "rich") else str(style)


def code_of(records: Sequence[Record | TransferRecord], interrupted: bool) -> int:
    """0 if every row that ran is right, 1 if one is not, 3 if nothing ran, 130 if interrupted."""
    if interrupted:
        return INTERRUPTED
    ran = [record for record in records if record.status != "skipped"]
    if not ran:
        click.echo("nothing ran: every row was skipped, for the reasons above", err=True)
        return NO_DEVICE
    return OK if all(record.status == "ok" for record in ran) else BAD_ROW
