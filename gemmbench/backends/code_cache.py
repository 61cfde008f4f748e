"""The cache of compiled code. It finds an artifact by its key, verifies it, and rebuilds it if missing or damaged.

Files in the cache are executed, so no other user may be able to write to it. Each process that uses the cache builds in
a private subfolder. A file in that folder stays locked until the process exits or is killed. Each use of an artifact
updates its time stamp, and every artifact used since the oldest of these processes began counts as in use. The least
recently used artifacts are deleted first.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import json
import math
import os
import re
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

from platformdirs import user_cache_path

from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.locks import hold_lock
from gemmbench.errors import DeviceError

_PRIVATE = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NEXT = "set GEMMBENCH_CACHE_DIR to another folder"


def cache_folder() -> Path:
    """Return the absolute path of the cache folder: $GEMMBENCH_CACHE_DIR or else the user's cache folder."""
    if chosen := os.environ.get("GEMMBENCH_CACHE_DIR"):
        return Path(chosen).absolute()  # compilers run in a different folder
    return user_cache_path("gemmbench")


def make_cache_folder() -> Path:
    """Return the cache folder, creating it if needed. Raises DeviceError if that fails or the folder is unsafe."""
    home = cache_folder()
    try:
        home.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    except OSError as fault:
        raise explain_unwritable(home, fault) from None
    refuse_unsafe(home)
    return home


def refuse_unsafe(home: Path) -> None:
    """Raise DeviceError if another user could put code into the folder, since this user would then run it."""
    try:
        known = home.stat()
    except OSError:  # it holds nothing to run
        return
    if known.st_uid != os.geteuid():
        raise DeviceError(f"the cache {home} belongs to another user, who could have put any code into it; {_NEXT}")
    if known.st_mode & _OTHERS_WRITE:
        who = "everyone" if known.st_mode & stat.S_IWOTH else "its group"
        raise DeviceError(
            f"the cache {home} is writable by {who}, who could put any code into it; chmod go-w {home}, or {_NEXT}"
        )


def explain_unwritable(home: Path, fault: OSError) -> DeviceError:
    """Return the error for a cache that is not writable."""
    return DeviceError(f"cannot write compiled code to {home}: {fault.strerror}; {_NEXT}")


_LOCK = "gemmbench.lock"
_PREFIX = "gemmbench-run-"


class CacheUse:
    """Marks a cache as in use by this process. The process builds in `folder`.

    Raises OSError if the cache cannot be written or locked, and TimeoutError if another process holds the lock too
    long.
    """

    def __init__(self, home: Path):
        with hold_lock(home / _LOCK):
            self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=home))
            self._held = (self.folder / _LOCK).open("w")
            fcntl.flock(self._held, fcntl.LOCK_EX)

    def end(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._held.close()


def _remove_dead_folders(home: Path) -> float:
    """Remove the folders of killed processes. The cache must be locked.

    Returns the start time of the oldest process that uses the cache, in seconds since the epoch, or infinity.
    """
    oldest = math.inf
    for folder in home.iterdir():
        if not folder.is_dir() or folder.is_symlink():
            continue
        if folder.name.startswith(_PREFIX) and _is_held(folder):
            oldest = min(oldest, _find_start(folder))
        elif folder.name.startswith(_PREFIX):
            shutil.rmtree(folder, ignore_errors=True)
    return oldest


def _is_held(folder: Path) -> bool:
    """Return whether the process that owns a folder is alive. If that is unknown, return True."""
    try:
        with (folder / _LOCK).open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _find_start(folder: Path) -> float:
    with suppress(OSError):  # the process may end meanwhile
        return (folder / _LOCK).stat().st_mtime
    return math.inf


LIMIT = 2 << 30
"""Size limit of the cache in bytes."""
FACTS = ".json"
_DAMAGE = OSError, ValueError, TypeError, KeyError, RecursionError
"""Exceptions that may occur when reading a missing or damaged cache file."""

_NAME = re.compile(r"[0-9a-f]{32}(\.kernel|\.cubin|\.so|\.o|\.headers|\.answer|\.json)")
"""Names of the files that gemmbench writes. It leaves all other files in the folder alone."""


@dataclass(frozen=True)
class CachedArtifact:
    """The files of an artifact: its code and its facts.

    `used` is the time of its last use, in seconds since the epoch.
    """

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
    """The result of a cleanup: artifacts and bytes deleted, and artifacts kept because they are in use."""

    artifacts: int
    nbytes: int
    in_use: int


def list_artifacts(home: Path) -> list[CachedArtifact]:
    """Return the artifacts in the cache, least recently used first."""
    found: dict[str, list[Path]] = {}
    with suppress(FileNotFoundError):
        for path in home.iterdir():
            if _NAME.fullmatch(path.name):
                found.setdefault(path.stem, []).append(path)
    artifacts = [artifact for files in found.values() for artifact in _describe(files)]
    return sorted(artifacts, key=lambda artifact: artifact.used)


def prune(home: Path, limit: int = LIMIT) -> Deleted:
    """Delete the leftovers of killed runs, then the least recently used artifacts until at most `limit` bytes remain.

    Artifacts that a running process uses are kept. Raises OSError if the cache cannot be locked within a second.
    """
    with hold_lock(home / _LOCK, limit=1.0):
        artifacts = list_artifacts(home)
        return _delete(home, artifacts, sum(artifact.nbytes for artifact in artifacts) - limit)


def clear(home: Path) -> Deleted:
    """Delete everything that is not in use by a running process. Raises OSError if the cache cannot be locked."""
    with hold_lock(home / _LOCK):
        return _delete(home, list_artifacts(home), math.inf)


def _delete(home: Path, artifacts: list[CachedArtifact], enough: float) -> Deleted:
    """Delete artifacts in order until `enough` bytes are deleted."""
    oldest_user = _remove_dead_folders(home)
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
    """Yield the artifact of these files, unless they are gone."""
    with suppress(OSError):
        known = [file.lstat() for file in files]
        kinds = [file.suffix for file in files if file.suffix != FACTS]
        used = max(each.st_mtime for each in known)
        yield CachedArtifact(tuple(files), kinds[0] if kinds else FACTS, sum(each.st_size for each in known), used)


_uses: dict[tuple[int, Path], CacheUse | None] = {}
_refusals: list[DeviceError] = []
"""The error of the thread that failed to claim the cache, shared with the threads that waited for it."""
_claiming = threading.Lock()


def content_key(parts: Iterable[str]) -> str:
    """Return a hash of the contents of `parts`, in order."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode(errors="surrogateescape"))
        digest.update(b"\0")
    return digest.hexdigest()[:32]


def fetch_or_build(key: str, suffix: str, build: Callable[[Path], Build]) -> Artifact:
    """Return the artifact of `key`. If it is missing or damaged, call `build(path)` to write it.

    A checksum covers the code, its file mode and its facts. Both files are renamed into place, so a killed run or two
    parallel runs never leave a partial file. Raises DeviceError if the folder is not writable, or if another user can
    write to it.
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
        if known := read_intact(code):  # another process has built it meanwhile and may be about to start it
            return Artifact(key, str(code), known)
        facts_draft = Path(workshop) / "facts"
        stored = {"build": asdict(made), "checksum": _checksum(draft, code.name, made)}
        facts_draft.write_text(json.dumps(stored), encoding="utf-8")
        _put(draft, code)
        _put(facts_draft, facts)
    return Artifact(key, str(code), made)


def _store_file(name: str, content: bytes) -> None:
    """Write a cache file atomically. Raises DeviceError if the folder is not writable or unsafe."""
    home = make_cache_folder()
    use = _claim_cache(home)
    with _open_workshop(use.folder if use else home) as workshop:
        draft = Path(workshop) / "facts"
        draft.write_bytes(content)
        _put(draft, home / name)


ANSWER = ".answer"


def store_answer(key: str, answer: Mapping[str, str]) -> None:
    """Store findings about a piece of code. Does nothing if the cache is not writable."""
    with suppress(DeviceError, OSError):
        _store_file(f"{key}{ANSWER}", json.dumps(answer).encode())


def read_answer(key: str) -> dict[str, str] | None:
    """Return the findings of earlier runs about a piece of code, or None. Raises DeviceError for an unsafe folder."""
    path = cache_folder() / f"{key}{ANSWER}"
    refuse_unsafe(path.parent)
    with suppress(*_DAMAGE):
        stored = json.loads(_read_file(path))
        if isinstance(stored, dict) and all(isinstance(each, str) for pair in stored.items() for each in pair):
            _stamp(path)
            return stored
    return None


def holds(key: str, suffix: str) -> bool:
    """Return whether `fetch_or_build` would find the artifact of `key`. Raises DeviceError for an unsafe folder."""
    home = cache_folder()
    refuse_unsafe(home)
    return read_intact(home / f"{key}{suffix}") is not None


def read_intact(code: Path) -> Build | None:
    """Return the facts of an artifact, or None if it is missing, damaged or from another version."""
    with suppress(*_DAMAGE):
        stored = json.loads(_read_file(code.with_suffix(FACTS)))
        build = Build(**stored["build"])
        return build if stored["checksum"] == _checksum(code, code.name, build) else None
    return None


def _claim_cache(home: Path) -> CacheUse | None:
    """Register this process, once, as a user of the cache. Returns None if the folder cannot be written or locked.

    Raises DeviceError if another process holds the lock too long.
    """
    key, refusals = (os.getpid(), home), len(_refusals)
    with _claiming:
        if len(_refusals) > refusals:
            raise _refusals[-1]
        if key not in _uses:
            try:
                _uses[key] = CacheUse(home)
            except TimeoutError as fault:
                _refusals.append(explain_unwritable(home, fault))
                raise _refusals[-1] from None
            except OSError:
                _uses[key] = None
            else:
                atexit.register(_leave_cache, *key)
        return _uses[key]


def _leave_cache(process: int, home: Path) -> None:
    """Allow pruning of the artifacts that this process used. Forks inherit this exit handler but must not run it."""
    use = _uses.pop((process, home), None)
    if use and process == os.getpid():
        use.end()
        with suppress(OSError):
            prune(home)


def _open_workshop(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """Make a build folder inside the cache, so that results can be renamed into place.

    Raises DeviceError.
    """
    try:
        return tempfile.TemporaryDirectory(dir=folder)
    except OSError as fault:
        raise explain_unwritable(folder, fault) from None


def _put(draft: Path, place: Path) -> None:
    """Move a finished file to its place, replacing whatever is there."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    draft.replace(place)


def _stamp(facts: Path) -> None:
    """Record the time of this use."""
    with suppress(OSError):  # the cache may be read-only
        os.utime(facts)


def _checksum(code: Path, name: str, build: Build) -> str:
    """Return a hash of the code, its name, its mode and its facts. Raises OSError if the code cannot be read."""
    content, mode = _read_file(code), stat.S_IMODE(code.stat().st_mode)
    head = json.dumps([name, mode, asdict(build)])
    return hashlib.sha256(head.encode() + b"\0" + content).hexdigest()


def _read_file(path: Path) -> bytes:
    """Return the content of a regular file. Raises OSError for anything else; reading a FIFO might block forever."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(f"{path} is not a regular file")
    return path.read_bytes()


SUFFIX = ".headers"


def find_key(key: str, suffix: str) -> str | None:
    """Return the key of the code compiled from a text, if all its headers are known and the code is in the cache."""
    known = _read_list(key)
    found = _add_contents(key, known) if known is not None else None
    return found if found and holds(found, suffix) else None


def make_key(key: str, list_headers: Callable[[], Sequence[str]]) -> str:
    """Return the key of the code compiled from a text and its current headers.

    Raises whatever `list_headers` raises.
    """
    headers = sorted(set(list_headers()))
    _store_file(f"{key}{SUFFIX}", json.dumps(headers).encode())
    return _add_contents(key, headers) or key


def _read_list(key: str) -> list[str] | None:
    with suppress(*_DAMAGE):
        stored = json.loads(_read_file(cache_folder() / f"{key}{SUFFIX}"))
        return [str(name) for name in stored] if isinstance(stored, list) else None
    return None


def _add_contents(key: str, headers: Sequence[str]) -> str | None:
    """Return a key that also covers the contents of the headers, or None if one cannot be read."""
    with suppress(*_DAMAGE):
        return content_key([key, *(part for header in headers for part in (header, _hash_file(header)))])
    return None


def _hash_file(path: str) -> str:
    seen = Path(path).stat()
    return _hash_version(path, seen.st_mtime_ns, seen.st_size, seen.st_ino)


@lru_cache(maxsize=10_000)
def _hash_version(path: str, _modified: int, _size: int, _number: int) -> str:
    """Return the hash of a file's content. Each version of the file is read once."""
    return hashlib.sha256(_read_file(Path(path))).hexdigest()
