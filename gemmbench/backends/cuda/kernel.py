"""A compiled kernel, loaded and ready to be bound to operands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from gemmbench.backends.cuda.launch import packed
from gemmbench.backends.cuda.window import Calls
from gemmbench.errors import LaunchError
from gemmbench.spec.plan import Geometry, Plan

# Of a block, static and dynamic together: what every GPU gives without being asked.
_PORTABLE_SHARED = 48 * 1024
_SCALARS = {"float": "f", "double": "d"}

Addresses = Sequence[tuple[int, int, int]]
"""Device addresses of A, B and C, for each operand set."""


class Kernel:
    """One kernel of a loaded cubin, launched on `stream`; `smem` is the most bytes of shared memory a block gets."""

    errors: tuple[type[Exception], ...] = ()

    def __init__(self, path: str, symbol: str, geometry: Geometry, smem: int, stream: Any):
        """Load it. Raises LaunchError if a block asks for more shared memory, and pycuda's errors."""
        import pycuda.driver as cuda

        self._function: Any = cuda.module_from_file(path).get_function(symbol)
        shared = self._function.shared_size_bytes + geometry.shared
        if shared > smem:
            raise LaunchError(f"a block asks for {shared:,} bytes of shared memory; this GPU gives {smem:,}")
        if shared > _PORTABLE_SHARED:
            most = cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._function.set_attribute(most, geometry.shared)
        self._geometry, self._stream = geometry, stream
        self._launch = _words(symbol, geometry, self._function.num_regs)

    def calls(self, plan: Plan, addresses: Addresses, alpha: float, beta: float, biases: Sequence[int] = ()) -> Calls:
        """Fix the arguments of a launch on each operand set; `biases` are addresses too, none if it adds none."""
        problem, geometry = plan.problem, self._geometry
        scalar = _SCALARS[problem.precision.scalar]
        size = problem.M, problem.N, problem.K

        def bound(A: int, B: int, C: int, bias: int) -> partial[None]:
            layout, arguments = f"iii{scalar}PP{scalar}P", [*size, alpha, A, B, beta, C]
            if plan.network:
                layout, arguments = "iPPP", [problem.M, A, B, C]
            elif plan.variant.epilogue:
                layout, arguments = f"{layout}P", [*arguments, bias]
            where = geometry.grid, geometry.block, self._stream
            return packed(self._function, *where, layout, *arguments, shared=geometry.shared)

        each = zip(addresses, biases or [0] * len(addresses), strict=True)
        return Calls(tuple(bound(*at, bias) for at, bias in each), self._launch)


def _words(symbol: str, geometry: Geometry, registers: int) -> str:
    grid, block = ("x".join(map(str, shape)) for shape in (geometry.grid, geometry.block))
    threads = f"{geometry.threads} threads a block, {registers} registers a thread"
    return f"{symbol}: grid {grid}, block {block}, {threads}, {geometry.shared} dynamic shared bytes"
