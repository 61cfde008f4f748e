"""`gemmbench schema`: prints JSON schemas that let an editor check and complete manifests and configs."""

from __future__ import annotations

from dataclasses import dataclass

import click

from gemmbench.cli.options import argument, command
from gemmbench.errors import OK
from gemmbench.planning.json_schemas import SCHEMAS, write_schema


@dataclass(frozen=True, kw_only=True)
class SchemaOptions:
    """The options of `gemmbench schema`."""

    kind: str = argument(type=click.Choice(list(SCHEMAS)), metavar="KIND")


@command(SchemaOptions)
def schema(options: SchemaOptions) -> int:
    """Print the JSON schema of a KIND of file, for an editor.

    KIND is manifest or config. An editor with a YAML language server then checks and completes a
    file that begins with the second line:

    \b
    gemmbench schema manifest > manifest.schema.json
    # yaml-language-server: $schema=manifest.schema.json
    """
    click.echo(write_schema(options.kind), nl=False)
    return OK
