"""What `gemmbench cache` prints: what the cache of compiled code holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from gemmbench.backends.code_cache import LIMIT, CachedArtifact, Deleted
from gemmbench.report.table import Report, Table
from gemmbench.report.text import count_noun, format_bytes

_KINDS = {".kernel": "CPU kernels", ".o": "CPU runtime", ".cubin": "GPU kernels", ".so": "GPU launchers"}
_OTHER = "incomplete"


@dataclass(frozen=True)
class CacheContents:
    """What the cache holds, as --json writes it. `oldest_use` and `newest_use` are UTC, None if it is empty."""

    folder: str
    artifacts: int
    bytes: int
    limit_bytes: int
    kinds: dict[str, int]
    oldest_use: str | None
    newest_use: str | None


def describe_cache(home: Path, artifacts: Sequence[CachedArtifact]) -> CacheContents:
    """Count what is in the cache; `artifacts` are in the order of their use."""
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


def report_cache(contents: CacheContents) -> Report:
    """The figures as a table of two columns."""
    rows = [["folder", contents.folder]]
    rows += [[kind, str(count)] for kind, count in contents.kinds.items()]
    rows += [["size", f"{format_bytes(contents.bytes)} of at most {format_bytes(contents.limit_bytes)}"]]
    if contents.newest_use is not None:
        rows += [["least recent use", str(contents.oldest_use)], ["last use", contents.newest_use]]
    headings = ["cache", "value"]
    statuses = ["ok"] * len(rows)
    footer = ["Beyond its limit, what was used least recently is deleted first."]
    return Report([Table("", headings, rows, (), headings, statuses, fold=headings[1:])], footer)


def summarize_clearing(home: Path, deleted: Deleted) -> str:
    """One sentence on what was deleted."""
    artifacts = count_noun(deleted.artifacts, "artifact")
    kept = f"; kept {deleted.in_use} that a running gemmbench uses" if deleted.in_use else ""
    return f"deleted {artifacts} ({format_bytes(deleted.nbytes)}) from {home}{kept}"
