"""A click group that imports a command only when the command is called."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from gemmbench.cli.streams import discard_output
from gemmbench.errors import INTERRUPTED, OK, nearest
from gemmbench.planning.files import escape_controls, printable


@dataclass(frozen=True)
class CommandEntry:
    """The place where a command is defined, and its description in the group's --help.

    The description has room for 63 characters if the terminal has 80 columns.
    """

    module: str
    attribute: str
    summary: str
    hidden: bool = False


_TYPED = "gemmbench.typed"
EXPLAIN = "gemmbench.explain"
"""The key of a context's `meta` for a function that says how to go on after Ctrl-C; "" if only from the start."""
Sections = Mapping[str, Mapping[str, CommandEntry]]
"""The commands under each heading of the group's --help, in the order shown there."""


def _explain_undecodable(word: str) -> str:
    """Explain why a word of the command line cannot be used: its bytes are not text in the user's locale."""
    try:
        text = os.fsencode(word).decode()
    except UnicodeDecodeError:
        return f"'{printable(word)}' is not UTF-8; rename the file, or correct the option"
    name = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "C")
    encoding = sys.getfilesystemencoding()
    return f"cannot read '{text}' in the locale {name}, whose encoding is {encoding}; set LC_ALL=C.UTF-8"


class LazyGroup(click.Group):
    """A group whose commands are listed in a table and imported one at a time."""

    def __init__(self, *arguments: Any, sections: Sections, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.sections = sections
        self.table = {name: entry for section in sections.values() for name, entry in section.items()}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command line. `help COMMAND` means `COMMAND --help`."""
        for word in args:
            if any("\ud800" <= char <= "\udfff" for char in word):  # how Python keeps a byte that it cannot decode
                raise click.UsageError(_explain_undecodable(word))
        ctx.meta[_TYPED] = list(args)
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, including hidden ones."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command. Returns None for an unknown name."""
        return self.load(cmd_name) if cmd_name in self.table else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names. The error for an unknown command suggests the nearest name."""
        shown = [name for name, entry in self.table.items() if not entry.hidden]
        if args and args[0] not in self.table and (hint := nearest(args[0], shown)):
            ctx.fail(f"No such command '{printable(args[0])}'{hint}.")
        return super().resolve_command(ctx, args)

    def load(self, name: str) -> click.Command:
        """Import one command from the table."""
        entry = self.table[name]
        command = getattr(import_module(entry.module), entry.attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summaries of the commands. They come from the table, so no command is imported."""
        width = max(len(name) for name, entry in self.table.items() if not entry.hidden)
        for heading, section in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(name.ljust(width), entry.summary) for name, entry in section.items() if not entry.hidden]
                )

    def invoke(self, ctx: click.Context) -> object:
        """Run a command. It is not an error if a reader such as `head` closes the pipe early."""
        code: object = OK
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            discard_output()
        except KeyboardInterrupt:
            again = f"interrupted; start again with: {shlex.join(['gemmbench', *ctx.meta[_TYPED]])}"
            click.echo(escape_controls(ctx.meta.get(EXPLAIN, str)() or again), err=True)
            code = INTERRUPTED
        return code
