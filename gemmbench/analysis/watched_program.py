"""NVIDIA's tools that watch a program: where they lie, and one run of one within a time limit."""

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
# What a child may inherit; any other variable of ours is an option that was meant for the parent.
_INHERITED = ("GEMMBENCH_CACHE_DIR",)


@dataclass(frozen=True)
class ToolRun:
    """How a program ended: its exit code, None if the time limit ended it, and what it said."""

    code: int | None
    out: str
    err: str

    @property
    def last_words(self) -> str:
        """The last line it said, on stderr if there is one."""
        lines = [line.strip() for line in (self.err if self.err.strip() else self.out).splitlines()]
        return next((line for line in reversed(lines) if line), "nothing was said")


def find_watcher(name: str) -> str:
    """Path of `ncu` or `compute-sanitizer`: PATH, the toolkits, Nsight Compute's own folder. Raises DeviceError."""
    own = map(str, sorted(_NSIGHT.glob("*"), reverse=True))
    if found := find_tool(name, beside=os.pathsep.join(own)):
        return found
    raise DeviceError(f"no {name} found: it comes with the CUDA toolkit; install it, or put its folder on the PATH")


def gemmbench_command(*arguments: str) -> list[str]:
    """The command line of this program, in a process of its own."""
    return [sys.executable, "-m", "gemmbench", *arguments]


def run_watcher(command: Sequence[str], limit: float, variables: Mapping[str, str] | None = None) -> ToolRun:
    """Run a tool and the program under it, both ended after `limit` seconds or by Ctrl-C.

    `variables` are added to the environment, less the options of this program that stand there.
    """
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("GEMMBENCH_") or name in _INHERITED
    }
    try:
        done = time_limit.run_limited(command, limit, environment={**kept, **(variables or {})})
    except BuildTimeout:
        return ToolRun(None, "", "")
    return ToolRun(done.returncode, done.stdout, done.stderr)
