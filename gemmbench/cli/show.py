"""`gemmbench show`: the tables again, from saved results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gemmbench.cli import options

if TYPE_CHECKING:
    from gemmbench.report.store import Run


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path())
@options.option("--explain", metavar="ROW", help="Say all about one row: its number in --wide, NAME or NAME@SIZE.")
@options.output_options
def show(files: tuple[str, ...], explain: str | None, **settings: Any) -> int:
    """Print or export saved results FILES, or explain one row."""
    from gemmbench.cli import output
    from gemmbench.errors import OK, UsageError
    from gemmbench.report import store

    if len(files) > 1 and any(settings[key] for key in ("export_csv", "export_json", "export_markdown")):
        raise UsageError("an export takes one results file at a time; call show once for each")
    for file in files:
        run = store.read(Path(file))
        if run.warning:
            click.echo(run.warning, err=True)
        output.export(run, settings)
        if explain is None:
            output.print_report(run, settings["style"], settings["wide"])
        else:
            click.echo(_explained(run, explain))
    return OK


def _explained(run: Run, wanted: str) -> str:
    from gemmbench.report.explain import find, told

    return "\n".join(told(run, find(run, wanted)))
