"""What the cache holds, and deleting from it: what was used least recently goes first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gemmbench.backends.cache.usage import lock_cache, remove_dead_folders

LIMIT = 2 << 30
"""Bytes that the cache may hold."""
FACTS = ".json"

_NAME = re.compile(r"[0-9a-f]{32}(\.kernel|\.cubin|\.so|\.o|\.headers|\.json)")
"""The files that gemmbench writes; all others in the folder are left alone."""


@dataclass(frozen=True)
class CachedArtifact:
    """The files of an artifact: its code and its facts. `used` is when, in seconds since the epoch."""

    files: tuple[Path, ...]
    kind: str
    nbytes: int
    used: float

    def delete(self) -> None:
        """Delete its files."""
        for file in self.files:
            with suppress(OSError):  # another process may have deleted it
                file.unlink()


@dataclass(frozen=True)
class Deleted:
    """How many artifacts were deleted, with how many bytes, and how many stayed because they are in use."""

    artifacts: int
    nbytes: int
    in_use: int


def list_artifacts(home: Path) -> list[CachedArtifact]:
    """What the cache holds, the least recently used first."""
    found: dict[str, list[Path]] = {}
    with suppress(FileNotFoundError):
        for path in home.iterdir():
            if _NAME.fullmatch(path.name):
                found.setdefault(path.stem, []).append(path)
    artifacts = [artifact for files in found.values() for artifact in _describe(files)]
    return sorted(artifacts, key=lambda artifact: artifact.used)


def prune(home: Path, limit: int = LIMIT) -> Deleted:
    """Delete what killed runs left behind, and the least recently used until `limit` bytes are left.

    What a running process uses stays. Raises OSError if the cache cannot be locked.
    """
    with lock_cache(home):
        artifacts = list_artifacts(home)
        return _delete(home, artifacts, sum(artifact.nbytes for artifact in artifacts) - limit)


def clear(home: Path) -> Deleted:
    """Delete everything that no running process uses. Raises OSError if the cache cannot be locked."""
    with lock_cache(home):
        return _delete(home, list_artifacts(home), math.inf)


def _delete(home: Path, artifacts: list[CachedArtifact], enough: float) -> Deleted:
    """Delete artifacts in order until `enough` bytes are deleted."""
    oldest_user = remove_dead_folders(home)
    count = nbytes = in_use = 0
    for artifact in artifacts:
        if nbytes >= enough:
            break
        if artifact.used >= oldest_user:
            in_use += 1
            continue
        artifact.delete()
        count, nbytes = count + 1, nbytes + artifact.nbytes
    return Deleted(count, nbytes, in_use)


def _describe(files: list[Path]) -> Iterator[CachedArtifact]:
    """The artifact of these files, unless they are gone."""
    with suppress(OSError):
        known = [file.lstat() for file in files]
        kinds = [file.suffix for file in files if file.suffix != FACTS]
        used = max(each.st_mtime for each in known)
        yield CachedArtifact(tuple(files), kinds[0] if kinds else FACTS, sum(each.st_size for each in known), used)
