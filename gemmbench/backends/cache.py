"""Compiled code, kept by content: the same inputs never compile twice."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path

from gemmbench.backends.base import Artifact, Build
from gemmbench.errors import DeviceError


def cache_folder() -> Path:
    """The cache folder: $GEMMBENCH_CACHE_DIR, else the user's cache folder."""
    if chosen := os.environ.get("GEMMBENCH_CACHE_DIR"):
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("gemmbench")


def content_key(parts: Iterable[str]) -> str:
    """A content hash over `parts`, in order."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:32]


def fetch_or_build(key: str, suffix: str, build: Callable[[Path], Build]) -> Artifact:
    """Return the artifact of `key`; if it is not there, `build(path)` must write it.

    The file and its facts appear by rename, so a killed or a parallel run never
    leaves half of one. Raises DeviceError where the folder cannot be written.
    """
    home = cache_folder()
    code, facts = home / f"{key}{suffix}", home / f"{key}.json"
    if code.exists() and (known := _read_facts(facts)):
        return Artifact(key, str(code), replace(known, seconds=0.0, cached=True))
    with _open_workshop(home) as workshop:
        draft = Path(workshop) / f"kernel{suffix}"
        started = time.perf_counter()
        made = replace(build(draft), seconds=time.perf_counter() - started)
        noted = Path(workshop) / "facts"
        noted.write_text(json.dumps(asdict(made)))
        draft.replace(code)
        noted.replace(facts)
    return Artifact(key, str(code), made)


def _open_workshop(home: Path) -> tempfile.TemporaryDirectory[str]:
    """A folder to build in, inside the cache, so that what is built can be renamed into it. Raises DeviceError."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(dir=home)
    except OSError as fault:
        why = f"cannot write compiled code to {home}: {fault.strerror}"
        raise DeviceError(f"{why}; name another folder in GEMMBENCH_CACHE_DIR") from None


def _read_facts(path: Path) -> Build | None:
    """Stored build facts; None where they cannot be read or are another version's."""
    try:
        known = json.loads(path.read_text())
        return Build(**known) if known.keys() == asdict(Build()).keys() else None
    except (OSError, ValueError, TypeError, AttributeError):
        return None
