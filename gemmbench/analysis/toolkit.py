"""NVIDIA's tools: finds nvcc, cuobjdump, ncu and compute-sanitizer, and runs tools within a time limit."""

from __future__ import annotations

import os
import re
import resource
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from gemmbench.errors import BuildTimeout, DeviceError

COMPILER_NICENESS = 10
"""The niceness of compilers that run while kernels are measured, so the process that drives the device has priority."""

_MOST_OUTPUT, _CHUNK = 64 << 20, 1 << 16
LOOKUP_LIMIT = 60.0
"""The time limit for a tool that only looks something up, in seconds."""

_running: set[int] = set()
"""The process groups of the commands that are running, in any thread."""


_SECRETS = re.compile(r"GITHUB_|ACTIONS_|.*(TOKEN|SECRET|PASSWORD|KEY)", re.IGNORECASE)


def remove_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Remove variables whose names suggest secrets, for programs that run or read untrusted code."""
    return {name: value for name, value in environment.items() if not _SECRETS.match(name)}


def run_limited(
    command: Sequence[str],
    limit: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    niceness: int = 0,
    largest_file: int | None = None,
    most_output: int = _MOST_OUTPUT,
) -> subprocess.CompletedProcess[str]:
    """Run `command` with this niceness and return its output and exit code.

    The command may not write a file larger than `largest_file` bytes. The first `most_output` bytes of standard output
    and of standard error are kept. Its environment is `environment`, or that of this process, without secrets.

    Raises BuildTimeout after `limit` seconds, and OSError if the command cannot start.
    """
    with subprocess.Popen(
        command,
        cwd=folder,
        env=remove_secrets(os.environ if environment is None else environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        _running.add(process.pid)
        if largest_file is not None:
            with suppress(ProcessLookupError):  # it may have ended
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest_file, largest_file))
        if niceness:
            _renice(process.pid, niceness)
        try:
            out, complaints = _read_output(process, time.monotonic() + limit, most_output)
        except subprocess.TimeoutExpired:
            _kill_group(process.pid)  # a compiler runs its passes as processes of their own
            raise BuildTimeout(f"did not compile within {limit:g} s, the limit for one compilation") from None
        except BaseException:
            _kill_group(process.pid)
            raise
        finally:
            _running.discard(process.pid)
    return subprocess.CompletedProcess(list(command), process.returncode, out, complaints)


def _read_output(process: subprocess.Popen[bytes], deadline: float, most: int) -> tuple[str, str]:
    """Read the output of a process until it ends, and return the start of both streams. The rest is dropped.

    Raises subprocess.TimeoutExpired after the deadline.
    """
    kept = {stream: bytearray() for stream in (process.stdout, process.stderr) if stream}
    with selectors.DefaultSelector() as waiting:
        for stream in kept:
            waiting.register(stream, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(0.0, deadline - time.monotonic()))
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(process.args, 0)
            for stream in (stream for stream in kept if any(key.fileobj is stream for key, _ in ready)):
                more = os.read(stream.fileno(), _CHUNK)
                kept[stream] += more[: most - len(kept[stream])]
                if not more:
                    waiting.unregister(stream)
    process.wait(max(0.0, deadline - time.monotonic()))
    out, complaints = (_read_text(bytes(text)) for text in kept.values())
    return out, complaints


def _read_text(output: bytes) -> str:
    return output.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def kill_running_commands() -> None:
    """Kill every running command in any thread. Each thread sees its command as crashed."""
    for group in tuple(_running):
        _kill_group(group)


def _renice(group: int, niceness: int) -> None:
    with suppress(OSError):  # it may have ended, or be nicer already
        os.setpriority(os.PRIO_PGRP, group, niceness)


def _kill_group(group: int) -> None:
    with suppress(ProcessLookupError):  # it may end meanwhile
        os.killpg(group, signal.SIGKILL)


def find_nvcc() -> str:
    """Find nvcc through $CUDACXX, PATH, /usr/local/cuda* or NVIDIA's wheels. Raises DeviceError."""
    if chosen := os.environ.get("CUDACXX"):
        if found := shutil.which(chosen):
            return found
        raise DeviceError(f"CUDACXX is '{chosen}', which is not an executable")
    if found := find_tool("nvcc"):
        return found
    raise DeviceError("no nvcc found: install the CUDA toolkit, or set CUDACXX to its compiler")


def find_cuobjdump() -> str:
    """Find cuobjdump on PATH, next to nvcc, or in /usr/local/cuda* or NVIDIA's wheels.

    Raises DeviceError.
    """
    try:
        folder = str(Path(find_nvcc()).resolve().parent)
    except DeviceError:
        folder = ""
    if found := find_tool("cuobjdump", folder):
        return found
    raise DeviceError("no cuobjdump found: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm")


def find_nvdisasm() -> str:
    """Find nvdisasm in the same places as cuobjdump. Raises DeviceError."""
    if found := find_tool("nvdisasm", str(Path(find_nvcc()).resolve().parent)):
        return found
    raise DeviceError("no nvdisasm found: pip install nvidia-cuda-nvdisasm")


def find_tool(tool: str, folders: str = "") -> str | None:
    """Find one of NVIDIA's tools on PATH, in `folders`, or in /usr/local/cuda* or NVIDIA's wheels; None if missing."""
    local, wheels = Path("/usr/local"), find_spec("nvidia")
    toolkits = [local / "cuda", *sorted(local.glob("cuda-*"), key=_release_number, reverse=True)]
    searched = [os.environ.get("PATH", ""), folders, *(str(toolkit / "bin") for toolkit in toolkits)]
    for root in (wheels.submodule_search_locations or []) if wheels else []:
        searched += map(str, sorted(Path(root).glob("*/bin"), reverse=True))
    return shutil.which(tool, path=os.pathsep.join(filter(None, searched)))


def _release_number(toolkit: Path) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", toolkit.name)]


@lru_cache
def nvcc_version(nvcc: str) -> str:
    """Return the version of this nvcc, such as `13.0.88`. Raises DeviceError if it does not run."""
    try:
        done = run_limited([nvcc, "--version"], LOOKUP_LIMIT)
    except OSError as fault:
        raise DeviceError(f"{nvcc} does not run: {fault}") from fault
    except BuildTimeout:
        raise DeviceError(f"{nvcc} --version did not finish within {LOOKUP_LIMIT:g} s") from None
    if done.returncode:
        raise DeviceError(f"{nvcc} does not run: {done.stderr.strip() or f'exit code {done.returncode}'}")
    release = re.search(r"\bV(\d+[.\d]*)", done.stdout)
    return release[1] if release else "unknown"


_NSIGHT = Path("/opt/nvidia/nsight-compute")
# Variables that the child inherits; the others set options of the parent.
_INHERITED = ("GEMMBENCH_CACHE_DIR",)


@dataclass(frozen=True)
class ToolRun:
    """How a program ended: its exit code (None if the time limit ended it) and its output."""

    code: int | None
    out: str
    err: str

    @property
    def last_words(self) -> str:
        """The last line of output, from stderr if anything was written there."""
        lines = [line.strip() for line in (self.err if self.err.strip() else self.out).splitlines()]
        return next((line for line in reversed(lines) if line), "it printed nothing")


def find_watcher(name: str) -> str:
    """Find `ncu` or `compute-sanitizer` on PATH, in the toolkits, or in the folder of Nsight Compute.

    Raises DeviceError.
    """
    folders = map(str, sorted(_NSIGHT.glob("*"), reverse=True))
    if found := find_tool(name, os.pathsep.join(folders)):
        return found
    raise DeviceError(f"no {name} found: it comes with the CUDA toolkit; install it, or add its folder to PATH")


def gemmbench_command(*arguments: str) -> list[str]:
    """Return the command line that runs this program in a separate process."""
    return [sys.executable, "-m", "gemmbench", *arguments]


def run_watcher(command: Sequence[str], limit: float, variables: Mapping[str, str] | None = None) -> ToolRun:
    """Run a tool and the program under it. Both end after `limit` seconds or on Ctrl-C.

    `variables` are added to the environment. Variables that set options of this program are removed.
    """
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("GEMMBENCH_") or name in _INHERITED
    }
    try:
        done = run_limited(command, limit, environment={**kept, **(variables or {})})
    except BuildTimeout:
        return ToolRun(None, "", "")
    return ToolRun(done.returncode, done.stdout, done.stderr)
