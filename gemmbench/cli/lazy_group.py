"""A click group that imports a command only when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from gemmbench.cli.streams import discard_output
from gemmbench.errors import OK, nearest
from gemmbench.planning.files import printable


@dataclass(frozen=True)
class CommandEntry:
    """Where a command is defined, and the line that describes it in the group's --help.

    At 80 columns there is room for 63 characters.
    """

    module: str
    attribute: str
    summary: str
    hidden: bool = False


Sections = Mapping[str, Mapping[str, CommandEntry]]
"""The commands under the headings of the group's --help, in its order."""


def _explain_undecodable(word: str) -> str:
    """Why a word of the command line cannot be used: its bytes are not text in the user's locale."""
    try:
        text = os.fsencode(word).decode()
    except UnicodeDecodeError:
        return f"'{printable(word)}' is not UTF-8; rename the file, or correct the option"
    name = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "C")
    encoding = sys.getfilesystemencoding()
    return f"'{text}' cannot be read in the locale {name}, whose encoding is {encoding}; set LC_ALL=C.UTF-8"


class LazyGroup(click.Group):
    """A group whose commands are listed in a table and imported one at a time."""

    def __init__(self, *arguments: Any, sections: Sections, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.sections = sections
        self.table = {name: entry for section in sections.values() for name, entry in section.items()}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of the command line; `help COMMAND` means `COMMAND --help`."""
        for word in args:
            if any("\ud800" <= char <= "\udfff" for char in word):  # how Python keeps a byte that it cannot decode
                raise click.UsageError(_explain_undecodable(word))
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, hidden ones included."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None for an unknown name."""
        return self.load(cmd_name) if cmd_name in self.table else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of the first word; the error for an unknown one names the nearest."""
        shown = [name for name, entry in self.table.items() if not entry.hidden]
        if args and args[0] not in self.table and (hint := nearest(args[0], shown)):
            ctx.fail(f"No such command '{printable(args[0])}'{hint}.")
        return super().resolve_command(ctx, args)

    def load(self, name: str) -> click.Command:
        """Import one command of the table."""
        entry = self.table[name]
        command = getattr(import_module(entry.module), entry.attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' summaries from the table, which imports none of them."""
        width = max(len(name) for name, entry in self.table.items() if not entry.hidden)
        for heading, section in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(name.ljust(width), entry.summary) for name, entry in section.items() if not entry.hidden]
                )

    def invoke(self, ctx: click.Context) -> object:
        """Run a command. A reader that closes the pipe early, such as `head`, is not an error."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
            return code
        except BrokenPipeError:
            discard_output()
            return OK
