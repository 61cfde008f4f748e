"""Runs Python functions on a private stream. Makes their first calls, which compile them, and times their windows."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gemmbench.backends.base import OVERLAP_UNKNOWN, Rotation, Window
from gemmbench.backends.cuda.driver import load_driver, translate_errors
from gemmbench.backends.cuda.gate import QUEUE, Clock, Gate
from gemmbench.backends.cuda.graphs import count_nodes, find_overlap, record_graphs, record_turns
from gemmbench.backends.cuda.python_functions import (
    DEFAULT,
    BoundFunction,
    Findings,
    MemoryWatch,
    PythonFunction,
    SetupLane,
    has_private_memory,
    private_memory,
)
from gemmbench.backends.cuda.python_modules import watch_shared_code
from gemmbench.backends.cuda.returned_arrays import NAN_BYTE, ReturnedArrays
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
    """Makes the first calls of a function on `stream`, which `gate` holds. Without a gate, fewer faults are found.

    `side` is a stream that waits for no other, for copies while the gate is closed.
    """

    stream: Any
    gate: Gate | None
    side: Any

    def examine(self, function: PythonFunction, calls: Calls, at: int, nbytes: int) -> Findings:
        """Call the function several times, with C at address `at`. Raises PlanError for forbidden behaviour."""
        call, bound = calls.queue[0], calls.function
        self.run(call)
        started = time.perf_counter()
        self.run(call)
        seconds = time.perf_counter() - started
        bound.finish(recorded=False)
        self._find_leak(function, call, seconds)
        if self._waits(function, call, bound, at, nbytes, seconds):
            reason = (
                "waits for the GPU before it returns, so it is timed without a graph, and its times include host time"
            )
            return Findings(_UNKNOWN_KERNELS, reason, waits=True)  # waiting means that products cannot overlap
        if why := _why_not_recorded(function):
            return Findings(_UNKNOWN_KERNELS, why, overlap=OVERLAP_UNKNOWN)
        return self._record(call, bound)

    def run(self, call: Call) -> None:
        """Make one call and wait for it. The first call compiles."""
        synchronize = load_driver().Context.synchronize
        synchronize()  # the stream does not wait for copies of operands
        call()
        synchronize()  # the function may launch on the default stream

    def _find_leak(self, function: PythonFunction, call: Call, seconds: float) -> None:
        """Call the function a few times. Raises LaunchError if free memory shrinks each time."""
        for number in range(_LEAK_TESTS):
            if number * _CALLS_PER_TEST * seconds > _LEAK_SECONDS:
                break
            with function.watch_memory():
                for _ in range(_CALLS_PER_TEST):
                    self.run(call)

    def _waits(
        self, function: PythonFunction, call: Call, bound: BoundFunction, at: int, nbytes: int, seconds: float
    ) -> bool:
        """Find out, with a call behind a closed gate, whether calls wait for the GPU before they return.

        Raises LaunchError if C changes while the gate is closed, because the launch was then on another stream.
        """
        if self.gate is None:
            return False
        if bound.returned is not None:
            return self._returns_late(function, call, bound.returned, seconds)
        with pattern_in(at, nbytes, self.side) as holds_pattern, _held(self.gate, self.stream):
            call()
            if self.gate.expired:
                return True
            time.sleep(min(max(_LEAST_WAIT, 2 * seconds), _MOST_WAIT))
            intact = holds_pattern()
            if not intact and not self.gate.expired:
                raise LaunchError(
                    f"launched on another stream: C changed while the stream passed to it was held; {_advise(function)}"
                )
        return False

    def _returns_late(self, function: PythonFunction, call: Call, returned: ReturnedArrays, seconds: float) -> bool:
        """Find out whether calls that return their result wait for the GPU.

        When a call has returned behind the closed gate, a pattern is written to its result. Work on the stream comes
        later and replaces the pattern. Raises LaunchError if the pattern stays, because other work made the result.
        """
        assert self.gate is not None, "it is closed here"
        synchronize = load_driver().Context.synchronize
        returned.prepare(1)
        synchronize()
        with ExitStack() as restored:
            with _held(self.gate, self.stream):
                call()
                if self.gate.expired:
                    return True
                time.sleep(min(max(_LEAST_WAIT, 2 * seconds), _MOST_WAIT))
                at, nbytes = returned.find_last(), returned.nbytes
                was_computed = not _holds_nan(at, nbytes, self.side)
                holds_pattern = restored.enter_context(pattern_in(at, nbytes, self.side))
            synchronize()
            if holds_pattern() and not self.gate.expired:
                raise LaunchError(
                    f"launched on another stream: its result was there while the stream was held; {_advise(function)}"
                    if was_computed
                    else "computed nothing: it returned an earlier result, or memory that it did not write; "
                    f"compute the result in each call ({function.variant.path})"
                )
        return False

    def _record(self, call: Call, bound: BoundFunction) -> Findings:
        """Try to record a call as a graph and count the kernels that it queues."""
        try:
            with private_memory():
                try:
                    self.run(call)
                    kernels = min(max(1, count_nodes(call, self.stream)), QUEUE)
                    return Findings(kernels, overlap=find_overlap(call, self.stream))
                finally:
                    bound.release()
        except DeviceLost:
            raise
        except PlanError as fault:
            with suppress(LaunchError):  # PyTorch reports a recording error a second time
                self.run(call)
            self.run(call)
            reason = f"cannot be recorded as a CUDA graph: {fault}"
            return Findings(_UNKNOWN_KERNELS, reason, overlap=OVERLAP_UNKNOWN)


def _advise(function: PythonFunction) -> str:
    """Say on which stream a function has to launch."""
    if function.stream == DEFAULT:
        return f"launch on the default stream, as `stream: default` declares ({function.variant.path})"
    advice = "launch on `stream`, or on the current stream of PyTorch or CuPy, or declare `stream: default`"
    return f"{advice} ({function.variant.path})"


def _why_not_recorded(function: PythonFunction) -> str:
    """Return why calls of a function are not recorded as a CUDA graph, as its manifest shows; "" if they may be."""
    if function.variant.python.default_stream:
        return "launches on the default stream, which cannot be recorded as a CUDA graph"
    if function.variant.python.setup:
        return "prepares B before launches, which would not reach a CUDA graph recorded earlier"
    if function.variant.python.returns and not has_private_memory(function.variant.python.library):
        return "returns memory that may be used again, which is not safe in a CUDA graph; PyTorch 2.5 keeps it apart"
    return ""


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
def pattern_in(at: int, nbytes: int, stream: Any) -> Iterator[Callable[[], bool]]:
    """Write a pattern to parts of an array, yield a function that tests it, and restore the parts at the end.

    All copies run on `stream`.
    """
    before = {start: _read(start, size, stream) for start, size in _list_samples(at, nbytes)}

    def holds_pattern() -> bool:
        return all((_read(start, len(there), stream) == _PATTERN).all() for start, there in before.items())

    try:
        for start, there in before.items():
            _write(start, np.full_like(there, _PATTERN), stream)
        yield holds_pattern
    finally:
        for start, there in before.items():
            _write(start, there, stream)


def _list_samples(at: int, nbytes: int) -> list[tuple[int, int]]:
    """Return the addresses and sizes of the start, the middle and the end of an array, which may overlap."""
    size = min(nbytes, _SAMPLE)
    return [(at + offset, size) for offset in sorted({0, (nbytes - size) // 2, nbytes - size})]


def _holds_nan(at: int, nbytes: int, stream: Any) -> bool:
    """Return whether every byte of an array's samples is that of NaN."""
    return all((_read(start, size, stream) == NAN_BYTE).all() for start, size in _list_samples(at, nbytes))


def _read(start: int, size: int, stream: Any) -> np.ndarray:
    found = np.empty(size, np.uint8)
    load_driver().memcpy_dtoh_async(found, start, stream)
    stream.synchronize()
    return found


def _write(start: int, array: np.ndarray, stream: Any) -> None:
    load_driver().memcpy_htod_async(start, array, stream)
    stream.synchronize()


BLOCKING, NON_BLOCKING = 0, 1
"""CU_STREAM_DEFAULT, for a stream that waits for the default stream and vice versa, and CU_STREAM_NON_BLOCKING."""


@dataclass(frozen=True)
class FunctionLane:
    """A stream for Python functions on GPU number `device`, with its clock and gate.

    Functions that launch on the default stream need a stream that waits for that one and that it waits for. `side` is
    one that waits for neither. `is_shared` returns whether another process is using the GPU. `flush` empties the L2
    cache. `checksums` adds up the bytes between pairs of addresses.
    """

    stream: Any
    clock: Clock
    gate: Gate | None
    side: Any
    device: int
    is_shared: Callable[[], bool]
    flush: Callable[[], None]
    checksums: Callable[[Sequence[tuple[int, int]]], list[int]]

    def load(self, variant: Variant, stream: Any = None) -> PythonFunction:
        """Load a function for this lane's stream or for `stream`. Raises PlanError."""
        memory = MemoryWatch(variant.path, _read_free_memory, self.is_shared)
        handle = DEFAULT if variant.python.default_stream else (stream or self.stream).handle
        return PythonFunction(variant, handle, self.device, memory)

    def prepare(self, calls: Calls, launches: int) -> None:
        """Make a function ready for its next launches. Raises PlanError and pycuda's errors."""
        bound, lane = calls.function, SetupLane(self.checksums, partial(pattern_in, stream=self.side))
        bound.prepare(lane, launches * bound.count // len(calls.queue))

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
        examiner = Examiner(self.stream, self.gate, self.side)
        load_driver().Context.synchronize()
        with watch_shared_code(function.variant):
            self.prepare(calls, 1)
            if function.findings is None:
                function.findings = examiner.examine(function, calls, *result)
            elif not known:
                examiner.run(calls.queue[0])
        findings = function.findings
        calls = replace(calls, kernels=findings.kernels, no_graph=findings.no_graph, overlap=findings.overlap)
        if graph or turns:
            calls = self._record(calls, turns)
        gate = None if findings.waits else self.gate
        return FunctionTimer(calls, self, gate, rotation, function)

    def _record(self, calls: Calls, turns: int) -> Calls:
        if calls.no_graph:
            raise NotOffered(calls.no_graph)
        load_driver().Context.synchronize()
        with private_memory() as pools:
            recorded = record_turns(calls, self.stream, turns) if turns else record_graphs(calls, self.stream)
            if calls.function.returned is not None:
                calls.function.returned.keep_for_graph(pools)
        return replace(recorded, keep=(recorded.keep, pools))


class FunctionTimer(WindowTimer):
    """Times a function whose first calls have been made."""

    def __init__(
        self, calls: Calls, lane: FunctionLane, gate: Gate | None, rotation: Rotation | None, function: PythonFunction
    ):
        errors = (load_driver().Error,)
        super().__init__(calls, errors, lane.stream, lane.clock, gate, rotation, loaded=True, flush=lane.flush)
        self._function, self._lane = function, lane

    @property
    def setup_seconds(self) -> float:
        """See BoundExecutable."""
        return self._function.setup_seconds

    def time(self, launches: int) -> Window:
        """See WindowTimer. Also raises LaunchError for a leak, and for a result that cannot be used."""
        recorded = self._calls.graphs is not None
        with self._watch_calls(0 if recorded else launches, recorded):
            return super().time(launches)

    def time_exactly(self, launches: int) -> Window:
        """See WindowTimer. Also raises LaunchError for a leak, and for a result that cannot be used."""
        with self._watch_calls(launches, recorded=False):
            return super().time_exactly(launches)

    @contextmanager
    def _watch_calls(self, launches: int, recorded: bool) -> Iterator[None]:
        with watch_shared_code(self._function.variant):
            self._prepare(launches)
            with translate_errors(self._errors, self._calls.launch):
                with self._function.watch_memory():
                    yield
                self._calls.function.finish(recorded)

    def time_alone(self) -> float:
        """See WindowTimer."""
        self._prepare(1)
        return super().time_alone()

    def sustain(self, launches: int, watch: Callable[[], None]) -> Generator[Window, None, None]:
        """See WindowTimer."""
        self._prepare(launches)
        yield from super().sustain(launches, watch)

    def profile(self) -> None:
        """See WindowTimer."""
        self._prepare(1)
        super().profile()

    def _prepare(self, launches: int) -> None:
        """Wait until operands are written, and make the function ready."""
        with translate_errors(self._errors, self._calls.launch):
            load_driver().Context.synchronize()
            self._lane.prepare(self._calls, launches)


def _read_free_memory() -> int:
    free, _ = load_driver().mem_get_info()
    return int(free)
