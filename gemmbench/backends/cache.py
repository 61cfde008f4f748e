"""The cache of compiled code: what has the same inputs is compiled once."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path

from platformdirs import user_cache_path

from gemmbench.backends.base import Artifact, Build
from gemmbench.errors import DeviceError


def cache_folder() -> Path:
    """The cache folder: $GEMMBENCH_CACHE_DIR, else the user's cache folder."""
    if chosen := os.environ.get("GEMMBENCH_CACHE_DIR"):
        return Path(chosen)
    return user_cache_path("gemmbench")


def content_key(parts: Iterable[str]) -> str:
    """A content hash over `parts`, in order."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:32]


def fetch_or_build(key: str, suffix: str, build: Callable[[Path], Build]) -> Artifact:
    """Return the artifact of `key`; if it is missing, `build(path)` writes it.

    The file and its facts appear by renaming, so that a killed run or two parallel runs never
    leave half a file. Raises DeviceError if the folder is not writable.
    """
    home = cache_folder()
    code, facts = home / f"{key}{suffix}", home / f"{key}.json"
    if code.exists() and (known := _read_facts(facts)):
        return Artifact(key, str(code), replace(known, seconds=0.0, cached=True))
    with _open_workshop(home) as workshop:
        draft = Path(workshop) / f"kernel{suffix}"
        started = time.perf_counter()
        made = replace(build(draft), seconds=time.perf_counter() - started)
        facts_draft = Path(workshop) / "facts"
        facts_draft.write_text(json.dumps(asdict(made)))
        draft.replace(code)
        facts_draft.replace(facts)
    return Artifact(key, str(code), made)


def holds(key: str, suffix: str) -> bool:
    """Whether `fetch_or_build` would find the artifact of `key`."""
    home = cache_folder()
    return (home / f"{key}{suffix}").exists() and _read_facts(home / f"{key}.json") is not None


def _open_workshop(home: Path) -> tempfile.TemporaryDirectory[str]:
    """Make a folder inside the cache to build in, so that results can be renamed into place.

    Raises DeviceError.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(dir=home)
    except OSError as fault:
        why = f"cannot write compiled code to {home}: {fault.strerror}"
        raise DeviceError(f"{why}; name another folder in GEMMBENCH_CACHE_DIR") from None


def _read_facts(path: Path) -> Build | None:
    """Stored build facts; None if they are unreadable or of another version."""
    try:
        known = json.loads(path.read_text())
        return Build(**known) if known.keys() == asdict(Build()).keys() else None
    except (OSError, ValueError, TypeError, AttributeError):
        return None
