"""`gemmbench cache`: what the cache of compiled code holds, and emptying it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from gemmbench.backends import code_cache
from gemmbench.backends.code_cache import cache_folder, explain_unwritable, refuse_unsafe
from gemmbench.cli.option_fields import OUTPUT, argument, command, option
from gemmbench.cli.options import style_option
from gemmbench.cli.output import print_reports
from gemmbench.errors import OK
from gemmbench.report.diagnostics.cache_contents import describe_cache, report_cache, summarize_clearing

SHOW, CLEAR = "show", "clear"


@dataclass(frozen=True, kw_only=True)
class CacheOptions:
    """The options of `gemmbench cache`."""

    action: str = argument(type=click.Choice([SHOW, CLEAR]), default=SHOW)
    as_json: bool = option("--json", is_flag=True, heading=OUTPUT, help="Write JSON.")
    style: str | None = style_option()


@command(CacheOptions)
def cache(options: CacheOptions) -> int:
    """Show or clear the cache of compiled kernels.

    \b
    show   where it is, what it holds and how much of its limit that takes (the default)
    clear  delete all of it, except what a running gemmbench uses

    Code is compiled again when it is needed. A file that was damaged is noticed by its checksum and
    replaced. GEMMBENCH_CACHE_DIR names another folder.
    """
    home = cache_folder()
    refuse_unsafe(home)
    if options.action == CLEAR:
        _clear(home, options.as_json)
        return OK
    contents = describe_cache(home, code_cache.list_artifacts(home))
    if options.as_json:
        click.echo(json.dumps(asdict(contents), indent=1))
    else:
        print_reports([report_cache(contents)], options.style)
    return OK


def _clear(home: Path, as_json: bool) -> None:
    """Delete what no process uses. Raises DeviceError if the folder cannot be written."""
    try:
        deleted = code_cache.clear(home) if home.exists() else code_cache.Deleted(0, 0, 0)
    except OSError as fault:
        raise explain_unwritable(home, fault) from None
    if as_json:
        figures = {"artifacts": deleted.artifacts, "bytes": deleted.nbytes, "in_use": deleted.in_use}
        click.echo(json.dumps({"folder": str(home), **figures}, indent=1))
    else:
        click.echo(summarize_clearing(home, deleted))
