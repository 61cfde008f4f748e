"""`gemmbench show`: the tables again, from saved results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gemmbench.cli import options


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path())
@options.output_options
def show(files: tuple[str, ...], **settings: Any) -> int:
    """Print the tables of saved results FILES (.jsonl), in any format; or export them."""
    from gemmbench.cli import session
    from gemmbench.errors import OK, UsageError
    from gemmbench.report import store

    if len(files) > 1 and any(settings[key] for key in ("export_csv", "export_json", "export_markdown")):
        raise UsageError("an export takes one results file at a time; call show once for each")
    for file in files:
        run = store.read(Path(file))
        if run.warning:
            click.echo(run.warning, err=True)
        session.export(run, settings)
        session.print_report(run, settings["style"])
    return OK
