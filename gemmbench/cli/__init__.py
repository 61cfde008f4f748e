"""The command line: one module per command. Only here do errors become exit codes."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress

import click

import gemmbench
from gemmbench.backends.host import shorten_blas_spinning
from gemmbench.cli.lazy_group import CommandEntry, LazyGroup
from gemmbench.cli.streams import (
    defuse_output,
    discard_output,
    escape_unencodable,
    is_unwritable_output,
    open_closed_streams,
)
from gemmbench.errors import HUNG_UP, INTERRUPTED, OK, TERMINATED, USAGE, GemmbenchError
from gemmbench.planning.files import escape_controls
from gemmbench.session.signals import Terminated, ignore_signals, raise_on_termination

# The commands in the order of work, as --help shows them.
SECTIONS = {
    "Measure and verify": {
        "run": CommandEntry("gemmbench.cli.run", "run", "Verify and time KERNELs and compare them with the baseline."),
        "compare": CommandEntry(
            "gemmbench.cli.compare", "compare", "Measure KERNELs together and report which is faster."
        ),
        "verify": CommandEntry(
            "gemmbench.cli.verify", "verify", "Verify KERNELs on shapes on which kernels often break."
        ),
        "tune": CommandEntry("gemmbench.cli.tune", "tune", "Search for the fastest configuration of each KERNEL."),
        "check": CommandEntry(
            "gemmbench.cli.check", "check", "Fail if KERNELs became slower than in a saved run or a revision."
        ),
    },
    "Study a kernel": {
        "new": CommandEntry("gemmbench.cli.new", "new", "Write a new kernel, or a manifest for the code in a FILE."),
        "list": CommandEntry(
            "gemmbench.cli.list", "list_variants", "List kernels and libraries, and what can run here."
        ),
        "inspect": CommandEntry(
            "gemmbench.cli.inspect", "inspect", "Show registers, occupancy and machine code of KERNEL."
        ),
        "profile": CommandEntry(
            "gemmbench.cli.profile", "profile", "Profile one launch of KERNEL with Nsight Compute."
        ),
        "one-launch": CommandEntry(
            "gemmbench.cli.profile",
            "one_launch",
            "Launch KERNEL once, inside the range that a profiler records.",
            hidden=True,
        ),
    },
    "Look at results": {
        "show": CommandEntry("gemmbench.cli.show", "show", "Print or export saved results FILES, or explain one row."),
        "plot": CommandEntry("gemmbench.cli.plot", "plot", "Draw a chart of saved results FILES, as SVG."),
        "report": CommandEntry("gemmbench.cli.report", "report", "Write saved results FILES as one HTML page."),
    },
    "Ready-made experiments": {
        "posts": CommandEntry(
            "gemmbench.cli.posts", "posts", "Repeat the measurements of blog POSTs next to their tables."
        ),
        "mlp": CommandEntry(
            "gemmbench.cli.mlp", "mlp", "Verify and time a neural network, computed by each of KERNELS."
        ),
    },
    "Set up": {
        "doctor": CommandEntry("gemmbench.cli.doctor", "doctor", "Check whether this machine is ready to measure."),
        "schema": CommandEntry(
            "gemmbench.cli.schema", "schema", "Print the JSON schema of a KIND of file, for an editor."
        ),
        "cache": CommandEntry("gemmbench.cli.cache", "cache", "Show or clear the cache of compiled kernels."),
        "completion": CommandEntry(
            "gemmbench.cli.completion", "completion", "Print the script that completes commands in SHELL."
        ),
    },
}


def _print_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        click.echo(f"gemmbench, version {gemmbench.__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="gemmbench COMMAND --help, or gemmbench help COMMAND, shows the options of a command.",
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def group() -> None:
    """Verify, time and compare CUDA GEMM kernels, one .cu file each.

    \b
    gemmbench run                           a quick sweep over the first kernels
    gemmbench run tiled --sizes 1024,4096   one kernel at two sizes
    gemmbench compare naive tiled cublas    side by side, with a verdict
    gemmbench verify tiled                  is it right?
    """


def main() -> None:
    """Run the command line and exit with one of the codes in errors.EXIT_CODES."""
    open_closed_streams()
    escape_unencodable()
    shorten_blas_spinning()
    with raise_on_termination(), defuse_output():
        code = _run_group()
    sys.exit(code)


def run_program() -> None:
    """Run `main` as the whole program: signals no longer disturb Python while it ends."""
    try:
        main()
    finally:
        ignore_signals()


def _run_group() -> int:
    try:
        code = group.main(prog_name="gemmbench", standalone_mode=False)
    except click.ClickException as fault:
        # It may repeat what was typed.
        fault.message = escape_controls(fault.message)  # type: ignore[misc]
        fault.show()
        return fault.exit_code
    except GemmbenchError as fault:
        click.echo(escape_controls(f"gemmbench: {fault}"), err=True)
        return fault.exit_code
    except OSError as fault:
        if not is_unwritable_output(fault):
            raise
        discard_output()
        click.echo(f"gemmbench: cannot write the output: {fault.strerror}", err=True)
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Terminated as end:
        is_lost = end.number == signal.SIGHUP
        what = "the terminal was lost" if is_lost else "terminated"
        with suppress(OSError):
            click.echo(f"gemmbench: {what}; every complete row is kept", err=True)
        return HUNG_UP if is_lost else TERMINATED
    return code if isinstance(code, int) else OK
