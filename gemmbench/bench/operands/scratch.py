"""The workspaces of one row between guard zones, and the number of operand sets that keep launches cold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gemmbench.backends.base import Backend, Memory, Place
from gemmbench.bench.operands import guards
from gemmbench.bench.operands.guards import GuardedLayout
from gemmbench.bench.operands.placement import SetPlacement
from gemmbench.errors import OutOfMemory
from gemmbench.planning.plans.plan import Plan, Target

CACHE_FACTOR = 4
"""Operand sets keep every launch cold if they are this many times as large as the last-level cache."""
LEAST_SETS = 2
MOST_SETS = 1024
_SHARE_OF_MEMORY = 0.8
_MOST_ON_HOST = 512 << 20
"""The limit on operand sets on a CPU in bytes. A virtual machine may see a host cache of hundreds of MB."""


def find_room(target: Target) -> int:
    """Return the bytes that a batch's operand sets may use on a device."""
    room = int(target.memory * _SHARE_OF_MEMORY)
    return room if target.is_gpu else min(room, _MOST_ON_HOST)


def count_cold_sets(touched: int, set_bytes: int, last_level_cache: int, room: int) -> tuple[int, bool]:
    """Return the number of operand sets, and whether they keep every launch cold.

    A launch uses `touched` bytes of a set of `set_bytes` bytes, and `room` bytes are available. To keep launches cold,
    the sets must total at least 4 times the last-level cache. At 2 times and with random replacement, one in five
    accesses would still hit.
    """
    wanted = max(LEAST_SETS, -(-CACHE_FACTOR * last_level_cache // touched))
    possible = max(1, room // set_bytes)
    count = min(wanted, possible, MOST_SETS)
    return count, count * touched >= CACHE_FACTOR * last_level_cache


_GUARD = 64 << 10


class Scratch:
    """The workspaces of a row's steps. Raises OutOfMemory."""

    def __init__(self, backend: Backend, steps: Sequence[Plan]):
        self._guarded, self._steps = _lay_out(steps) if backend.guards else None, steps
        self._placement, self._base = self._guarded and _make_placement(self._guarded), 0
        sizes = [self._placement.total] if self._placement else [_own_bytes(step) for step in steps]
        self._memory = _allocate(backend, [size for size in sizes if size])
        self._settle()

    def place(self, rng: np.random.Generator) -> None:
        """Move all workspaces to random places and discard their contents. Without guard zones, they do not move."""
        if self._memory and self._placement:
            self._base = self._placement.draw_shift(rng)
            self._settle()

    def _settle(self) -> None:
        """Prepare the workspaces at the current base."""
        self.places = self._find_places()
        if self._memory and self._guarded:
            self._guarded.fill(self._memory, [self._base])
        self.prepare()

    def _find_places(self) -> list[Place | None]:
        """Return the start of each step's workspace; None for steps without one."""
        if self._memory is None:
            return [None] * len(self._steps)
        regions = self._guarded.inputs if self._guarded else []
        starts = iter([self._base + region.offset for region in regions] or self._memory.starts)
        return [Place(self._memory, next(starts)) if _own_bytes(step) else None for step in self._steps]

    @property
    def nbytes(self) -> int:
        """The number of bytes, including guard zones and slack; 0 if there is no workspace."""
        return self._memory.nbytes if self._memory else 0

    def prepare(self) -> None:
        """Fill every workspace as its manifest declares it, with zeros followed by NaN."""
        for step, place in self._list_places():
            _fill(place, 0, step.zeroed, 0)
            _fill(place, step.zeroed, step.workspace - step.zeroed, guards.NAN)

    def poison(self, byte: int = guards.NAN) -> None:
        """Fill the bytes that a launch must write before it may read them. Zeroed bytes do not change."""
        for step, place in self._list_places():
            if not step.variant.state:
                _fill(place, step.zeroed, step.workspace - step.zeroed, byte)

    def find_fault(self) -> str:
        """Describe what a launch wrote outside its workspaces, or return "". Restores the bytes."""
        if self._memory and self._guarded and (breach := self._guarded.find_breach(self._memory, self._base)):
            return self._guarded.describe(breach, "workspace")
        return self._find_kept_bytes()

    def _find_kept_bytes(self) -> str:
        """Describe zeroed bytes that are no longer zero although the manifest declares no state, or return ""."""
        for step, place in self._list_places():
            if step.zeroed and not step.variant.state and not _is_zero(place, step.zeroed):
                _fill(place, 0, step.zeroed, 0)
                return (
                    f"left values in the first {step.zeroed} bytes of its workspace, which `zeroed` declares "
                    "to be zero; reset them, or declare `state: true`"
                )
        return ""

    def _list_places(self) -> list[tuple[Plan, Place]]:
        return [(step, place) for step, place in zip(self._steps, self.places, strict=True) if place]

    def free(self) -> None:
        """Free the memory."""
        if self._memory is not None:
            self._memory.free()


def _allocate(backend: Backend, sizes: Sequence[int]) -> Memory | None:
    try:
        return backend.allocate(*sizes) if sizes else None
    except OutOfMemory as fault:
        raise OutOfMemory(f"its workspace does not fit in memory with the rest of its batch: {fault}") from fault


def size_workspaces(backend: Backend, steps: Sequence[Plan], loaded: Sequence[Any]) -> tuple[Plan, ...]:
    """Return the steps with their workspace sizes. Some sizes are known only by loaded code. Raises LaunchError."""
    pairs = zip(steps, loaded, strict=True)
    return tuple(replace(step, workspace=backend.count_workspace(code, step)) for step, code in pairs)


def count_scratch_bytes(steps: Sequence[Plan]) -> int:
    """Return the bytes of a row's workspaces with guard zones and slack; 0 if there are none."""
    placement = _make_placement(_lay_out(steps))
    return placement.total if placement else 0


def _make_placement(guarded: GuardedLayout) -> SetPlacement | None:
    return SetPlacement(1, guarded.total, guarded.alignment) if guarded.total else None


def _lay_out(steps: Sequence[Plan]) -> GuardedLayout:
    layout = GuardedLayout()
    for step in steps:
        if _own_bytes(step):
            layout.guard(_GUARD, guards.NAN)
            layout.add_input("the workspace", step.problem.storage("workspace"), step.workspace)
    if layout.total:
        layout.guard(_GUARD, guards.NAN)
    return layout


def _own_bytes(step: Plan) -> int:
    """Return the bytes of a kernel's workspace. A library manages its own, which all its launches share."""
    return 0 if step.variant.is_library else step.workspace


def _fill(place: Place, first: int, nbytes: int, byte: int) -> None:
    if nbytes:
        place.memory.fill(place.offset + first, nbytes, byte)


def _is_zero(place: Place, nbytes: int) -> bool:
    return guards.is_filled(place.memory, place.offset, nbytes, 0)
