"""Compiling ahead: every plan of a sweep, on all cores, before anything is measured."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager

from gemmbench.analysis.time_limit import kill_running_commands
from gemmbench.backends.base import Artifact, Compiler
from gemmbench.bench.experiments.context import Progress
from gemmbench.errors import BuildTimeout, GemmbenchError, HostError, PlanError
from gemmbench.planning.plans.plan import Plan

_PAUSE = 0.02

Built = Artifact | PlanError
"""Machine code, or why there is none."""


def compile_plans(plans: Sequence[Plan], compilers: Mapping[str, Compiler], progress: Progress) -> dict[Plan, Built]:
    """Compile every plan, each distinct code once.

    Where the compiler timed out, no other code of the same configuration is compiled: its layouts and
    precisions would take as long. Raises DeviceError.
    """
    distinct: dict[tuple[object, ...], list[Plan]] = {}
    for plan in plans:
        kernels = plan.variant.name, plan.variant.path, plan.symbols
        distinct.setdefault((*kernels, plan.device, plan.arch, plan.defines), []).append(plan)
    built: dict[Plan, Built] = {}
    endless: dict[tuple[object, ...], BuildTimeout] = {}
    jobs: dict[Future[Built], list[Plan]] = {}
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool, _end_after_errors(pool, jobs):
        for same in distinct.values():
            jobs[pool.submit(_compile, compilers[same[0].device], same[0], endless)] = same
        for number, job in enumerate(as_completed(jobs)):
            progress("compile", number + 1, len(jobs))
            for plan in jobs[job]:
                built[plan] = job.result()
    return built


@contextmanager
def _end_after_errors(pool: ThreadPoolExecutor, jobs: Collection[Future[Built]]) -> Iterator[None]:
    """After an error or a signal inside the block, end what still compiles instead of waiting for it."""
    try:
        yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        while any(job.running() for job in jobs):
            kill_running_commands()
            time.sleep(_PAUSE)
        raise


def _compile(compiler: Compiler, plan: Plan, endless: dict[tuple[object, ...], BuildTimeout]) -> Built:
    """Compile, unless a code of the same configuration is `endless`."""
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
    except Exception as fault:  # costs the rows of this code, not the sweep
        return HostError(fault)


def name_code(built: Built) -> str:
    """What distinguishes this code from other code, or why there is none."""
    return built.key if isinstance(built, Artifact) else str(built)
