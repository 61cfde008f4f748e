"""Compiling for a search: when it begins, and on how many cores."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

from gemmbench.bench.build import CompilerPool, open_pool
from gemmbench.bench.tuning.screening import count_ahead
from gemmbench.bench.tuning.tuning_task import TuningTask, make_key
from gemmbench.planning.search_space import Strategy
from gemmbench.session.session import Session

_WORKER_CORES = 1
"""Cores that compilers leave to the worker, whose device must not wait."""
_HELD_BACK = 2
"""One compiler in so many waits until the device is open: that starts a process, loads libraries, makes a context."""


def open_compilers(session: Session) -> AbstractContextManager[CompilerPool]:
    """A pool with a thread for each core that is not left to the worker; some are held back."""
    threads = max(1, (os.cpu_count() or 1) - _WORKER_CORES)
    return open_pool(session.compilers, threads, held_back=threads // _HELD_BACK)


def compile_first(task: TuningTask, strategy: Strategy, most: int, pool: CompilerPool) -> None:
    """Begin with the baseline and what a new `strategy` asks for, at most `most` candidates.

    This needs no device, so it runs while that is opened. The search asks for the same code later.
    """
    asked = filter(None, (strategy.ask() for _ in range(min(count_ahead(strategy), most))))
    candidates = [task.chains[make_key(configuration)] for configuration in asked]
    baseline = task.baseline.steps if task.baseline else ()
    for step in (*baseline, *(step for chain in candidates for step in task.list_first_steps(chain))):
        pool.submit(step)
