"""The first calls of a Python function: they compile it, and show what it does besides launching."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from gemmbench.backends.cuda.functions.frameworks import private_memory
from gemmbench.backends.cuda.functions.function import Findings, PythonFunction
from gemmbench.backends.cuda.launching.gate import QUEUE, Gate
from gemmbench.backends.cuda.launching.graphs import count_nodes
from gemmbench.backends.cuda.system.driver import load_driver
from gemmbench.errors import DeviceLost, LaunchError, PlanError

Call = Callable[[], object]
"""Queues one launch."""

_LEAK_TESTS, _CALLS_PER_TEST, _LEAK_SECONDS = 6, 4, 1.0
_PATTERN = 0x5A
_SAMPLE = 64 << 10  # bytes of C at its start, in its middle and at its end
_LEAST_WAIT, _MOST_WAIT = 0.005, 0.3  # seconds; the gate opens by itself after one
_UNKNOWN_KERNELS = 16  # where they cannot be counted; at least as many as a call queues


@dataclass(frozen=True)
class Examiner:
    """Makes the first calls of a function on `stream`, which `gate` holds; without a gate less is found."""

    stream: Any
    gate: Gate | None

    def examine(self, function: PythonFunction, call: Call, at: int, nbytes: int) -> Findings:
        """Call the function several times; its C lies `at` this address. Raises PlanError for what is forbidden."""
        self.run(call)
        started = time.perf_counter()
        self.run(call)
        seconds = time.perf_counter() - started
        self._find_leak(function, call, seconds)
        if self._waits(function, call, at, nbytes, seconds):
            reason = "waits for the GPU before it returns, so it is timed without a graph, and host time is included"
            return Findings(_UNKNOWN_KERNELS, reason, waits=True)
        return self._record(call)

    def run(self, call: Call) -> None:
        """Make one call and wait for it; the first one compiles."""
        load_driver().Context.synchronize()  # the stream does not wait for the copies of operands
        call()
        self.stream.synchronize()

    def _find_leak(self, function: PythonFunction, call: Call, seconds: float) -> None:
        """Call it a few times. Raises LaunchError if the free memory shrinks each time."""
        for number in range(_LEAK_TESTS):
            if number * _CALLS_PER_TEST * seconds > _LEAK_SECONDS:
                break
            with function.watch_memory():
                for _ in range(_CALLS_PER_TEST):
                    self.run(call)

    def _waits(self, function: PythonFunction, call: Call, at: int, nbytes: int, seconds: float) -> bool:
        """Whether a call returns only when the GPU has done its work, by a call behind a closed gate.

        Raises LaunchError if C changes meanwhile: then the launch was not on the stream.
        """
        if self.gate is None:
            return False
        with _pattern_in(at, nbytes) as holds_pattern, _held(self.gate, self.stream):
            call()
            if self.gate.expired:
                return True
            time.sleep(min(max(_LEAST_WAIT, 2 * seconds), _MOST_WAIT))
            intact = holds_pattern()
            if not intact and not self.gate.expired:
                raise LaunchError(
                    "launched on another stream: C changed while the stream that it was given was held; "
                    f"launch on `stream`, or on the current stream of PyTorch or CuPy ({function.variant.path})"
                )
        return False

    def _record(self, call: Call) -> Findings:
        """Try to record a call as a graph, and count what it queues."""
        try:
            with private_memory():
                self.run(call)
                return Findings(min(max(1, count_nodes(call, self.stream)), QUEUE))
        except DeviceLost:
            raise
        except PlanError as fault:
            with suppress(LaunchError):  # PyTorch reports an error of the recording once more
                self.run(call)
            self.run(call)
            return Findings(_UNKNOWN_KERNELS, f"cannot be recorded as a CUDA graph: {fault}")


@contextmanager
def _held(gate: Gate, stream: Any) -> Iterator[None]:
    """Hold the stream inside the block, and wait for it afterwards."""
    gate.close()
    try:
        yield
    finally:
        gate.open()
        stream.synchronize()


@contextmanager
def _pattern_in(at: int, nbytes: int) -> Iterator[Callable[[], bool]]:
    """Write a pattern into parts of an array, and what was there at the end; yields whether it is still there."""
    cuda = load_driver()
    size = min(nbytes, _SAMPLE)
    starts = [at + offset for offset in sorted({0, (nbytes - size) // 2, nbytes - size})]
    before = [cuda.from_device(start, size, np.uint8) for start in starts]
    pattern = np.full(size, _PATTERN, np.uint8)

    def holds_pattern() -> bool:
        return all(np.array_equal(cuda.from_device(start, size, np.uint8), pattern) for start in starts)

    for start in starts:
        cuda.memcpy_htod(start, pattern)
    cuda.Context.synchronize()
    yield holds_pattern
    for start, there in zip(starts, before, strict=True):
        cuda.memcpy_htod(start, there)
