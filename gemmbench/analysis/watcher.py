"""NVIDIA's tools that watch a program (ncu, compute-sanitizer): where they are, and how they are
run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gemmbench.analysis import time_limit
from gemmbench.analysis.toolkit import find_tool
from gemmbench.errors import BuildTimeout, DeviceError

_NSIGHT = Path("/opt/nvidia/nsight-compute")
# Variables that the child inherits; the others set options of the parent.
_INHERITED = ("GEMMBENCH_CACHE_DIR",)


@dataclass(frozen=True)
class ToolRun:
    """How a program ended: its exit code (None: ended by the time limit) and its output."""

    code: int | None
    out: str
    err: str

    @property
    def last_words(self) -> str:
        """Its last line, on stderr if there is one."""
        lines = [line.strip() for line in (self.err if self.err.strip() else self.out).splitlines()]
        return next((line for line in reversed(lines) if line), "it printed nothing")


def find_watcher(name: str) -> str:
    """Path of `ncu` or `compute-sanitizer`: PATH, the toolkits, Nsight Compute's own folder.

    Raises DeviceError.
    """
    folders = map(str, sorted(_NSIGHT.glob("*"), reverse=True))
    if found := find_tool(name, os.pathsep.join(folders)):
        return found
    raise DeviceError(f"no {name} found: it comes with the CUDA toolkit; install it, or add its folder to PATH")


def gemmbench_command(*arguments: str) -> list[str]:
    """The command line of this program, in a process of its own."""
    return [sys.executable, "-m", "gemmbench", *arguments]


def run_watcher(command: Sequence[str], limit: float, variables: Mapping[str, str] | None = None) -> ToolRun:
    """Run a tool and the program under it; both end after `limit` seconds or with Ctrl-C.

    `variables` are added to the environment, from which the options of this program are removed.
    """
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("GEMMBENCH_") or name in _INHERITED
    }
    try:
        done = time_limit.run_limited(command, limit, environment={**kept, **(variables or {})})
    except BuildTimeout:
        return ToolRun(None, "", "")
    return ToolRun(done.returncode, done.stdout, done.stderr)
