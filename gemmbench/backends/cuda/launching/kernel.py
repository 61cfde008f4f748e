"""Compiled kernels, loaded and ready to be bound to operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gemmbench.backends.cuda.launching import tensor_maps
from gemmbench.backends.cuda.launching.arguments import ScalarMemory, list_declared, list_standard
from gemmbench.backends.cuda.launching.bindings_launch import (
    BindingsError,
    BindingsFunction,
    BindingsModule,
    pack_bindings_launch,
)
from gemmbench.backends.cuda.launching.cubin_module import load_cubin
from gemmbench.backends.cuda.launching.packed_launch import pack_launch
from gemmbench.backends.cuda.launching.window import Calls, queue_in_turn
from gemmbench.backends.cuda.system.driver import load_driver
from gemmbench.errors import LaunchError
from gemmbench.planning.plans.plan import Geometry, Plan

# Shared memory of a block, static and dynamic, that every GPU gives by default.
_PORTABLE_SHARED = 48 * 1024
Addresses = Sequence[tuple[int, int, int]]
"""Device addresses of A, B and C, for each operand set."""


class Kernel:
    """All kernels that a plan launches, from one loaded cubin.

    `smem` is the most shared memory of a block.
    """

    errors: tuple[type[Exception], ...] = (BindingsError,)

    def __init__(self, path: str, arch: str, launches: Sequence[tuple[str, Geometry]], smem: int, stream: Any):
        """Load a cubin for `arch` ("90a").

        If one of its launches may overlap with the one before it, or has clusters, all are launched through
        cuda.bindings, so that they share the variables of one module. Raises LaunchError if a block needs more shared
        memory than `smem`, NotOffered, BindingsError, and pycuda's errors.
        """
        attributes = any(geometry.pdl or geometry.cluster > 1 for _, geometry in launches)
        module = BindingsModule(path) if attributes else load_cubin(path, arch)
        self._launches = [_KernelLaunch(module.get_function(symbol), symbol, each, smem) for symbol, each in launches]
        self._stream = stream

    def calls(self, plan: Plan, addresses: Addresses, biases: Sequence[int] = (), workspace: int = 0) -> Calls:
        """Fix the arguments of a launch on each operand set.

        `biases` are addresses, empty without a bias; `workspace` is an address, 0 if the plan has
        none. The tensor maps and scalars live as long as what is returned. Raises NotOffered, OutOfMemory.
        """
        maps = tensor_maps.write_maps(plan, [(*each, workspace) for each in addresses]) if plan.tensor_maps else None
        scalars = ScalarMemory(plan)
        queue = []
        for index, (A, B, C) in enumerate(addresses):
            at = {"A": A, "B": B, "C": C, "bias": biases[index] if biases else 0, "workspace": workspace}
            at["maps"] = maps.address + index * tensor_maps.BYTES * len(plan.tensor_maps) if maps else 0
            layout, arguments = list_declared(plan, at, scalars) if plan.arguments else list_standard(plan, at)
            queue.append(queue_in_turn([launch.bound(self._stream, layout, arguments) for launch in self._launches]))
        words = ", then ".join(launch.words for launch in self._launches)
        return Calls(tuple(queue), words, len(self._launches), (maps, scalars))


class _KernelLaunch:
    """One kernel with its grid, block and shared memory."""

    def __init__(self, function: Any, symbol: str, geometry: Geometry, smem: int):
        cuda = load_driver()
        shared = function.shared_size_bytes + geometry.shared
        if shared > smem:
            raise LaunchError(f"a block needs {shared:,} bytes of shared memory, but this GPU has {smem:,} for a block")
        if shared > _PORTABLE_SHARED:
            function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, geometry.shared)
        self._function, self._geometry = function, geometry
        self.words = _describe_launch(symbol, geometry, function.num_regs)

    def bound(self, stream: Any, layout: str, arguments: Sequence[float]) -> Callable[[], None]:
        """A callable that queues the launch with these arguments."""
        function, geometry = self._function, self._geometry
        launch = geometry.grid, geometry.block, stream, layout, *arguments
        if isinstance(function, BindingsFunction):
            return pack_bindings_launch(
                function, *launch, shared=geometry.shared, pdl=geometry.pdl, cluster=geometry.cluster
            )
        return pack_launch(function, *launch, shared=geometry.shared)


def _describe_launch(symbol: str, geometry: Geometry, registers: int) -> str:
    grid, block = ("x".join(map(str, shape)) for shape in (geometry.grid, geometry.block))
    clusters = f" in clusters of {geometry.cluster}" if geometry.cluster > 1 else ""
    threads = f"{geometry.threads} threads per block, {registers} registers per thread"
    return f"{symbol}: grid {grid}{clusters}, block {block}, {threads}, {geometry.shared} dynamic shared bytes"
