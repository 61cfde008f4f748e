"""Which processes use the cache now.

Each has a folder of its own in the cache, in which it builds, with a file that it keeps locked until it
ends, however it ends. An artifact is stamped with the time of each use, so whatever was used after the
oldest of these processes began is in use.
"""

from __future__ import annotations

import fcntl
import math
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOCK = "gemmbench.lock"
_PREFIX = "gemmbench-run-"


class CacheUse:
    """That this process uses a cache from now on; `folder` is for what it builds.

    Raises OSError if the cache cannot be written or locked.
    """

    def __init__(self, home: Path):
        with lock_cache(home):
            self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=home))
            self._held = (self.folder / LOCK).open("w")
            fcntl.flock(self._held, fcntl.LOCK_EX)

    def end(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._held.close()


@contextmanager
def lock_cache(home: Path) -> Iterator[None]:
    """Let no other process begin to use the cache, or delete from it, inside the block. Raises OSError."""
    with (home / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def remove_dead_folders(home: Path) -> float:
    """Remove the folders of processes that were killed; the cache must be locked.

    Returns when the oldest process that uses the cache began, in seconds since the epoch; infinity if
    there is none.
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
    """Whether the process of a folder lives; also where that cannot be found out."""
    try:
        with (folder / LOCK).open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _find_start(folder: Path) -> float:
    with suppress(OSError):  # it may end meanwhile
        return (folder / LOCK).stat().st_mtime
    return math.inf
