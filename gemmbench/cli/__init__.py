"""The command line: one file a command, and the one place where errors become exit codes."""

from __future__ import annotations

import os
import sys

import click

from gemmbench import __version__
from gemmbench.cli.compare import compare
from gemmbench.cli.doctor import doctor
from gemmbench.cli.inspect import inspect
from gemmbench.cli.list import list_variants
from gemmbench.cli.mlp import mlp
from gemmbench.cli.posts import posts
from gemmbench.cli.profile import one_launch, profile
from gemmbench.cli.run import run
from gemmbench.cli.show import show
from gemmbench.cli.verify import verify
from gemmbench.errors import INTERRUPTED, OK, GemmbenchError


class Group(click.Group):
    """A group for which a reader that goes away, such as `head`, is no fault."""

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; click itself would exit with 1."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
            return code
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return OK


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="gemmbench")
def group() -> None:
    """Verify, time and compare CUDA GEMM kernels, one .cu file each.

    \b
    gemmbench run --sizes 1024,4096            the default sweep at two sizes
    gemmbench compare naive tiled cublas       side by side, with a verdict
    gemmbench verify tiled                     is it right?
    """


for command in (doctor, list_variants, run, compare, verify, inspect, profile, show, posts, mlp, one_launch):
    group.add_command(command)


def main() -> None:
    """Run the command line and exit: 0 ok, 1 bad rows, 2 usage, 3 no device, 130 interrupted."""
    try:
        code = group.main(prog_name="gemmbench", standalone_mode=False)
    except click.ClickException as fault:
        fault.show()
        code = fault.exit_code
    except GemmbenchError as fault:
        click.echo(f"gemmbench: {fault}", err=True)
        code = fault.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    sys.exit(code if isinstance(code, int) else 0)
