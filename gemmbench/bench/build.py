"""Compiles plans ahead of time on all cores, before or while other plans are measured. Each code is compiled once."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Semaphore
from typing import Any

from gemmbench.analysis.toolkit import kill_running_commands
from gemmbench.backends.base import Artifact, Compiler
from gemmbench.backends.code_cache import cache_folder, explain_unwritable
from gemmbench.bench.experiments.context import Progress
from gemmbench.errors import BuildTimeout, GemmbenchError, HostError, PlanError
from gemmbench.planning.plans.plan import Plan

_PAUSE = 0.02
_GLANCE = 0.2
"""Seconds between checks of whether to stop compiling."""

Built = Artifact | PlanError
"""Machine code, or the reason why there is none."""


class CompilerPool:
    """Compiles in threads, each distinct code once. Create it with `open_pool`.

    `held_back` of its threads wait until `use_all_threads` is called. After a timeout, no other code of the same
    configuration is compiled, because its other layouts and precisions would take as long.
    """

    def __init__(self, pool: ThreadPoolExecutor, compilers: Mapping[str, Compiler], threads: int, held_back: int = 0):
        self._pool, self._compilers = pool, compilers
        self._places, self._held_back = Semaphore(threads - held_back), held_back
        self._jobs: dict[tuple[object, ...], Future[Built]] = {}
        self._endless: dict[tuple[object, ...], BuildTimeout] = {}

    def submit(self, plan: Plan) -> Future[Built]:
        """Return the job that compiles a plan. Its `result` raises DeviceError."""
        kernels = plan.variant.name, plan.variant.path, plan.symbols
        key = (*kernels, plan.device, plan.arch, plan.defines, plan.flags)
        if key not in self._jobs:
            self._jobs[key] = self._pool.submit(self._compile, plan)
        return self._jobs[key]

    def cancel(self, jobs: Iterable[Future[Built]]) -> None:
        """Cancel the jobs that have not started. Code that is needed later is submitted again."""
        cancelled = {job for job in jobs if job.cancel()}
        self._jobs = {key: job for key, job in self._jobs.items() if job not in cancelled}

    def use_all_threads(self) -> None:
        """Start compiling on the threads that were held back."""
        if self._held_back:
            self._places.release(self._held_back)
        self._held_back = 0

    def _compile(self, plan: Plan) -> Built:
        with self._places:
            return _compile(self._compilers[plan.device], plan, self._endless)

    @property
    def is_busy(self) -> bool:
        """Whether a compiler is running."""
        return any(job.running() for job in self._jobs.values())


@contextmanager
def open_pool(
    compilers: Mapping[str, Compiler], threads: int | None = None, held_back: int = 0
) -> Iterator[CompilerPool]:
    """Open a pool for the `with` block, by default with one thread per core. Unfinished jobs end with the block.

    `held_back` of the threads wait for `use_all_threads`. After an error or a signal in the block, running compilations
    are stopped immediately.
    """
    threads = threads or os.cpu_count() or 1
    with ThreadPoolExecutor(threads) as executor:
        pool = CompilerPool(executor, compilers, threads, held_back)
        try:
            yield pool
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
            pool.use_all_threads()  # so that waiting threads end too
            while pool.is_busy:
                kill_running_commands()
                time.sleep(_PAUSE)


def compile_plans(
    plans: Sequence[Plan],
    compilers: Mapping[str, Compiler],
    progress: Progress,
    is_interrupted: Callable[[], bool] = lambda: False,
) -> dict[Plan, Built]:
    """Compile every plan. Returns an empty dict if interrupted before all are done. Raises DeviceError."""
    with open_pool(compilers) as pool:
        jobs = {plan: pool.submit(plan) for plan in plans}
        distinct = list(dict.fromkeys(jobs.values()))
        asked = time.monotonic()
        for number, job in enumerate(distinct):
            while not job.done():
                wait_for_any([job], _GLANCE)
                if time.monotonic() - asked > _GLANCE:
                    if is_interrupted():
                        return {}
                    asked = time.monotonic()
            progress("compile", number + 1, len(distinct))
            job.result()
        return {plan: job.result() for plan, job in jobs.items()}


def wait_for_any(jobs: Sequence[Future[Any]], seconds: float) -> None:
    """Wait at most `seconds` until one of the jobs is done."""
    wait(jobs, seconds, FIRST_COMPLETED)


def _compile(compiler: Compiler, plan: Plan, endless: dict[tuple[object, ...], BuildTimeout]) -> Built:
    """Compile the plan, unless `endless` shows that other code of the same configuration timed out."""
    configuration = plan.variant.name, plan.variant.path, plan.config, plan.device
    if configuration in endless:
        return endless[configuration]
    try:
        return compiler.compile(plan)
    except BuildTimeout as fault:
        endless[configuration] = fault
        return fault
    except PlanError as fault:
        return fault
    except GemmbenchError:
        raise
    except Exception as fault:  # fails the rows of this code, but not the sweep
        if isinstance(fault, OSError) and fault.errno == errno.ENOSPC:
            raise explain_unwritable(cache_folder(), fault) from None
        return HostError(fault)


def name_code(built: Built) -> str:
    """Return a text that identifies this code, or the reason why there is none."""
    return built.key if isinstance(built, Artifact) else str(built)
