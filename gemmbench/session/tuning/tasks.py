"""The searches of a command: the candidates of every variant at every problem."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

from gemmbench.backends.devices import Machine
from gemmbench.bench.tuning.tuning_task import TuningTask
from gemmbench.errors import DeviceError, UsageError
from gemmbench.planning.plans import configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Chain, Plan, make_chain
from gemmbench.planning.plans.skip_reasons import explain_unfit_device
from gemmbench.planning.problems import Problem
from gemmbench.planning.sizes import Shape
from gemmbench.planning.sweeps.planned_sweep import PlannedSweep
from gemmbench.session.fleet.machines import find_refusal

_FIRST_SHAPE: Shape = (31, 61, 97)
"""Primes, and M != N != K: no tile fits. Every candidate is verified here, if it can run here, before it is timed."""


def plan_tasks(
    planned: PlannedSweep, names: Sequence[str], machine: Machine, all_needed: bool = True
) -> list[TuningTask]:
    """A search for every problem and every name.

    Raises UsageError and DeviceError if one has no candidate; unless all are needed, if none of a problem has one.
    """
    by_problem: dict[Problem, list[Chain]] = {}
    for chain in planned.chains:
        by_problem.setdefault(chain.problem, []).append(chain)
    plan_checks = lru_cache(None)(partial(_plan_checks, machine))
    tasks = []
    for problem, chains in by_problem.items():
        baseline = next((chain for chain in chains if chain.name == planned.sweep.baseline and not chain.reason), None)
        for name in names:
            mine = [chain for chain in chains if chain.name == name]
            able = tuple(chain for chain in mine if not chain.reason)
            if not able and (all_needed or not any(_is_searched(chain, names) for chain in chains)):
                raise _explain_empty_space(name, problem, mine, machine)
            if not able:
                continue
            tasks.append(TuningTask(name, problem, able, baseline, plan_checks, len(mine) - len(able)))
    return tasks


def _is_searched(chain: Chain, names: Sequence[str]) -> bool:
    return chain.name in names and not chain.reason


def _explain_empty_space(name: str, problem: Problem, chains: Sequence[Chain], machine: Machine) -> Exception:
    reason = chains[0].reason if chains else "it has none"
    text = f"{name} at {problem}: no configuration can run here: {reason}"
    if chains and _is_unfit(chains[0], machine):
        return DeviceError(text)
    others = f", and {len(chains) - 1} more" if len(chains) > 1 else ""
    return UsageError(f"{text}{others}; choose other values with --param, or another problem")


def _is_unfit(chain: Chain, machine: Machine) -> bool:
    """The device cannot run the variant, whatever the problem and the configuration."""
    target = machine.targets.get(chain.device)
    return bool(explain_unfit_device(chain.variant, target) or find_refusal(machine)(chain.variant, chain.device))


def _plan_checks(machine: Machine, chain: Chain) -> tuple[Chain, ...]:
    """The configuration of a chain at the awkward problems where it can run, that for all candidates first."""
    shapes = (_FIRST_SHAPE, *(shape for shape in configurations.SHAPES if shape != _FIRST_SHAPE))
    shapes = shapes if machine.on_cpu else (*shapes, configurations.LARGE)
    asked = chain.problem
    problems = configurations.make_problems(chain.variant, shapes, [asked.layout], [asked.precision_name])
    chosen = [(chain.variant, [chain.config])]
    plans = make_plans(problems, chosen, machine.choice.primary, machine.targets, find_refusal(machine))
    return tuple(make_chain(plan) for plan in plans if isinstance(plan, Plan))
