"""Compiles the Triton kernels of several calls in threads, before first calls would compile them one by one.

The calls are made while Triton only compiles, for the arguments that it gets, and launches nothing. Its own
AsyncCompileMode collects the compilations, whose results are in Triton's cache on disk.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from gemmbench.errors import DeviceLost

TRITON = "triton"


class _Untimed(Exception):
    """Raised instead of letting an autotuner time kernels that are not launched."""


def compile_kernels(calls: Sequence[Callable[[], object]]) -> None:
    """Compile the kernels that the calls would launch. Does nothing without Triton 3.5. Raises DeviceLost.

    Calls that fail are left to their first call, which reports the fault.
    """
    mode = getattr(sys.modules.get(TRITON), "AsyncCompileMode", None)
    if mode is None:
        return
    with (
        ThreadPoolExecutor(os.cpu_count() or 1) as threads,
        mode(threads, ignore_errors=True),
        _replace("runtime.jit.JITFunction", _make_warm_run),
        _replace("runtime.autotuner.Autotuner", _refuse_run),
    ):
        for call in calls:
            _try(call)


def _try(call: Callable[[], object]) -> None:
    try:
        call()
    except DeviceLost:
        raise
    except Exception:  # the first call says why
        return


@contextmanager
def _replace(name: str, make_run: Callable[[Any], Any]) -> Iterator[None]:
    """Replace the method `run` of a class of Triton during the `with` block."""
    module, _, class_name = name.rpartition(".")
    owner = getattr(import_module(f"{TRITON}.{module}"), class_name)
    run = owner.run
    owner.run = make_run(run)
    try:
        yield
    finally:
        owner.run = run


def _make_warm_run(run: Any) -> Any:
    def warm(kernel: Any, *args: Any, **options: Any) -> Any:
        return run(kernel, *args, **{**options, "warmup": True})

    return warm


def _refuse_run(_: Any) -> Any:
    def refuse(*_: Any, **__: Any) -> None:
        raise _Untimed

    return refuse
