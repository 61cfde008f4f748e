"""A click group that imports a command only when it is called, so that --help is fast."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from gemmbench.errors import OK


@dataclass(frozen=True)
class CommandEntry:
    """Where a command is defined, and the line that describes it in the group's --help."""

    module: str
    attribute: str
    summary: str
    hidden: bool = False


class LazyGroup(click.Group):
    """A group whose commands are listed in a table and imported one at a time."""

    def __init__(self, *arguments: Any, table: Mapping[str, CommandEntry], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, hidden ones included."""
        return sorted(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None for an unknown name."""
        return self.load(cmd_name) if cmd_name in self.table else None

    def load(self, name: str) -> click.Command:
        """Import one command of the table."""
        entry = self.table[name]
        command = getattr(import_module(entry.module), entry.attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' summaries from the table, which imports none of them."""
        lines = [(name, entry.summary) for name, entry in sorted(self.table.items()) if not entry.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(lines)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command. A reader that closes the pipe early, such as `head`, is not an error."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
            return code
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return OK
