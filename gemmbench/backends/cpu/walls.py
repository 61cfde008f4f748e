"""What the process of a kernel cannot reach: namespaces, files (Landlock), the environment and limits."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

ENVIRONMENT = {"LC_ALL": "C"}
"""All that a kernel's process sees of the environment."""

_NAMESPACES = ("--user", "--net", "--ipc", "--pid", "--fork", "--kill-child")
_PROBE_LIMIT = 5.0
_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/nix/store", "/etc/ld.so.cache", "/dev/null")
"""Where a program and its loader find libraries: read and executed, never written."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_EXECUTE, _READ_FILE, _READ_DIR, _WRITE_FILE = 1 << 0, 1 << 2, 1 << 3, 1 << 1
_ALL_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_NO_NEW_PRIVILEGES = 38

_LIBC = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64),)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


@lru_cache
def find_namespaces() -> tuple[str, ...]:
    """The command that starts a program in namespaces of its own; empty where the system allows none."""
    program = shutil.which("unshare", path="/usr/bin:/bin:/usr/sbin:/sbin")
    if program is None:
        return ()
    command = (program, *_NAMESPACES)
    try:
        done = subprocess.run([*command, "true"], capture_output=True, timeout=_PROBE_LIMIT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return () if done.returncode else command


@lru_cache
def landlock_version() -> int:
    """The ABI of Landlock; 0 where the system has none."""
    return max(0, int(_LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION_FLAG))))


def restrict_files(readable: Sequence[Path | str]) -> Callable[[], None]:
    """A function that leaves its process the system's libraries and `readable`, and limits it; for after a fork.

    All that can fail or allocates is done here, in the parent.
    """
    rules = _make_ruleset((*_SYSTEM, *readable)) if landlock_version() else -1
    limits = ((resource.RLIMIT_CORE, (0, 0)), (resource.RLIMIT_FSIZE, (0, 0)))

    def apply() -> None:
        for which, values in limits:
            resource.setrlimit(which, values)
        if rules >= 0:
            _LIBC.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
            if _LIBC.syscall(_RESTRICT_SELF, rules, 0):
                os._exit(126)

    return apply


@lru_cache(maxsize=64)
def _make_ruleset(readable: tuple[Path | str, ...]) -> int:
    """The descriptor of a ruleset, kept open and not inherited; -1 if the system refuses it."""
    handled = _ALL_BY_ABI[min(landlock_version(), max(_ALL_BY_ABI))]
    attributes = _Ruleset(handled)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    rules = int(_LIBC.syscall(_CREATE_RULESET, ctypes.byref(attributes), size, ctypes.c_uint(0)))
    for name in readable if rules >= 0 else ():
        try:
            place = os.open(name, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # not on this system
        allowed = _EXECUTE | _READ_FILE | (_READ_DIR if Path(name).is_dir() else 0)
        if name == "/dev/null":
            allowed = _READ_FILE | _WRITE_FILE
        rule = _PathBeneath(allowed, place)
        _LIBC.syscall(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(rule), 0)
        os.close(place)
    return rules
