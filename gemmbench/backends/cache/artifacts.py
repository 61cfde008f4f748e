"""Finds an artifact by its key, verifies it, and builds what is missing or damaged."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.cache.folder import cache_folder, explain_unwritable, make_cache_folder, refuse_unsafe
from gemmbench.backends.cache.pruning import FACTS, prune
from gemmbench.backends.cache.usage import CacheUse

_uses: dict[tuple[int, Path], CacheUse | None] = {}
_claiming = threading.Lock()


def content_key(parts: Iterable[str]) -> str:
    """A content hash over `parts`, in order."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode(errors="surrogateescape"))
        digest.update(b"\0")
    return digest.hexdigest()[:32]


def fetch_or_build(key: str, suffix: str, build: Callable[[Path], Build]) -> Artifact:
    """Return the artifact of `key`; if it is missing or damaged, `build(path)` writes it.

    A checksum covers the code, its mode and its facts. Both files appear by renaming, so that a killed
    run or two parallel runs never leave half a file. Raises DeviceError if the folder is not writable,
    or if another user can write to it.
    """
    home = make_cache_folder()
    use = _claim_cache(home)
    code, facts = home / f"{key}{suffix}", home / f"{key}{FACTS}"
    if known := read_intact(code):
        _stamp(facts)
        return Artifact(key, str(code), replace(known, seconds=0.0, cached=True))
    with _open_workshop(use.folder if use else home) as workshop:
        draft = Path(workshop) / f"kernel{suffix}"
        started = time.perf_counter()
        made = replace(build(draft), seconds=time.perf_counter() - started)
        facts_draft = Path(workshop) / "facts"
        stored = {"build": asdict(made), "checksum": _checksum(draft, code.name, made)}
        facts_draft.write_text(json.dumps(stored), encoding="utf-8")
        _put(draft, code)
        _put(facts_draft, facts)
    return Artifact(key, str(code), made)


def store_file(name: str, content: bytes) -> None:
    """Write a file of the cache at once. Raises DeviceError if the folder is not writable or not safe."""
    home = make_cache_folder()
    use = _claim_cache(home)
    with _open_workshop(use.folder if use else home) as workshop:
        draft = Path(workshop) / "facts"
        draft.write_bytes(content)
        _put(draft, home / name)


def holds(key: str, suffix: str) -> bool:
    """Whether `fetch_or_build` would find the artifact of `key`. Raises DeviceError for an unsafe folder."""
    home = cache_folder()
    refuse_unsafe(home)
    return read_intact(home / f"{key}{suffix}") is not None


def read_intact(code: Path) -> Build | None:
    """The facts of an artifact; None if it is missing or damaged, or was stored by another version."""
    try:
        stored = json.loads(_read_file(code.with_suffix(FACTS)))
        build = Build(**stored["build"])
        return build if stored["checksum"] == _checksum(code, code.name, build) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _claim_cache(home: Path) -> CacheUse | None:
    """Note, once, that this process uses the cache; None if the folder cannot be written or locked."""
    key = os.getpid(), home
    with _claiming:
        if key not in _uses:
            _uses[key] = None
            with suppress(OSError):
                _uses[key] = CacheUse(home)
                atexit.register(_leave_cache, *key)
        return _uses[key]


def _leave_cache(process: int, home: Path) -> None:
    """What this process used may be pruned from now on. Its forks inherit this call, and must not make it."""
    use = _uses.pop((process, home), None)
    if use and process == os.getpid():
        use.end()
        with suppress(OSError):
            prune(home)


def _open_workshop(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """Make a folder inside the cache to build in, so that results can be renamed into place.

    Raises DeviceError.
    """
    try:
        return tempfile.TemporaryDirectory(dir=folder)
    except OSError as fault:
        raise explain_unwritable(folder, fault) from None


def _put(draft: Path, place: Path) -> None:
    """Rename a draft to its place, where something else may be."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    draft.replace(place)


def _stamp(facts: Path) -> None:
    """Note the time of a use."""
    with suppress(OSError):  # a cache may be read-only
        os.utime(facts)


def _checksum(code: Path, name: str, build: Build) -> str:
    """A hash of the code, its name, its mode and its facts. Raises OSError if it cannot be read."""
    content, mode = _read_file(code), stat.S_IMODE(code.stat().st_mode)
    head = json.dumps([name, mode, asdict(build)])
    return hashlib.sha256(head.encode() + b"\0" + content).hexdigest()


def _read_file(path: Path) -> bytes:
    """The content of a regular file. Raises OSError for anything else: reading a FIFO would wait for ever."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(f"{path} is no regular file")
    return path.read_bytes()
