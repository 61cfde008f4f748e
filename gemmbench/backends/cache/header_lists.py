"""Which headers the compiler read for a text, and the key of its code with what is in them.

The list is stored under the key of the text. A changed header changes the key of the code; then the
compiler lists the headers anew, since the changed one may include others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from gemmbench.backends.cache.artifacts import content_key, holds, store_file
from gemmbench.backends.cache.folder import cache_folder

SUFFIX = ".headers"


def find_key(key: str, suffix: str) -> str | None:
    """The key of the code of a text, if all headers are known and that code is in the cache."""
    known = _read_list(key)
    found = _add_contents(key, known) if known is not None else None
    return found if found and holds(found, suffix) else None


def make_key(key: str, list_headers: Callable[[], Sequence[str]]) -> str:
    """The key of the code of a text, from what its headers contain now. Raises as `list_headers` does."""
    headers = sorted(set(list_headers()))
    store_file(f"{key}{SUFFIX}", json.dumps(headers).encode())
    return _add_contents(key, headers) or key


def _read_list(key: str) -> list[str] | None:
    try:
        stored = json.loads((cache_folder() / f"{key}{SUFFIX}").read_bytes())
    except (OSError, ValueError):
        return None
    return [str(name) for name in stored] if isinstance(stored, list) else None


def _add_contents(key: str, headers: Sequence[str]) -> str | None:
    """The key with the contents of the headers; None if one cannot be read."""
    try:
        contents = [part for header in headers for part in (header, _hash_file(header))]
    except OSError:
        return None
    return content_key([key, *contents])


def _hash_file(path: str) -> str:
    seen = Path(path).stat()
    return _hash_version(path, seen.st_mtime_ns, seen.st_size, seen.st_ino)


@lru_cache(maxsize=10_000)
def _hash_version(path: str, _modified: int, _size: int, _number: int) -> str:
    """The hash of a file's content, read once for each version of it."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
