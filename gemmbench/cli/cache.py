"""`gemmbench cache`: shows what the cache of compiled code holds, and clears it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

import click

from gemmbench.backends import code_cache
from gemmbench.backends.code_cache import (
    LIMIT,
    CachedArtifact,
    Deleted,
    cache_folder,
    explain_unwritable,
    refuse_unsafe,
)
from gemmbench.cli.options import argument, command, option, style_option
from gemmbench.cli.output import print_reports
from gemmbench.errors import OK
from gemmbench.planning.sweeps.run_request import OUTPUT
from gemmbench.report.table import Report, Table
from gemmbench.report.text import count_noun, format_bytes

_KINDS = {
    ".kernel": "CPU kernels",
    ".o": "CPU runtime",
    ".walls": "CPU walls",
    ".cubin": "GPU kernels",
    ".so": "GPU launchers",
    ".headers": "lists of headers",
    ".answer": "results of checks",
}
_OTHER = "incomplete"


@dataclass(frozen=True)
class CacheContents:
    """The contents of the cache as --json writes them. `oldest_use` and `newest_use` are in UTC, or None if empty."""

    folder: str
    artifacts: int
    bytes: int
    limit_bytes: int
    kinds: dict[str, int]
    oldest_use: str | None
    newest_use: str | None


def _describe_cache(home: Path, artifacts: Sequence[CachedArtifact]) -> CacheContents:
    """Count what is in the cache. `artifacts` must be sorted by when they were last used."""
    kinds = [_KINDS.get(artifact.kind, _OTHER) for artifact in artifacts]
    uses = [datetime.fromtimestamp(artifact.used, timezone.utc).isoformat(timespec="seconds") for artifact in artifacts]
    return CacheContents(
        str(home),
        len(artifacts),
        sum(artifact.nbytes for artifact in artifacts),
        LIMIT,
        {kind: kinds.count(kind) for kind in (*_KINDS.values(), _OTHER) if kind in kinds},
        uses[0] if uses else None,
        uses[-1] if uses else None,
    )


def _report_cache(contents: CacheContents) -> Report:
    """Report the figures as a table of two columns."""
    rows = [["folder", contents.folder]]
    rows += [[kind, str(count)] for kind, count in contents.kinds.items()]
    rows += [["size", f"{format_bytes(contents.bytes)} of at most {format_bytes(contents.limit_bytes)}"]]
    if contents.newest_use is not None:
        uses = {"least recent use": contents.oldest_use, "last use": contents.newest_use}
        rows += [[name, f"{str(time)[:16].replace('T', ' ')} UTC"] for name, time in uses.items()]
    headings = ["cache", "value"]
    statuses = ["ok"] * len(rows)
    footer = ["Above the limit, the least recently used entries are deleted first. Delete all: gemmbench cache clear"]
    return Report([Table("", headings, rows, (), headings, statuses, fold=headings[1:])], footer)


def _summarize_clearing(home: Path, deleted: Deleted) -> str:
    """Describe in one sentence what was deleted."""
    artifacts = count_noun(deleted.artifacts, "artifact")
    kept = f"; kept {deleted.in_use} that a running gemmbench is using" if deleted.in_use else ""
    return f"deleted {artifacts} ({format_bytes(deleted.nbytes)}) from {home}{kept}"


_SHOW, _CLEAR = "show", "clear"


@dataclass(frozen=True, kw_only=True)
class CacheOptions:
    """The options of `gemmbench cache`."""

    action: str = argument(type=click.Choice([_SHOW, _CLEAR]), default=_SHOW)
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
    if options.action == _CLEAR:
        _clear(home, options.as_json)
        return OK
    contents = _describe_cache(home, code_cache.list_artifacts(home))
    if options.as_json:
        click.echo(json.dumps(asdict(contents), indent=1))
    else:
        print_reports([_report_cache(contents)], options.style)
    return OK


def _clear(home: Path, as_json: bool) -> None:
    """Delete all artifacts that no process is using. Raises DeviceError if the folder cannot be written."""
    try:
        deleted = code_cache.clear(home) if home.exists() else code_cache.Deleted(0, 0, 0)
    except OSError as fault:
        raise explain_unwritable(home, fault) from None
    if as_json:
        figures = {"artifacts": deleted.artifacts, "bytes": deleted.nbytes, "in_use": deleted.in_use}
        click.echo(json.dumps({"folder": str(home), **figures}, indent=1))
    else:
        click.echo(_summarize_clearing(home, deleted))
