"""Python functions on a stream of their own, and the timer of their windows.

The stream is non-blocking: what goes to the default stream by mistake does not wait for it, so such a
mistake shows. The copies of operands, which use the default stream, do not wait either; therefore every
window begins and ends with an idle GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any

from gemmbench.backends.base import Rotation, Window
from gemmbench.backends.cuda.failure import translate_errors
from gemmbench.backends.cuda.functions.examination import Examiner
from gemmbench.backends.cuda.functions.frameworks import private_memory
from gemmbench.backends.cuda.functions.function import PythonFunction
from gemmbench.backends.cuda.functions.memory_watch import MemoryWatch
from gemmbench.backends.cuda.launching.clock import Clock
from gemmbench.backends.cuda.launching.gate import Gate
from gemmbench.backends.cuda.launching.graphs import record_graphs, record_turns
from gemmbench.backends.cuda.launching.window import Calls, WindowTimer
from gemmbench.backends.cuda.system.driver import load_driver
from gemmbench.errors import NotOffered
from gemmbench.planning.manifests.variant import Variant

NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING


@dataclass(frozen=True)
class FunctionLane:
    """A stream for Python functions with its clock and its gate, on GPU number `device`.

    `is_shared` says whether another process uses the GPU at this moment.
    """

    stream: Any
    clock: Clock
    gate: Gate | None
    device: int
    is_shared: Callable[[], bool]

    def load(self, variant: Variant, stream: Any = None) -> PythonFunction:
        """Load a function, for this lane's stream unless another is given. Raises PlanError."""
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
        """Make the first calls, unless the plan is `known`, and record graphs; arguments as those of Backend.bind.

        `result` is the address of C and its bytes. Raises PlanError and pycuda's errors.
        """
        examiner = Examiner(self.stream, self.gate)
        if function.findings is None:
            function.findings = examiner.examine(function, calls.queue[0], *result)
        elif not known:
            examiner.run(calls.queue[0])
        findings = function.findings
        calls = replace(calls, kernels=findings.kernels, no_graph=findings.no_graph)
        if graph or turns:
            calls = self._record(calls, turns)
        gate = None if findings.waits else self.gate
        return FunctionTimer(calls, self.stream, self.clock, gate, rotation, function)

    def _record(self, calls: Calls, turns: int) -> Calls:
        if calls.no_graph:
            raise NotOffered(calls.no_graph)
        load_driver().Context.synchronize()
        with private_memory() as pools:
            recorded = record_turns(calls, self.stream, turns) if turns else record_graphs(calls, self.stream)
        return replace(recorded, keep=(recorded.keep, pools))


class FunctionTimer(WindowTimer):
    """Times a function whose first calls are over."""

    def __init__(
        self,
        calls: Calls,
        stream: Any,
        clock: Clock,
        gate: Gate | None,
        rotation: Rotation | None,
        function: PythonFunction,
    ):
        errors = (load_driver().Error,)
        super().__init__(calls, errors, stream, clock, gate, rotation, loaded=True)
        self._function = function

    def time(self, launches: int) -> Window:
        """As WindowTimer; also raises LaunchError for a leak."""
        with translate_errors(self._errors, self._calls.launch):
            load_driver().Context.synchronize()
            with self._function.watch_memory():
                return super().time(launches)

    def sustain(self, launches: int, watch: Callable[[], None]) -> Generator[Window, None, None]:
        """As WindowTimer."""
        self._wait_for_operands()
        yield from super().sustain(launches, watch)

    def profile(self) -> None:
        """As WindowTimer."""
        self._wait_for_operands()
        super().profile()

    def _wait_for_operands(self) -> None:
        with translate_errors(self._errors, self._calls.launch):
            load_driver().Context.synchronize()


def _read_free_memory() -> int:
    free, _ = load_driver().mem_get_info()
    return int(free)
