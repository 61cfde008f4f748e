"""A Python function that is loaded, bound to operand sets."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from gemmbench.backends.cuda.functions.arguments import DeviceArray, GemmProblem
from gemmbench.backends.cuda.functions.frameworks import make_current, release_memory
from gemmbench.backends.cuda.functions.memory_watch import MemoryWatch
from gemmbench.backends.cuda.functions.module import explain_errors, forget_module, load_function
from gemmbench.backends.cuda.launching.kernel import Addresses
from gemmbench.backends.cuda.launching.window import Calls
from gemmbench.errors import LaunchError, OutOfMemory
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Plan


@dataclass(frozen=True)
class Findings:
    """What the first calls of a function have shown.

    `kernels` is how many it queues, `no_graph` why its calls cannot be recorded as a CUDA graph, or "".
    If it `waits` for the device before it returns, it cannot be queued behind a gate.
    """

    kernels: int = 1
    no_graph: str = ""
    waits: bool = False


class PythonFunction:
    """The `gemm` of a variant, which launches on the stream with this handle of GPU number `device`.

    `memory` watches what its calls keep. `findings` are None until its first calls were examined.
    """

    errors: tuple[type[Exception], ...] = ()

    def __init__(self, variant: Variant, stream: int, device: int, memory: MemoryWatch):
        """Load the module. Raises LaunchError, NotOffered for a missing package, OutOfMemory."""
        self.variant, self._stream, self._device = variant, stream, device
        self._gemm = load_function(variant)
        self._memory = memory
        self.findings: Findings | None = None
        weakref.finalize(self, release_memory).atexit = False

    def calls(self, plan: Plan, addresses: Addresses, biases: Sequence[int] = (), workspace: int = 0) -> Calls:
        """Fix the arguments of a call on each operand set; a function adds no bias and has no workspace."""
        problem, params = GemmProblem.of(plan.problem), dict(plan.config.values)

        def bound(at: tuple[int, int, int]) -> partial[None]:
            arrays = [self._find_array(plan, name, address) for name, address in zip("ABC", at, strict=True)]
            return partial(self._call, partial(self._gemm, problem, *arrays, self._stream, **params))

        return Calls(tuple(map(bound, addresses)), f"gemm of {self.variant.path}", keep=self)

    @contextmanager
    def watch_memory(self) -> Iterator[None]:
        """Watch the calls inside the block, as MemoryWatch; what a function that leaks keeps is let go of."""
        try:
            with self._memory.watch():
                yield
        except LaunchError:
            forget_module(self.variant)
            raise

    def _find_array(self, plan: Plan, operand: str, address: int) -> DeviceArray:
        problem = plan.problem
        return DeviceArray.at(address, problem.shape(operand), problem.storage(operand), self._device)

    def _call(self, gemm: Callable[[], object]) -> None:
        try:
            with explain_errors(self.variant):
                make_current(self._stream, self._device)
                gemm()
        except OutOfMemory:
            forget_module(self.variant)
            raise
