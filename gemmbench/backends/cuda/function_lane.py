"""Runs Python functions on a private stream. Makes their first calls, which compile them, and times their windows."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gemmbench.backends.base import OVERLAP_UNKNOWN, Rotation, Window
from gemmbench.backends.cuda.driver import load_driver, translate_errors
from gemmbench.backends.cuda.gate import QUEUE, Clock, Gate
from gemmbench.backends.cuda.graphs import count_nodes, find_overlap, record_graphs, record_turns
from gemmbench.backends.cuda.python_functions import Findings, MemoryWatch, PythonFunction, private_memory
from gemmbench.backends.cuda.window import Calls, WindowTimer
from gemmbench.errors import DeviceLost, LaunchError, NotOffered, PlanError
from gemmbench.planning.manifests.variant import Variant

Call = Callable[[], object]
"""Queues one launch."""

_LEAK_TESTS, _CALLS_PER_TEST, _LEAK_SECONDS = 6, 4, 1.0
_PATTERN = 0x5A
_SAMPLE = 64 << 10  # bytes of C at its start, middle and end
_LEAST_WAIT, _MOST_WAIT = 0.005, 0.3  # seconds; the gate opens by itself after one second
_UNKNOWN_KERNELS = 16  # used if kernels cannot be counted; at least the number that a call queues


@dataclass(frozen=True)
class Examiner:
    """Makes the first calls of a function on `stream`, which `gate` holds. Without a gate, fewer faults are found."""

    stream: Any
    gate: Gate | None

    def examine(self, function: PythonFunction, call: Call, at: int, nbytes: int) -> Findings:
        """Call the function several times, with C at address `at`. Raises PlanError for forbidden behaviour."""
        self.run(call)
        started = time.perf_counter()
        self.run(call)
        seconds = time.perf_counter() - started
        self._find_leak(function, call, seconds)
        if self._waits(function, call, at, nbytes, seconds):
            reason = (
                "waits for the GPU before it returns, so it is timed without a graph, and its times include host time"
            )
            return Findings(_UNKNOWN_KERNELS, reason, waits=True)  # waiting means that products cannot overlap
        return self._record(call)

    def run(self, call: Call) -> None:
        """Make one call and wait for it. The first call compiles."""
        load_driver().Context.synchronize()  # the stream does not wait for copies of operands
        call()
        self.stream.synchronize()

    def _find_leak(self, function: PythonFunction, call: Call, seconds: float) -> None:
        """Call the function a few times. Raises LaunchError if free memory shrinks each time."""
        for number in range(_LEAK_TESTS):
            if number * _CALLS_PER_TEST * seconds > _LEAK_SECONDS:
                break
            with function.watch_memory():
                for _ in range(_CALLS_PER_TEST):
                    self.run(call)

    def _waits(self, function: PythonFunction, call: Call, at: int, nbytes: int, seconds: float) -> bool:
        """Find out, with a call behind a closed gate, whether calls wait for the GPU before they return.

        Raises LaunchError if C changes while the gate is closed, because the launch was then on another stream.
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
                    "launched on another stream: C changed while the stream passed to it was held; launch on "
                    f"`stream`, or on the current stream of PyTorch or CuPy ({function.variant.path})"
                )
        return False

    def _record(self, call: Call) -> Findings:
        """Try to record a call as a graph and count the kernels that it queues."""
        try:
            with private_memory():
                self.run(call)
                kernels = min(max(1, count_nodes(call, self.stream)), QUEUE)
                return Findings(kernels, overlap=find_overlap(call, self.stream))
        except DeviceLost:
            raise
        except PlanError as fault:
            with suppress(LaunchError):  # PyTorch reports a recording error a second time
                self.run(call)
            self.run(call)
            reason = f"cannot be recorded as a CUDA graph: {fault}"
            return Findings(_UNKNOWN_KERNELS, reason, overlap=OVERLAP_UNKNOWN)


@contextmanager
def _held(gate: Gate, stream: Any) -> Iterator[None]:
    """Hold the stream during the `with` block, and wait for it afterwards."""
    gate.close()
    try:
        yield
    finally:
        gate.open()
        stream.synchronize()


@contextmanager
def _pattern_in(at: int, nbytes: int) -> Iterator[Callable[[], bool]]:
    """Write a pattern to parts of an array, yield a function that tests it, and restore the parts at the end."""
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


NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING


@dataclass(frozen=True)
class FunctionLane:
    """A stream for Python functions on GPU number `device`, with its clock and gate.

    `is_shared` returns whether another process is using the GPU. `flush` empties the L2 cache.
    """

    stream: Any
    clock: Clock
    gate: Gate | None
    device: int
    is_shared: Callable[[], bool]
    flush: Callable[[], None]

    def load(self, variant: Variant, stream: Any = None) -> PythonFunction:
        """Load a function for this lane's stream or for `stream`. Raises PlanError."""
        memory = MemoryWatch(variant.path, _read_free_memory, self.is_shared)
        return PythonFunction(variant, (stream or self.stream).handle, self.device, memory)

    def bind(
        self,
        function: PythonFunction,
        calls: Calls,
        result: tuple[int, int],
        known: bool,
        graph: bool,
        turns: int,
        rotation: Rotation | None,
    ) -> FunctionTimer:
        """Make the first calls, unless the plan is `known`, and record graphs.

        `result` is the address of C and its size in bytes. Other arguments have the same meaning as in Backend.bind.
        Raises PlanError and pycuda's errors.
        """
        examiner = Examiner(self.stream, self.gate)
        if function.findings is None:
            function.findings = examiner.examine(function, calls.queue[0], *result)
        elif not known:
            examiner.run(calls.queue[0])
        findings = function.findings
        calls = replace(calls, kernels=findings.kernels, no_graph=findings.no_graph, overlap=findings.overlap)
        if graph or turns:
            calls = self._record(calls, turns)
        gate = None if findings.waits else self.gate
        return FunctionTimer(calls, self.stream, self.clock, gate, rotation, function, self.flush)

    def _record(self, calls: Calls, turns: int) -> Calls:
        if calls.no_graph:
            raise NotOffered(calls.no_graph)
        load_driver().Context.synchronize()
        with private_memory() as pools:
            recorded = record_turns(calls, self.stream, turns) if turns else record_graphs(calls, self.stream)
        return replace(recorded, keep=(recorded.keep, pools))


class FunctionTimer(WindowTimer):
    """Times a function whose first calls have been made."""

    def __init__(
        self,
        calls: Calls,
        stream: Any,
        clock: Clock,
        gate: Gate | None,
        rotation: Rotation | None,
        function: PythonFunction,
        flush: Callable[[], None],
    ):
        errors = (load_driver().Error,)
        super().__init__(calls, errors, stream, clock, gate, rotation, loaded=True, flush=flush)
        self._function = function

    def time(self, launches: int) -> Window:
        """See WindowTimer. Also raises LaunchError for a leak."""
        with self._watch_calls():
            return super().time(launches)

    def time_exactly(self, launches: int) -> Window:
        """See WindowTimer. Also raises LaunchError for a leak."""
        with self._watch_calls():
            return super().time_exactly(launches)

    @contextmanager
    def _watch_calls(self) -> Iterator[None]:
        with translate_errors(self._errors, self._calls.launch):
            load_driver().Context.synchronize()
            with self._function.watch_memory():
                yield

    def sustain(self, launches: int, watch: Callable[[], None]) -> Generator[Window, None, None]:
        """See WindowTimer."""
        self._wait_for_operands()
        yield from super().sustain(launches, watch)

    def profile(self) -> None:
        """See WindowTimer."""
        self._wait_for_operands()
        super().profile()

    def _wait_for_operands(self) -> None:
        with translate_errors(self._errors, self._calls.launch):
            load_driver().Context.synchronize()


def _read_free_memory() -> int:
    free, _ = load_driver().mem_get_info()
    return int(free)
