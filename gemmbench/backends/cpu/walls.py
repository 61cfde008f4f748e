"""Walls around kernels and C++ compilers. They block files, network, other processes and environment, and set limits.

A launcher builds the walls and then runs the program. It is a separate program (launcher.cpp), because code between
fork and exec may deadlock in a process with several threads.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from gemmbench.analysis.toolkit import run_limited
from gemmbench.backends.base import Build
from gemmbench.backends.code_cache import content_key, fetch_or_build
from gemmbench.errors import BuildError, DeviceError, name_signal
from gemmbench.planning.sweeps.run_request import TimeLimits

ENVIRONMENT = {"LC_ALL": "C"}
"""The complete environment of a kernel's process."""

KERNEL_MEMORY = 1 << 30
"""Bytes of address space that each process of a kernel may have in addition to the operands."""

NO_WALLS, NO_PROGRAM = 125, 126
"""Exit codes of the launcher if it could not build a wall or could not start the program."""

_SOURCE = Path(__file__).parent / "launcher.cpp"
_PROBE_LIMIT = 10.0
_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/nix/store", "/etc/ld.so.cache")
"""Where a program and its loader find libraries. These folders can be read and executed, but never written."""
REACHABLE = ("files", "network", "processes")
"""What a program without walls can reach: the user's files, the network and the user's processes."""


@dataclass(frozen=True)
class Limits:
    """Limits on bytes of address space, bytes of a written file, and processes; None means no limit.

    The number of processes is limited only in separate namespaces. For root, this also requires permission to map users
    into them.
    """

    memory: int | None = None
    file: int | None = None
    processes: int | None = None


def find_compiler() -> list[str]:
    """Return the command of the C++ compiler: $CXX or else g++, clang++ or c++. Raises DeviceError."""
    if chosen := os.environ.get("CXX"):
        command = shlex.split(chosen)
        if not command or not shutil.which(command[0]):
            raise DeviceError(f"cannot run the C++ compiler {chosen}: no such program; set CXX")
        return command
    for name in ("g++", "clang++", "c++"):
        if shutil.which(name):
            return [name]
    raise DeviceError("the cpu device needs a C++ compiler: apt-get install g++, or set CXX")


def find_launcher(limit: float = TimeLimits.compile) -> str:
    """Return the path of the launcher. If it is not cached, compile it within `limit` seconds.

    Raises BuildError, BuildTimeout, DeviceError.
    """
    compiler = find_compiler()

    def build(path: Path) -> Build:
        # The compiler reads only our own code here, so it needs no walls.
        command = [*compiler, "-std=c++17", "-O1", "-w", str(_SOURCE), "-o", path.name]
        done = run_limited(command, limit, path.parent)
        if done.returncode or not path.is_file():
            raise BuildError(explain_compiler(compiler, done, "the launcher of kernels"))
        return Build()

    return fetch_or_build(_launcher_key(*compiler), ".walls", build).path


@lru_cache
def _launcher_key(*compiler: str) -> str:
    return content_key(["launcher", *compiler, os.uname().machine, _SOURCE.read_text(encoding="utf-8")])


def explain_compiler(compiler: Sequence[str], done: subprocess.CompletedProcess[str], made: str) -> str:
    """Return a compiler's errors or, if it printed none, the reason why it did not make `made`."""
    if done.returncode < 0:
        return f"the C++ compiler was ended by {name_signal(-done.returncode)}, possibly for lack of memory"
    if not done.returncode:
        return f"{shlex.join(compiler)} reported success but did not produce {made}; set CXX"
    if not done.stderr.strip():
        return f"the C++ compiler ended with exit code {done.returncode} and printed nothing"
    return done.stderr.strip()


def map_shared_file(nbytes: int) -> tuple[int, np.ndarray]:
    """Create a file in memory that a kernel can also map. Returns its descriptor and bytes. Raises OSError.

    The kernel cannot change the file's size. If it could truncate the file, SIGBUS would end gemmbench.
    """
    file = os.memfd_create("gemmbench", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.posix_fallocate(file, 0, nbytes)  # without this, running out of memory would be a crash later
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        return file, np.frombuffer(mmap.mmap(file, nbytes), np.uint8)
    except OSError:
        os.close(file)
        raise


def wrap_command(
    command: Sequence[str | Path],
    readable: Iterable[str | Path] = (),
    writable: Iterable[str | Path] = (),
    limits: Limits | None = None,
    limit: float = TimeLimits.compile,
) -> list[str]:
    """Return a command that runs `command` behind all walls that this system supports.

    The program can read only the system's libraries and `readable`, and write only to `writable`. Raises the errors of
    find_launcher.
    """
    launcher, limits = find_launcher(limit), limits or Limits()
    options = [f"parent={os.getpid()}"]
    options += ["spaces"] if has_namespaces(launcher) else []
    if has_landlock(launcher):
        options += ["files", *(f"read={path}" for path in (*_SYSTEM, *readable))]
        options += [f"write={path}" for path in ("/dev/null", *writable)]
    options += [f"memory={limits.memory}"] if limits.memory is not None else []
    options += [f"file={limits.file}"] if limits.file is not None else []
    options += [f"processes={limits.processes}"] if limits.processes is not None and "spaces" in options else []
    return [launcher, *options, "--", *map(str, command)]


@lru_cache
def has_namespaces(launcher: str) -> bool:
    """Return whether this system lets the launcher put a program into separate namespaces."""
    return _try_wall(launcher, "spaces")


@lru_cache
def has_landlock(launcher: str) -> bool:
    """Return whether this system lets the launcher block a program's access to files."""
    return _try_wall(launcher, "files", "read=/")


def _try_wall(launcher: str, *options: str) -> bool:
    done = run_limited([launcher, *options, "--", launcher, "reach", "/", "0"], _PROBE_LIMIT, environment=ENVIRONMENT)
    return done.returncode == 0


def find_reach() -> frozenset[str]:
    """Run a probe behind the walls, and return which of REACHABLE it can reach.

    Raises the errors of find_launcher, and BuildError if the probe does not run.
    """
    launcher = find_launcher()
    with tempfile.NamedTemporaryFile() as file:
        command = wrap_command([launcher, "reach", file.name, str(os.getpid())], [launcher])
        done = run_limited(command, _PROBE_LIMIT, environment=ENVIRONMENT)
    if done.returncode:
        raise BuildError(f"no program can be started behind them: {done.stderr.strip()}")
    return frozenset(done.stdout.split())
