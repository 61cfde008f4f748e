"""Runs a kernel with arguments, grid and block chosen at run time, using one executable and one process per try.

A kernel may read or write anywhere if an argument is wrong. Each try therefore runs in a child process of the
executable, behind the same walls as all kernels. The result is compared with all ways of storing A, B and C.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from gemmbench.backends.cpu import walls
from gemmbench.errors import LaunchError
from gemmbench.planning.drafts.draft import TriedResult

_ZONE = 1 << 16
"""Number of bytes around each operand that must not change."""
_SCRATCH = 1 << 20
_MARGINS = 1 << 28
_PATTERN = 0x5A
SECONDS = 2
"""Time limit of a launch, in seconds."""
_MOST = 0.9
_PATIENCE = 10.0
Shape = tuple[int, int, int]
Storage = tuple[str, str]
"""A layout, and whether C is stored by `row` or by `column`. The usual storage is (nn, row)."""


class TrialProblem:
    """One small problem in memory that a process can map. Operands hold small integers, which are exact in every type.

    `types` holds the types of A, B and C. C initially holds 0.25 or NaN.
    """

    def __init__(self, sizes: Shape, types: dict[str, np.dtype[Any]]):
        M, N, K = self.sizes = sizes
        self.values = dict(zip("MNK", sizes, strict=True))
        random = np.random.default_rng(1)
        limit = 2 if min(each.itemsize for each in types.values()) > 2 else 1
        a, b = (random.integers(-limit, limit + 1, count).astype(np.float64) for count in (M * K, K * N))
        As = {"n": a.reshape(M, K), "t": a.reshape(K, M).T}
        Bs = {"n": b.reshape(K, N), "t": b.reshape(N, K).T}
        self.right: dict[Storage, np.ndarray] = {}
        for x, y in ("nn", "nt", "tn", "tt"):
            product = As[x] @ Bs[y]
            self.right[x + y, "row"], self.right[x + y, "column"] = product.ravel(), product.T.ravel()
        counts, at, self.offsets = {"A": M * K, "B": K * N, "C": M * N}, _ZONE, dict[str, int]()
        for name, count in counts.items():
            self.offsets[name] = at
            at += -(-count * types[name].itemsize // mmap.PAGESIZE) * mmap.PAGESIZE + _ZONE
        self.offsets["scratch"], self.nbytes = at, at + _SCRATCH
        self.file, self._bytes = walls.map_shared_file(self.nbytes)
        self._places = {name: (self.offsets[name], types[name], count) for name, count in counts.items()}
        views = {name: np.frombuffer(self._bytes, kind, n, place) for name, (place, kind, n) in self._places.items()}
        self._bytes[:] = _PATTERN
        self._bytes[at:] = 0
        views["A"][:], views["B"][:] = a, b
        self._c = views["C"]
        self._fresh = self._bytes.copy()
        self.reset()

    def reset(self, c: float = 0.25) -> None:
        """Restore all operands and fill C with this value."""
        self._bytes[:] = self._fresh
        self._c[:] = c
        self._start = c

    def is_written(self) -> bool:
        """Return whether most of C and nothing else has changed. A few elements may stay the same if 0 was added."""
        return self._is_intact() and bool(np.mean(self._c != self._start) > _MOST)

    def find_best_storage(self) -> tuple[float, Storage]:
        """Return the largest fraction of correct elements in C, and the storage of A, B and C that gives it."""
        shares = [(float(np.mean(self._c == right)), key) for key, right in self.right.items()]
        return max(shares, key=lambda each: each[0])

    def copy_result(self, storage: Storage, precision: str) -> TriedResult:
        """Return A, B and C, labelled with this storage. Elements of C that were not written are NaN."""
        a, b = (self._fresh_view(name) for name in "AB")
        c = self._c.copy()
        c[c == self._start] = np.nan
        return TriedResult(self.sizes, a, b, c, precision, *storage, self._is_intact())

    def count_unwritten(self) -> int:
        """Count the elements of C that are unchanged or NaN."""
        return int(((self._c == self._start) | np.isnan(self._c)).sum())

    def _fresh_view(self, name: str) -> np.ndarray:
        at, kind, count = self._places[name]
        return np.frombuffer(self._fresh, kind, count, at)

    def _is_intact(self) -> bool:
        begin, end = self.offsets["C"], self.offsets["C"] + self._c.nbytes
        outside = [slice(0, begin), slice(end, None)]
        return all(np.array_equal(self._bytes[part], self._fresh[part]) for part in outside)

    def find_storages(self, alpha: float = 1.0, beta: float = 0.0) -> list[Storage]:
        """Return the ways of storing A, B and C for which C is right and nothing else has changed."""
        if not self._is_intact():
            return []
        found, added = self._c.astype(np.float64), beta * self._start if beta else 0.0
        return [key for key, right in self.right.items() if np.array_equal(found, alpha * right + added)]

    def close(self) -> None:
        """Free the memory once no process maps it any more."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


@dataclass(frozen=True)
class Trial:
    """One launch to try. `numbers` has one entry for each number or pointer, as described in tryout.h."""

    grid: Shape
    block: Shape
    shared: int
    numbers: tuple[float, ...]
    reversed: bool = False


class Ending(Enum):
    """How a launch ended."""

    COMPLETE, CRASH, TIMEOUT = range(3)


class TrialProcess:
    """An executable that tries launches on one problem. Raises LaunchError."""

    def __init__(self, path: Path, problem: TrialProblem):
        self._problem = problem
        self._replies, theirs = os.pipe()
        limits = walls.Limits(walls.KERNEL_MEMORY + problem.nbytes + _MARGINS, 0, 64)
        arguments: list[str | Path] = [path, str(problem.file), str(problem.nbytes), str(theirs)]
        try:
            self._process = subprocess.Popen(
                walls.wrap_command(arguments, [path], limits=limits),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=walls.ENVIRONMENT,
                cwd="/",
                pass_fds=(problem.file, theirs),
                start_new_session=True,
            )
        except OSError as fault:
            os.close(self._replies)
            raise LaunchError(f"cannot start {path}: {fault.strerror}") from None
        finally:
            os.close(theirs)

    def run(self, trial: Trial) -> Ending:
        """Run a launch and return how it ended. Raises LaunchError if the process has ended."""
        at = self._problem.offsets
        numbers = [*trial.grid, *trial.block, trial.shared, int(trial.reversed), SECONDS, *at.values(), *trial.numbers]
        assert self._process.stdin is not None, "it was opened as a pipe"
        try:
            self._process.stdin.write(f"{' '.join(map(str, numbers))}\n".encode())
            self._process.stdin.flush()
        except OSError:
            raise LaunchError("the process that tries the kernel ended") from None
        reply = int(self._read_reply())
        return Ending.TIMEOUT if reply == -signal.SIGALRM else Ending.CRASH if reply else Ending.COMPLETE

    def _read_reply(self) -> bytes:
        reply, deadline = b"", time.monotonic() + _PATIENCE
        while not reply.endswith(b"\n"):
            ready, _, _ = select.select([self._replies], [], [], max(0.0, deadline - time.monotonic()))
            more = os.read(self._replies, 64) if ready else b""
            if not more:
                raise LaunchError("the process that tries the kernel does not answer")
            reply += more
        return reply

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        os.close(self._replies)


def write_arguments(fields: Sequence[Sequence[str]]) -> str:
    """Write the arguments of the call.

    `fields` holds the field names of each parameter, or [""] if it is not a structure.
    """
    parts, number = [], 0
    for names in fields:
        values = [f"gb::Any{{a, {number + place}}}" for place in range(len(names))]
        number += len(names)
        sets = " ".join(f"s.{name} = {value};" for name, value in zip(names, values, strict=True))
        parts.append(f"gb::Structure{{[&](auto& s) {{ {sets} }}}}" if names[0] else values[0])
    return ", ".join(parts)
