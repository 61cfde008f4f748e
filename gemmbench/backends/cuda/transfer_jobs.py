"""Jobs on the GPU: asynchronous copies and launches queued on several streams, timed by events.

A job on three streams queues the following work behind the gate, which holds all of it:

    stream 0   gate | start | B in | A in | launch | C out | ...              | wait 1, 2 | end
    stream 1                 wait start, B | A in | launch | C out | ... | done
    stream 2                 wait start, B | A in | launch | C out | ... | done

A copy of pageable memory blocks the host while the driver stages it (CUDA driver API, "API synchronization behavior").
Behind a gate, it would never return. Such a job has no gate, and its times include host time, as a user would see them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gemmbench.backends.base import Artifact
from gemmbench.backends.cuda.device_memory import DeviceMemory
from gemmbench.backends.cuda.driver import load_driver, translate_errors
from gemmbench.backends.cuda.gate import QUEUE, Gate
from gemmbench.backends.cuda.launchers import count_workspace
from gemmbench.backends.cuda.window import Calls
from gemmbench.backends.jobs import CopyStep, JobStep, JobTimes, LaunchStep
from gemmbench.errors import OutOfMemory
from gemmbench.planning.plans.plan import Plan

Load = Callable[[Artifact, Plan, int], Any]
"""Takes an artifact, a plan and the number of a stream. Returns a `backend.Loaded` that launches on that stream."""


class HostBuffer:
    """A HostMemory, which may be page-locked.

    Every page is touched in advance, so that copies cause no page faults.
    """

    def __init__(self, nbytes: int, pinned: bool):
        """Allocate. Raises OutOfMemory."""
        cuda = load_driver()
        try:
            self.bytes = cuda.pagelocked_empty(nbytes, np.uint8) if pinned else np.empty(nbytes, np.uint8)
        except (cuda.Error, MemoryError, OverflowError) as fault:
            what = f"cannot {'page-lock' if pinned else 'allocate'} {nbytes:,} bytes of host memory"
            raise OutOfMemory(f"{what}: choose a smaller size [{fault}]") from fault
        self._pinned: Any = self.bytes.base if pinned else None
        self.bytes.fill(0)

    def free(self) -> None:
        """Free the memory. It is safe to call this again."""
        self.bytes = np.empty(0, np.uint8)
        if self._pinned is not None:
            self._pinned.free()
        self._pinned = None


class CudaJob:
    """A Job with steps bound to streams and device memory.

    `address` is the address of the device memory. `streams` are numbered as in the steps, and the gate holds the first
    one. The first run has no gate, because CUDA loads code at its first use and would wait for the work that the gate
    holds. A job of more than QUEUE entries has no gate either.
    """

    def __init__(
        self,
        steps: Sequence[JobStep],
        address: int,
        streams: Sequence[Any],
        load: Load,
        gate: Gate | None,
    ):
        """Fix the arguments of every copy and launch.

        Raises LaunchError, NotOffered, OutOfMemory.
        """
        cuda = load_driver()
        self._cuda: Any = cuda
        self._address, self._streams, self._load = address, streams, load
        self._errors: tuple[type[Exception], ...] = (cuda.Error,)
        self._words = "a job of copies"
        self._keep: list[object] = []
        with translate_errors(self._errors):
            self._start, self._end = cuda.Event(), cuda.Event()
            self._done = [cuda.Event() for _ in streams[1:]]
            self._parts_end = _last_steps_of_kind(steps) if self._alone else {}
            awaited = {step.after for step in steps if step.after is not None}
            self._marks = {number: cuda.Event() for number in sorted({*self._parts_end, *awaited})}
        self._kernels = 0
        self._queue = [action for number, step in enumerate(steps) for action in self._list_actions(number, step)]
        self._gate = gate if len(self._queue) + self._kernels <= QUEUE else None
        self._ran = False

    @property
    def _alone(self) -> bool:
        """Whether there is only one stream, so that the times of its parts can be separated."""
        return len(self._streams) == 1

    def run(self) -> JobTimes:
        """Queue everything, wait, and read the events. If the gate opened by itself, do it once more.

        Raises LaunchError, LaunchTimeout or OutOfMemory.
        """
        gate = self._gate if self._ran else None
        self._ran = True
        with translate_errors(self._errors, self._words):
            times = self._time_run(gate)
            return times if times.gated or gate is None else self._time_run(gate)

    def _time_run(self, gate: Gate | None) -> JobTimes:
        if gate is not None:
            gate.close()
        try:
            self._enqueue()
        finally:
            if gate is not None:
                gate.open()
        self._streams[0].synchronize()
        return replace(self._parts(), gated=gate is not None and not gate.expired)

    def _enqueue(self) -> None:
        first, *others = self._streams
        self._start.record(first)
        for stream in others:
            stream.wait_for_event(self._start)
        for action in self._queue:
            action()
        for stream, done in zip(others, self._done, strict=True):
            done.record(stream)
            first.wait_for_event(done)
        self._end.record(first)

    def _parts(self) -> JobTimes:
        seconds = self._end.time_since(self._start) * 1e-3
        if not self._alone:
            return JobTimes(seconds)
        spent = dict.fromkeys(("h2d", "kernel", "d2h"), 0.0)
        before = self._start
        for number, kind in self._parts_end.items():
            spent[kind] += self._marks[number].time_since(before) * 1e-3
            before = self._marks[number]
        return JobTimes(seconds, spent["h2d"], spent["kernel"], spent["d2h"])

    def _list_actions(self, number: int, step: JobStep) -> list[Callable[[], object]]:
        """Return what queues a step: any wait before it, the step, and any event after it."""
        stream = self._streams[step.stream]
        wait = [partial(stream.wait_for_event, self._marks[step.after])] if step.after is not None else []
        mark = [partial(self._marks[number].record, stream)] if number in self._marks else []
        return [*wait, self._prepare_copy(step) if isinstance(step, CopyStep) else self._prepare_launch(step), *mark]

    def _prepare_launch(self, step: LaunchStep) -> Callable[[], object]:
        code = self._load(step.artifact, step.plan, step.stream)
        self._errors = tuple({*self._errors, *code.errors})
        operands = {name: self._address + start for name, start in step.at.items()}
        with translate_errors(self._errors, step.plan.variant.name):
            plan = replace(step.plan, workspace=count_workspace(code, step.plan))
            workspace = _allocate_workspace(plan)
            shared = {"workspace": workspace.address} if workspace else {}
            calls: Calls = code.calls(plan, [{**operands, **shared}])
        self._words = calls.launch
        self._kernels += calls.kernels - 1  # a step may queue several kernels
        self._keep += [code, calls, workspace]
        return calls.queue[0]

    def _prepare_copy(self, step: CopyStep) -> Callable[[], object]:
        device, stream = self._address + step.device, self._streams[step.stream]
        if not step.host.flags.c_contiguous:
            return partial(_rectangle_copy(self._cuda, step.host, device), stream)
        if step.inward:
            return partial(self._cuda.memcpy_htod_async, device, step.host, stream)
        return partial(self._cuda.memcpy_dtoh_async, step.host, device, stream)


def _allocate_workspace(plan: Plan) -> DeviceMemory | None:
    """Allocate the workspace that a kernel's manifest declares, with zeros followed by NaN.

    Libraries have their own.
    """
    if plan.variant.is_library or not plan.workspace:
        return None
    memory = DeviceMemory(plan.workspace)
    memory.fill(0, plan.workspace, 0xFF)
    memory.fill(0, plan.zeroed, 0)
    return memory


def _step_kind(step: JobStep) -> str:
    if isinstance(step, LaunchStep):
        return "kernel"
    return "h2d" if step.inward else "d2h"


def _last_steps_of_kind(steps: Sequence[JobStep]) -> dict[int, str]:
    """Return the last step of each sequence of steps of the same kind, with the kind."""
    kinds = [*map(_step_kind, steps), ""]
    return {number: kind for number, kind in enumerate(kinds[:-1]) if kind != kinds[number + 1]}


def _rectangle_copy(cuda: Any, host: np.ndarray, device: int) -> Any:
    """Return a 2-D copy from rows with gaps on the host to packed rows on the device. Call it with a stream."""
    height, width = host.shape
    copy = cuda.Memcpy2D()
    copy.set_src_host(host)
    copy.src_pitch = host.strides[0]
    copy.set_dst_device(device)
    copy.dst_pitch = copy.width_in_bytes = width
    copy.height = height
    return copy
