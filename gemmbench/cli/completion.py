"""`gemmbench completion`: prints a shell script that completes commands, options and names."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import click
from click.shell_completion import get_completion_class

from gemmbench.cli.options import argument, command
from gemmbench.errors import OK

_INSTALL = {
    "bash": 'add this line to ~/.bashrc: eval "$(gemmbench completion bash)"',
    "zsh": 'add this line to ~/.zshrc, after compinit: eval "$(gemmbench completion zsh)"',
    "fish": "gemmbench completion fish > ~/.config/fish/completions/gemmbench.fish",
}


@dataclass(frozen=True, kw_only=True)
class CompletionOptions:
    """The options of `gemmbench completion`."""

    shell: str = argument(type=click.Choice(list(_INSTALL)), metavar="SHELL")


@command(CompletionOptions)
def completion(options: CompletionOptions) -> int:
    """Print the script that completes commands in SHELL.

    SHELL is bash, zsh or fish. The TAB key then completes commands, options, kernels, configs,
    parameters, precisions, layouts, posts, saved runs and table formats. To install it:

    \b
    bash  echo 'eval "$(gemmbench completion bash)"' >> ~/.bashrc
    zsh   echo 'eval "$(gemmbench completion zsh)"' >> ~/.zshrc     (after compinit)
    fish  gemmbench completion fish > ~/.config/fish/completions/gemmbench.fish
    """
    kind = get_completion_class(options.shell)
    assert kind is not None
    group = click.get_current_context().find_root().command
    click.echo(kind(group, {}, "gemmbench", "_GEMMBENCH_COMPLETE").source())
    if sys.stdout.isatty():
        click.echo(f"To install: {_INSTALL[options.shell]}", err=True)
    return OK
