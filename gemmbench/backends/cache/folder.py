"""Where the cache is, and whether only this user can write to it: its files are executed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from platformdirs import user_cache_path

from gemmbench.errors import DeviceError

_PRIVATE = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NEXT = "name another folder in GEMMBENCH_CACHE_DIR"


def cache_folder() -> Path:
    """The cache folder: $GEMMBENCH_CACHE_DIR, else the user's cache folder."""
    if chosen := os.environ.get("GEMMBENCH_CACHE_DIR"):
        return Path(chosen)
    return user_cache_path("gemmbench")


def make_cache_folder() -> Path:
    """The cache folder, made if it is missing. Raises DeviceError if it cannot be made or is not safe."""
    home = cache_folder()
    try:
        home.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    except OSError as fault:
        raise explain_unwritable(home, fault) from None
    refuse_unsafe(home)
    return home


def refuse_unsafe(home: Path) -> None:
    """Raise DeviceError if another user could put code into the folder, which this one would then run."""
    try:
        known = home.stat()
    except OSError:  # there is nothing in it to run
        return
    if known.st_uid != os.geteuid():
        raise DeviceError(f"the cache {home} belongs to another user, who could have put any code into it; {_NEXT}")
    if known.st_mode & _OTHERS_WRITE:
        who = "everyone" if known.st_mode & stat.S_IWOTH else "its group"
        raise DeviceError(
            f"the cache {home} is writable by {who}, who could put any code into it; chmod go-w {home}, or {_NEXT}"
        )


def explain_unwritable(home: Path, fault: OSError) -> DeviceError:
    """The error of a cache to which nothing can be written."""
    return DeviceError(f"cannot write compiled code to {home}: {fault.strerror}; {_NEXT}")
