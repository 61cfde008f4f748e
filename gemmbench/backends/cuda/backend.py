"""The GPU as an open device."""

from __future__ import annotations

import atexit
import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Protocol, cast
from weakref import WeakKeyDictionary

from gemmbench.backends.base import Artifact, Memory, OperandSet, Rotation, Step
from gemmbench.backends.cuda.cublas import ColdTimer, Cublas, MathChoice, list_loaded_versions
from gemmbench.backends.cuda.cublaslt import CublasLt
from gemmbench.backends.cuda.device_memory import ArrayKernels, DeviceMemory, SeparateMemory
from gemmbench.backends.cuda.driver import load_cubin, load_driver, pack_launch, translate_errors
from gemmbench.backends.cuda.function_lane import BLOCKING, NON_BLOCKING, FunctionLane
from gemmbench.backends.cuda.gate import QUEUE, Clock, Gate, why_gate_is_off
from gemmbench.backends.cuda.graphs import find_overlap, join_calls, record_graphs, record_turns
from gemmbench.backends.cuda.launch import Kernel
from gemmbench.backends.cuda.launchers import Launcher, count_workspace
from gemmbench.backends.cuda.library_variants import CUBLASLT
from gemmbench.backends.cuda.nvcc import NvccCompiler
from gemmbench.backends.cuda.python_functions import PythonFunction
from gemmbench.backends.cuda.python_modules import copy_module
from gemmbench.backends.cuda.system import device, nvml
from gemmbench.backends.cuda.transfer_jobs import CudaJob, HostBuffer
from gemmbench.backends.cuda.triton_compiler import TRITON, compile_kernels
from gemmbench.backends.cuda.window import Calls, WindowTimer, queue_in_turn
from gemmbench.backends.jobs import JobStep
from gemmbench.errors import BuildError, DeviceError, DeviceLost, NotOffered, PlanError
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Plan

_HELPERS = Path(__file__).with_name("helpers.cu")
_FLUSH_FACTOR = 4  # multiples of the L2 cache


class Loaded(Protocol):
    """A loaded kernel or an open library. Its calls raise `errors` and pycuda's errors."""

    errors: tuple[type[Exception], ...]

    def calls(self, plan: Plan, sets: Sequence[OperandSet]) -> Calls:
        """Fix the arguments of a launch on each operand set.

        The sets hold addresses, including that of the `workspace` if there is one.
        """


class CudaBackend:
    """The GPU with CUDA's number `index`, used through its primary context. A `Backend` with `Transfers`.

    Everything runs on one stream, except Python functions and jobs that use several streams.

    Use it only from the thread that opened it. Windows have no gate if `gate` is False or why_gate_is_off returns a
    reason, which device.software records. With GEMMBENCH_GUARDS=0, operands have no guard zones. The context is lost
    after an error in a kernel. To continue, start a new process.
    """

    modes: tuple[str, ...] = ("",)
    max_launches = QUEUE

    def __init__(self, index: int = 0, gate: bool = True):
        """Open the GPU. Raises DeviceError."""
        self.guards = os.environ.get("GEMMBENCH_GUARDS") != "0"
        reason = why_gate_is_off() if gate else "switched off"
        with ThreadPoolExecutor(2) as executor:  # importing the libraries takes as long as opening the GPU
            versions = executor.submit(device.library_versions)
            self._cuda = load_driver()
            self.device = device.describe_gpu(index)
            helpers = executor.submit(_compile_helpers, self.device.target.sm)
            self._libraries: dict[tuple[str, int], Cublas | CublasLt] = {}
            self._bound: WeakKeyDictionary[Any, set[Plan]] = WeakKeyDictionary()
            self._overlaps: dict[tuple[Plan, ...], str] = {}
            self._math_choice = MathChoice(self._make_cold_timer)
            try:
                self._open(index, helpers, gate=not reason)
            except self._cuda.Error as fault:
                raise DeviceError(f"cannot open GPU {index}: {fault}") from fault
        gated = {"gate": f"off: {reason}" if reason else "on"}
        self.device = replace(self.device, software={**self.device.software, **versions.result(), **gated})

    def _open(self, index: int, helpers: Future[str], gate: bool) -> None:
        gpu = self._cuda.Device(index)
        self.copy_engines: int = gpu.get_attribute(self._cuda.device_attribute.ASYNC_ENGINE_COUNT)
        self._context = gpu.retain_primary_context()
        self._context.push()
        atexit.register(self.close)  # pycuda aborts a process that exits with a context pushed
        self._stream = self._cuda.Stream()
        self._streams = [self._stream]
        module = load_cubin(helpers.result(), str(self.device.target.sm))
        self._clock = Clock(module.get_function("stamp"), self._stream, self.device.target.sms)
        self._kernels = ArrayKernels(module, self._stream)
        self._nothing = module.get_function("nothing")
        self._gate = Gate(module.get_function("gate"), self._stream) if gate else None
        # Python functions launch on a stream of their own, or on the default stream, which another one waits for.
        self._functions, self._default_functions = (
            self._make_lane(module, gpu, index, gate, flags) for flags in (NON_BLOCKING, BLOCKING)
        )
        # Without a gate, times include host time, and taking a reading costs host time.
        self.monitor = nvml.open_monitor(gpu.pci_bus_id()) if gate else None

    def _make_lane(self, helpers: Any, gpu: Any, index: int, gate: bool, flags: int) -> FunctionLane:
        stream, side = self._cuda.Stream(flags), self._cuda.Stream(NON_BLOCKING)
        clock = Clock(helpers.get_function("stamp"), stream, self.device.target.sms)
        barrier = Gate(helpers.get_function("gate"), stream) if gate else None
        is_shared, checksums = partial(nvml.is_shared, gpu.pci_bus_id()), self._kernels.checksums
        return FunctionLane(stream, clock, barrier, side, index, is_shared, self._flush, checksums)

    def _choose_lane(self, variant: Variant) -> FunctionLane:
        return self._default_functions if variant.python.default_stream else self._functions

    def allocate(self, *nbytes: int) -> DeviceMemory:
        """Make allocations of these sizes and return them as one memory. Raises OutOfMemory."""
        kernels = self._kernels
        return DeviceMemory(*nbytes, kernels=kernels) if len(nbytes) == 1 else SeparateMemory(nbytes, kernels)

    def free_memory(self) -> int:
        """Return the bytes of GPU memory that are free."""
        free, _ = self._cuda.mem_get_info()
        return int(free)

    @property
    def stream(self) -> Any:
        """The stream on which launches are queued."""
        return self._stream

    def timer(self, calls: Calls, gated: bool = True) -> WindowTimer:
        """Return a timer for launches that do not come from a plan."""
        gate = self._gate if gated else None
        return WindowTimer(calls, (self._cuda.Error,), self._stream, self._clock, gate, flush=self._flush)

    @cached_property
    def empty(self) -> WindowTimer:
        """See Backend."""
        one = (1, 1, 1)
        timer = self.timer(Calls((pack_launch(self._nothing, one, one, self._stream, ""),), "an empty kernel"))
        timer.time(1)  # loads its code
        return timer

    def _flush(self) -> None:
        """Push everything out of the L2 cache."""
        self._flushed.fill(0, self._flushed.nbytes, 0)
        self._cuda.Context.synchronize()

    @cached_property
    def _flushed(self) -> DeviceMemory:
        """The memory that a flush writes to. It is kept, because freeing memory slows down the next launch."""
        return DeviceMemory(_FLUSH_FACTOR * self.device.target.l2)

    def loaded_libraries(self) -> dict[str, str]:
        """Return the loaded versions of cuBLAS and cuBLASLt, no matter which code loaded them."""
        return list_loaded_versions()

    def load(self, artifact: Artifact, plan: Plan, stream: int = 0) -> Loaded:
        """Load a cubin, a launcher or a Python function, or open a library, for stream number `stream`.

        Raises LaunchError, NotOffered, OutOfMemory.
        """
        with translate_errors((self._cuda.Error, *Kernel.errors), plan.variant.name):
            if plan.variant.is_python:
                return self._choose_lane(plan.variant).load(plan.variant)
            if plan.variant.is_library:
                return self._library(plan.variant.name, stream)
            if plan.variant.is_launcher:
                return Launcher(artifact.path, plan, self._streams[stream])
            symbols = artifact.build.symbols or plan.symbols
            launches = [(name, each) for name, (_, each) in zip(symbols, plan.launches, strict=True)]
            smem, by_value = self.device.target.smem, plan.variant.maps_by_value
            return Kernel(artifact.path, plan.arch, launches, smem, self._streams[stream], by_value)

    def count_workspace(self, loaded: Loaded, plan: Plan) -> int:
        """Return the planned workspace size, or the size that a launcher's host function returns.

        Raises LaunchError.
        """
        return count_workspace(loaded, plan)

    def bind(
        self,
        name: str,
        steps: Sequence[Step],
        memory: Memory,
        graph: bool = False,
        mode: str = "",
        rotation: Rotation | None = None,
        turns: int = 0,
    ) -> WindowTimer:
        """Fix the arguments of launches that run in order and are timed together.

        `memory` must come from this back end. With `graph`, the launches become one CUDA graph for each stop. With
        `turns`, they become one graph with that number of passes over all stops. In both cases this launches once, at
        the first stop, so that no code is loaded during recording. Raises LaunchError, NotOffered.
        """
        errors = tuple(dict.fromkeys((self._cuda.Error, *(kind for step in steps for kind in step.loaded.errors))))
        with translate_errors(errors, name):
            if isinstance(steps[0].loaded, PythonFunction):
                return self._bind_function(steps, memory, graph, turns, rotation)
            calls = join_calls([_step_calls(step, memory) for step in steps])
            calls = replace(calls, overlap=self._find_overlap(steps, calls))
            if graph:
                calls = record_graphs(calls, self._stream)
            if turns:
                calls = record_turns(calls, self._stream, turns)
            known = [self._note_binding(step) for step in steps]
            clock, gate = self._clock, self._gate
            return WindowTimer(calls, errors, self._stream, clock, gate, rotation, all(known), self._flush)

    def _bind_function(
        self, steps: Sequence[Step], memory: Memory, graph: bool, turns: int, rotation: Rotation | None
    ) -> WindowTimer:
        """Bind a Python function, and the passes that follow it, which then run on its stream."""
        step, *passes = steps
        lane = self._choose_lane(step.plan.variant)
        moved = [replace(each, loaded=each.loaded.move_to(lane.stream)) for each in passes]
        calls = join_calls([_step_calls(each, memory) for each in (step, *moved)])
        at = cast(DeviceMemory, memory).address + step.sets[0]["C"]
        result, known = (at, step.plan.problem.operand_bytes("C")), self._note_binding(step)
        return lane.bind(step.loaded, calls, result, known, graph, turns, rotation)

    def compile_together(self, rows: Sequence[Sequence[Step]], memory: Memory) -> None:
        """See CompilingBackend: compiles what a function launches with Triton. A copy of its module is used for that.

        Whatever the module keeps from these calls is then lost, as it should be: they compute nothing.
        """
        variant = rows[0][0].plan.variant
        if TRITON not in variant.packages or variant.python.setup:
            return
        try:
            with copy_module(variant):
                function = self._choose_lane(variant).load(variant)
                steps = [replace(step, loaded=function) for step, *_ in rows]
                compile_kernels([partial(self._call_once, step, memory) for step in steps])
        except DeviceLost:
            raise
        except PlanError:  # found again when it is bound
            return

    def _call_once(self, step: Step, memory: Memory) -> None:
        with translate_errors((self._cuda.Error,), step.plan.variant.name):
            calls = _step_calls(step, memory)
            calls.queue[0]()
            calls.function.release()

    def _find_overlap(self, steps: Sequence[Step], calls: Calls) -> str:
        """Find out whether products overlap if code launches its own kernels.

        For kernels that a plan launches, return "".
        """
        if all(isinstance(step.loaded, Kernel) for step in steps):
            return ""
        plans = tuple(step.plan for step in steps)
        if plans not in self._overlaps:
            calls.queue[0]()  # code is loaded at its first launch, which must not happen during recording
            self._stream.synchronize()
            self._overlaps[plans] = find_overlap(calls.queue[0], self._stream)
        return self._overlaps[plans]

    def _note_binding(self, step: Step) -> bool:
        """Return whether the same code was bound before.

        If so, it has also been launched, because bound code runs next.
        """
        plans = self._bound.setdefault(step.loaded, set())
        known = step.plan in plans
        plans.add(step.plan)
        return known

    def host(self, nbytes: int, pinned: bool) -> HostBuffer:
        """Allocate on the host. Raises OutOfMemory."""
        return HostBuffer(nbytes, pinned)

    def job(self, steps: Sequence[JobStep], memory: Memory, pinned: bool) -> CudaJob:
        """Fix the arguments of copies and launches on a memory from this back end.

        Raises LaunchError, NotOffered, OutOfMemory.
        """
        count = 1 + max(step.stream for step in steps)
        while len(self._streams) < count:
            self._streams.append(self._cuda.Stream())
        gate, address = self._gate if pinned else None, cast(DeviceMemory, memory).address
        return CudaJob(steps, address, self._streams[:count], cache(self._load_for_job), gate)

    def _load_for_job(self, artifact: Artifact, plan: Plan, stream: int) -> Loaded:
        """Like `load`, but a Python function queues on the job's stream instead of its own.

        Raises NotOffered for a function that cannot do that.
        """
        if plan.variant.is_python:
            python = plan.variant.python
            if python.returns or python.setup or python.default_stream:
                key = "returns" if python.returns else "setup" if python.setup else "stream"
                raise NotOffered(f"a Python function with `{key}` in its manifest cannot be part of a job with copies")
            return self._functions.load(plan.variant, self._streams[stream])
        return self.load(artifact, plan, stream)

    def close(self) -> None:
        """Free everything that the back end holds. It is safe to call this again."""
        if self._context is None:
            return
        atexit.unregister(self.close)
        for library in self._libraries.values():
            with suppress(Exception):  # after a crashed kernel nothing can be freed
                library.close()
        self._libraries.clear()
        if self.monitor is not None:
            self.monitor.close()
            self.monitor = None
        self.__dict__.pop("_flushed", None)
        del self._stream, self._streams, self._clock, self._gate, self._kernels
        del self._functions, self._default_functions
        with suppress(self._cuda.Error):
            # Do not use pop(), because the destructor of a popped primary context calls cuCtxDetach and fails.
            self._context.detach()
        self._context = None

    def _library(self, name: str, stream: int) -> Cublas | CublasLt:
        """Return the handle for a stream.

        Each stream has one, because a workspace can serve only one launch at a time.
        """
        if (name, stream) not in self._libraries:
            queue, sm = self._streams[stream], self.device.target.sm
            measures = stream == 0  # timers use the first stream
            self._libraries[name, stream] = (
                CublasLt(queue, sm) if name == CUBLASLT.name else Cublas(queue, sm, self._math_choice, measures)
            )
        return self._libraries[name, stream]

    def _make_cold_timer(self, calls: Calls) -> ColdTimer:
        timer = self.timer(calls)

        def time_launch() -> float:
            self._flush()
            return timer.time(1).seconds

        return time_launch


def _step_calls(step: Step, memory: Memory) -> Calls:
    loaded: Loaded = step.loaded
    at = cast(DeviceMemory, memory).address
    place = step.workspace
    shared = {"workspace": cast(DeviceMemory, place.memory).address + place.offset} if place else {}
    sets = [{**{name: at + start for name, start in each.items()}, **shared} for each in step.sets]
    plan, products = step.plan, step.plan.products
    if products == 1:
        calls = loaded.calls(plan, sets)
        return replace(calls, keep=(calls.keep, place))
    moves = [plan.problem.list_moves(one) for one in plan.problem.slices]
    each = [{name: start + move.get(name, 0) for name, start in at.items()} for at in sets for move in moves]
    calls = loaded.calls(replace(plan, problem=plan.launched), each)
    queue = [queue_in_turn(calls.queue[first : first + products]) for first in range(0, len(each), products)]
    return replace(calls, queue=tuple(queue), kernels=products * calls.kernels, keep=(calls.keep, place))


def _compile_helpers(sm: int) -> str:
    """Compile the helper kernels and return the path.

    They are compiled before other kernels, because the device waits for them.

    Raises DeviceError if there is no nvcc for this GPU.
    """
    place = f"gemmbench/backends/cuda/{_HELPERS.name}"
    text = f'#line 1 "{place}"\n{_HELPERS.read_text(encoding="utf-8")}'
    try:
        return NvccCompiler(niceness=0).cubin(text, str(sm), ("gate",), place).path
    except BuildError as fault:
        raise DeviceError(str(fault)) from fault
