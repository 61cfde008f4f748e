"""Binds Python functions that launch kernels, and sets the stream and memory of PyTorch and CuPy for them."""

from __future__ import annotations

import math
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from gemmbench.backends.base import OperandSet
from gemmbench.backends.cuda.device_arrays import DeviceArray, GemmProblem
from gemmbench.backends.cuda.driver import load_driver
from gemmbench.backends.cuda.python_calls import ParsedCall, find_function, name_sizes
from gemmbench.backends.cuda.python_modules import explain_errors, forget_module, load_module
from gemmbench.backends.cuda.returned_arrays import NAN_BYTE, InputRange, ReturnedArrays
from gemmbench.backends.cuda.window import Calls
from gemmbench.errors import LaunchError, OutOfMemory
from gemmbench.planning.manifests.python_code import PREPARED
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Config, Plan
from gemmbench.planning.problems import OFFSETS, SCALED, Problem

DEFAULT = 0
"""The handle of the default stream."""


def make_current(stream: int, device: int) -> None:
    """Make a stream of a GPU the current one in PyTorch and CuPy. They queue work on it unless told otherwise.

    Gradients are off, because a result of PyTorch that needs one cannot be exchanged.
    """
    if torch := sys.modules.get("torch"):
        torch.cuda.set_stream(_wrap_for_torch(torch, stream, device))
        torch.set_grad_enabled(False)
    if cupy := sys.modules.get("cupy"):
        _wrap_for_cupy(cupy, stream, device).use()


@lru_cache(maxsize=64)
def _wrap_for_torch(torch: Any, stream: int, device: int) -> Any:
    if stream == DEFAULT:
        return torch.cuda.default_stream(device)
    return torch.cuda.ExternalStream(stream, device=device)


@lru_cache(maxsize=64)
def _wrap_for_cupy(cupy: Any, stream: int, device: int) -> Any:
    return cupy.cuda.Stream.null if stream == DEFAULT else cupy.cuda.ExternalStream(stream, device)


@contextmanager
def private_memory() -> Iterator[object]:
    """Let PyTorch and CuPy allocate from private pools in the `with` block. The yielded object keeps the pools alive.

    A graph keeps the addresses of temporary arrays. In the usual pool, the next call would get the same memory.
    """
    pools: list[object] = []
    with ExitStack() as held:
        torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
        if torch and has_private_memory("torch"):
            pools.append(torch.cuda.MemPool())
            held.enter_context(torch.cuda.use_mem_pool(pools[-1]))
        if cupy:
            pool = cupy.cuda.MemoryPool()
            pools.append(pool)
            held.enter_context(cupy.cuda.using_allocator(pool.malloc))
        yield pools


def has_private_memory(library: str) -> bool:
    """Return whether "torch" or "cupy", which is loaded, can allocate from a private pool."""
    return library != "torch" or hasattr(sys.modules[library].cuda, "use_mem_pool")


def release_memory() -> None:
    """Free the GPU memory that PyTorch and CuPy hold but do not use."""
    if torch := sys.modules.get("torch"):
        with suppress(RuntimeError):  # after a crashed kernel nothing can be freed
            torch.cuda.empty_cache()
    if cupy := sys.modules.get("cupy"):
        with suppress(RuntimeError):
            cupy.get_default_memory_pool().free_all_blocks()


_MOST_RECORDS = 4
"""The number of times that calls may use more memory than ever before, not counting the very first calls."""


class MemoryWatch:
    """Adds up the memory that calls of one function do not release.

    `read_free` returns the number of free bytes on the GPU. `is_shared` returns whether another process uses it.
    """

    def __init__(self, name: str, read_free: Callable[[], int], is_shared: Callable[[], bool]):
        self._name, self._read_free, self._is_shared = name, read_free, is_shared
        self._kept, self._most, self._records = 0, 0, 0

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Watch the calls in the `with` block, which must wait until they are complete.

        Raises LaunchError for a leak.
        """
        before = self._read_free()
        yield
        kept = self._kept + before - self._read_free()
        if kept > self._most and self._is_shared():
            return
        self._kept = kept
        if self._kept > self._most:
            self._most = self._kept
            self._records += 1
        if self._records > _MOST_RECORDS:
            raise LaunchError(
                f"leaks memory of the GPU: its calls hold {self._kept / 2**20:,.0f} MiB so far, and more each "
                f"time; free or reuse whatever a call allocates ({self._name})"
            )


@dataclass(frozen=True)
class Findings:
    """Findings from the first calls of a function.

    `kernels` is the number of kernels that a call queues. `no_graph` is the reason why calls cannot be recorded as a
    CUDA graph, or "". `overlap` has the same meaning as in BoundExecutable. If the function `waits` for the device
    before it returns, it cannot be queued behind a gate.
    """

    kernels: int = 1
    no_graph: str = ""
    overlap: str = ""
    waits: bool = False


class PythonFunction:
    """The function of a variant. It launches on the stream with this handle, on GPU number `device`.

    `memory` watches the memory that its calls do not release. `findings` is None until its first calls have been
    examined.
    """

    errors: tuple[type[Exception], ...] = ()

    def __init__(self, variant: Variant, stream: int, device: int, memory: MemoryWatch):
        """Load the module. Raises LaunchError, NotOffered for a missing package, OutOfMemory."""
        self.variant, self.stream, self.device = variant, stream, device
        self.module = load_module(variant)
        self._memory = memory
        self._functions: dict[tuple[Problem, Config], Callable[..., object]] = {}
        self.findings: Findings | None = None
        self.setup_seconds = 0.0
        weakref.finalize(self, release_memory).atexit = False

    def calls(self, plan: Plan, sets: Sequence[OperandSet]) -> Calls:
        """Fix the arguments of a call on each operand set. Functions do not add a bias and have no workspace."""
        with explain_errors(self.variant):
            self.make_current()
            bound = BoundFunction(self, plan, sets)
        words = f"{self.variant.python.call or 'gemm'} of {self.variant.path}"
        return Calls(bound.list_calls(), words, keep=self, function=bound)

    def find_function(self, plan: Plan) -> Callable[..., object]:
        """Return what the calls of a plan call. If that has to be made, such as an object of a class, it is kept."""
        key = plan.problem, plan.config
        if key not in self._functions:
            names = {**name_sizes(GemmProblem.of(plan.problem)), **dict(plan.config.values)}
            self._functions[key] = find_function(self.variant, self.module, names)
        return self._functions[key]

    @contextmanager
    def watch_memory(self) -> Iterator[None]:
        """Watch the memory of calls in the `with` block. The module of a leaking function is released."""
        try:
            with self._memory.watch():
                yield
        except LaunchError:
            forget_module(self.variant)
            raise

    def make_current(self) -> None:
        """Let PyTorch and CuPy queue on the function's stream."""
        make_current(self.stream, self.device)

    def run(self, call: Callable[[], object]) -> object:
        """Make a call and return its value. Raises LaunchError, NotOffered, OutOfMemory."""
        try:
            with explain_errors(self.variant):
                self.make_current()
                return call()
        except OutOfMemory:
            forget_module(self.variant)
            raise


@dataclass
class _Prepared:
    """The value of `setup` for one content of B, which has this checksum."""

    checksum: int
    value: object


class BoundFunction:
    """A function with its arguments on several operand sets."""

    def __init__(self, function: PythonFunction, plan: Plan, sets: Sequence[OperandSet]):
        self._function, self._plan, self._sets = function, plan, sets
        self._problem, self._params = GemmProblem.of(plan.problem), dict(plan.config.values)
        self._python = python = function.variant.python
        self._call, self._setup = (
            ParsedCall(text, function.module) if text else None for text in (python.call, python.setup)
        )
        self._prepared: dict[int, _Prepared] = {}
        self._arguments = [self._name_operands(at) for at in sets]
        self._queue = [] if self._setup else [self._bind(number) for number in range(len(sets))]
        self.returned = self._list_returned(python.library) if python.returns else None

    def list_calls(self) -> tuple[Callable[[], object], ...]:
        """Return a callable for each operand set, which queues one launch."""
        return tuple(partial(self._launch, number) for number in range(len(self._sets)))

    def _launch(self, number: int) -> None:
        if self.returned is None:
            self._function.run(self._queue[number])
            return
        self.returned.drop(number)
        self.returned.hold(number, self._function.run(self._queue[number]))

    def _name_operands(self, at: OperandSet) -> dict[str, object]:
        views, problem = dict(self._python.views), self._plan.problem
        more = (*(SCALED if problem.precision.scales else ()), *([OFFSETS] if problem.groups else []))
        arrays = {
            name: DeviceArray.of(problem, name, views.get(name, ()), at[name], self._function.device)
            for name in ("A", "B", "C", *more)
        }
        if self._call is None:
            return dict(arrays)
        convert = _find_converter(self._python.library)
        return {**dict.fromkeys((OFFSETS, *SCALED)), **{name: convert(array) for name, array in arrays.items()}}

    def _bind(self, number: int, **prepared: object) -> Callable[[], object]:
        """Return the call on an operand set."""
        arguments = self._arguments[number]
        function = self._function.find_function(self._plan)
        if self._call is None:
            return partial(function, self._problem, *arguments.values(), self._function.stream, **self._params)
        return self._call.bind(function, self._names({**arguments, **prepared}))

    def _names(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Return what `call` and `setup` may read besides the module."""
        return {**name_sizes(self._problem), **self._params, "stream": self._function.stream, **arguments}

    def _list_returned(self, library: str) -> ReturnedArrays:
        problem, axes = self._plan.problem, dict(self._python.views).get("C", ())
        targets = [DeviceArray.of(problem, "C", axes, at["C"], self._function.device) for at in self._sets]
        passed = [name for name in "ABC" if self._python.takes(name)]
        inputs = [
            InputRange(name, at[name], at[name] + problem.operand_bytes(name)) for at in self._sets for name in passed
        ]
        return ReturnedArrays(library, self._function.device, targets, inputs, self._fill_nan)

    def _fill_nan(self, address: int, nbytes: int) -> None:
        load_driver().memset_d8(address, NAN_BYTE, nbytes)

    def release(self) -> None:
        """Release the results that are kept, whose memory comes from a pool that is about to go."""
        if self.returned is not None:
            self.returned.release()

    @property
    def count(self) -> int:
        """The number of operand sets; in a batch that is computed product by product, one for each product."""
        return len(self._sets)

    def prepare(self, lane: SetupLane, calls: int) -> None:
        """Make everything ready for the next calls: B as `setup` prepares it, and memory for results.

        Operands must have been written. Waits for the GPU. Raises PlanError.
        """
        self._function.make_current()
        if self._setup is not None:
            self._prepare_b(self._setup, lane)
        if self.returned is not None:
            self._function.run(partial(self.returned.prepare, calls))
            load_driver().Context.synchronize()

    def _prepare_b(self, setup: ParsedCall, lane: SetupLane) -> None:
        """Call `setup` for each B whose content has changed. Meanwhile, parts of every A hold other numbers."""
        problem = self._plan.problem
        starts = list(dict.fromkeys(at["B"] for at in self._sets))
        sums = lane.checksums([(start, start + problem.operand_bytes("B")) for start in starts])
        changed = {
            start: total
            for start, total in zip(starts, sums, strict=True)
            if start not in self._prepared or self._prepared[start].checksum != total
        }
        if not changed:
            return
        with ExitStack() as hidden:
            for at in self._sets:
                hidden.enter_context(lane.hide(at["A"], problem.operand_bytes("A")))
            for start, total in changed.items():
                number = next(number for number, at in enumerate(self._sets) if at["B"] == start)
                self._prepared[start] = _Prepared(total, self._time_setup(setup, self._arguments[number]["B"]))
        self._function.run(self._bind_prepared)

    def _bind_prepared(self) -> None:
        values = [self._prepared[at["B"]].value for at in self._sets]
        self._queue = [self._bind(number, **{PREPARED: value}) for number, value in enumerate(values)]

    def _time_setup(self, setup: ParsedCall, array: object) -> object:
        """Return the value of `setup` for one B, and remember the shortest time that it took."""
        function, synchronize = self._function, load_driver().Context.synchronize
        synchronize()
        started = time.perf_counter()
        value = function.run(lambda: setup.bind(None, self._names({"B": array}))())
        synchronize()
        seconds = time.perf_counter() - started
        function.setup_seconds = min(function.setup_seconds or math.inf, seconds)
        return value

    def finish(self, recorded: bool) -> None:
        """Copy the results of the last launches to C, with `recorded` also those of a graph. Raises LaunchError."""
        if self.returned is not None:
            self._function.run(partial(self.returned.copy_to_targets, recorded))
            load_driver().Context.synchronize()


@dataclass(frozen=True)
class SetupLane:
    """What `setup` needs from a GPU.

    `checksums` adds up the bytes between pairs of addresses. While the context manager `hide` is open, parts of an
    array hold other bytes; it takes the address and the size of the array.
    """

    checksums: Callable[[Sequence[tuple[int, int]]], list[int]]
    hide: Callable[[int, int], Any]


def _find_converter(library: str) -> Callable[[DeviceArray], object]:
    """Return the function that makes an array of a package from one in GPU memory."""
    module = sys.modules.get(library)
    if module is None:
        return lambda array: array
    convert: Callable[[DeviceArray], object] = module.from_dlpack
    return convert
