"""`gemmbench new`: writes a kernel to start from, or a manifest for existing code."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import click

from gemmbench.backends import registry
from gemmbench.cli.options import argument, command, option
from gemmbench.cli.output import print_line
from gemmbench.errors import OK, UsageError
from gemmbench.report.text import count_noun
from gemmbench.session.new_kernel import NewVariant, write_kernel, write_manifest


@dataclass(frozen=True, kw_only=True)
class NewOptions:
    """The options of `gemmbench new`."""

    name: str = argument()
    source: Path | None = option(
        "--from",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write NAME.yaml, a manifest for the code in FILE, and leave FILE unchanged.",
    )
    symbol: str | None = option(
        "--symbol", metavar="FUNCTION", help="The function in FILE to describe.  [default: the one most like a GEMM]"
    )
    tried: bool = option(
        "--try",
        is_flag=True,
        help="Find the manifest by running the kernel in FILE on the CPU device, so that nothing is left to check.",
    )


@command(NewOptions)
def new(options: NewOptions) -> int:
    """Write a new kernel, or a manifest for the code in a FILE.

    The kernel in NAME.cu is a simple one that is right. The manifest in NAME.yaml is a draft: what
    the code does not say is a guess, marked with `# check`. Nothing is ever overwritten.

    \b
    gemmbench new mine                               writes mine.cu
    gemmbench new theirs --from lib/sgemm.cuh        writes lib/theirs.yaml
    gemmbench new mine/theirs --from lib/sgemm.cuh   writes mine/theirs.yaml
    gemmbench new theirs --from lib/sgemm.cuh --try  writes what was found right
    """
    if options.source is not None:
        written = write_manifest(options.name, options.source, options.symbol, options.tried)
    elif options.tried:
        raise UsageError("--try runs the kernel in a file; add --from FILE")
    elif options.symbol is None:
        written = write_kernel(options.name)
    else:
        raise UsageError("--symbol names a function in a file; add --from FILE")
    _print_written(written)
    _print_next(written)
    return OK


def _print_written(written: NewVariant) -> None:
    draft = written.draft
    if draft is None:
        print_line(f"wrote {written.path}{written.effort}")
        return
    marked = count_noun(draft.doubts, "line")
    print_line(f"wrote {written.path} for {draft.symbol}; {marked} marked `# check`")
    if draft.others:
        print_line(f"other functions in the file, for --symbol: {', '.join(draft.others)}")
    if written.fault:
        print_line(f"correct this first: {written.fault}")


def _print_next(written: NewVariant) -> None:
    """Print the next two commands to type: with the sizes to verify, if the usual ones do not fit."""
    path, sizes = written.path, written.sizes
    name = str(path) if path.is_absolute() else f"./{path}"
    choice = registry.parse_device("cuda") if written.needs_gpu else registry.choose_device(registry.AUTO)
    baseline = registry.find_entry(choice.primary).default_baseline
    print_line("next:")
    print_line(f"  gemmbench verify {shlex.quote(name)}{f' --sizes {sizes}' if sizes else ''}")
    print_line(f"  gemmbench compare {shlex.quote(name)} {baseline}")
