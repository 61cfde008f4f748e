"""Compiling ahead: every plan of a sweep, on all cores, before anything is measured."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from gemmbench.backends.base import Artifact, Compiler
from gemmbench.bench.experiments.context import Progress
from gemmbench.errors import PlanError
from gemmbench.planning.plans.plan import Plan

Built = Artifact | PlanError
"""Machine code, or why there is none."""


def compile_plans(plans: Sequence[Plan], compilers: Mapping[str, Compiler], progress: Progress) -> dict[Plan, Built]:
    """Compile every plan, each distinct code once. Raises DeviceError."""
    distinct: dict[tuple[object, ...], list[Plan]] = {}
    for plan in plans:
        kernels = plan.variant.name, plan.variant.path, plan.symbols
        distinct.setdefault((*kernels, plan.device, plan.arch, plan.defines), []).append(plan)
    built: dict[Plan, Built] = {}
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        jobs = {pool.submit(_compile, compilers[same[0].device], same[0]): same for same in distinct.values()}
        for number, job in enumerate(as_completed(jobs)):
            progress("compile", number + 1, len(jobs))
            for plan in jobs[job]:
                built[plan] = job.result()
    return built


def _compile(compiler: Compiler, plan: Plan) -> Built:
    try:
        return compiler.compile(plan)
    except PlanError as fault:
        return fault


def name_code(built: Built) -> str:
    """What distinguishes this code from other code, or why there is none."""
    return built.key if isinstance(built, Artifact) else str(built)
