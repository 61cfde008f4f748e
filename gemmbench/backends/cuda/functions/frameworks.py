"""What PyTorch and CuPy have to know, if a module has imported them: the stream, and whose memory is whose."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from typing import Any


def make_current(stream: int, device: int) -> None:
    """Make a stream of a GPU the current one, on which they queue what names no stream."""
    if torch := sys.modules.get("torch"):
        torch.cuda.set_stream(_wrap_for_torch(torch, stream, device))
    if cupy := sys.modules.get("cupy"):
        _wrap_for_cupy(cupy, stream, device).use()


@lru_cache(maxsize=64)
def _wrap_for_torch(torch: Any, stream: int, device: int) -> Any:
    return torch.cuda.ExternalStream(stream, device=device)


@lru_cache(maxsize=64)
def _wrap_for_cupy(cupy: Any, stream: int, device: int) -> Any:
    return cupy.cuda.ExternalStream(stream, device)


@contextmanager
def private_memory() -> Iterator[object]:
    """Let them allocate from pools of their own inside the block; the pools live as long as what is yielded.

    A graph keeps the addresses of temporary arrays. In the usual pool the next call would get the same memory.
    """
    pools: list[object] = []
    with ExitStack() as held:
        torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
        if torch and hasattr(torch.cuda, "use_mem_pool"):
            pools.append(torch.cuda.MemPool())
            held.enter_context(torch.cuda.use_mem_pool(pools[-1]))
        if cupy:
            pool = cupy.cuda.MemoryPool()
            pools.append(pool)
            held.enter_context(cupy.cuda.using_allocator(pool.malloc))
        yield pools


def release_memory() -> None:
    """Give back to the GPU what they keep although nothing uses it."""
    if torch := sys.modules.get("torch"):
        with suppress(RuntimeError):  # after a crashed kernel nothing can be freed
            torch.cuda.empty_cache()
    if cupy := sys.modules.get("cupy"):
        with suppress(RuntimeError):
            cupy.get_default_memory_pool().free_all_blocks()
