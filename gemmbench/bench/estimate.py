"""A rough estimate of how long a sweep takes, for `--dry-run`; nothing is measured."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gemmbench.backends.machine import Machine
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.policy import Policy

_COMPILE_SECONDS = 0.7
_SHARE_OF_PEAK = 0.2  # of an average kernel of the ladder
_CPU_RATE = 2e9  # operations per second and core, with every CUDA thread as a coroutine
_ROUNDS = 20  # until the interval is narrow enough, typically
_CHECKS = 4  # launches that verify, size the window and compare the copies


def estimate_seconds(plans: Sequence[Plan], machine: Machine, policy: Policy) -> float:
    """Seconds for compiling (as if nothing were cached), verifying and measuring `plans`."""
    kernels = {(plan.variant.path, plan.symbols, plan.device, plan.defines) for plan in plans if plan.variant.text}
    compiling = len(kernels) * _COMPILE_SECONDS / (os.cpu_count() or 1)
    return compiling + sum(_estimate_plan(plan, machine, policy) for plan in plans)


def _estimate_plan(plan: Plan, machine: Machine, policy: Policy) -> float:
    device = machine.devices[plan.device]
    cycle = device.flops_per_cycle.get(plan.problem.precision_name, 0.0)
    rate = _SHARE_OF_PEAK * cycle * device.clock_hz or _CPU_RATE * device.target.sms
    launch = plan.problem.flops / rate
    window = max(launch, policy.window)
    rounds = min(policy.rounds, _ROUNDS) if policy.until else policy.rounds
    return min(policy.max_time, rounds * window) + policy.energy + _CHECKS * launch
