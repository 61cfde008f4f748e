"""Turns problems and variants into plans: every configuration becomes a plan, or a skip with its reason."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from gemmbench.errors import SpecError, UsageError
from gemmbench.planning.epilogues import SOFTMAX, fuse_steps
from gemmbench.planning.manifests.card_costs import FittedCosts, find_fitted
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.manifests.variant import GROUPS, MANY, Pick, Variant
from gemmbench.planning.networks import Network
from gemmbench.planning.plans.evaluation import (
    Excluded,
    Names,
    check_require,
    evaluate,
    evaluate_arguments,
    evaluate_launches,
    evaluate_macros,
    evaluate_tensor_maps,
    evaluate_tile,
    evaluate_workspace,
)
from gemmbench.planning.plans.plan import Config, Plan, Skip, Target
from gemmbench.planning.plans.skip_reasons import (
    Refusal,
    choose_architecture,
    choose_backend,
    explain_unfit_device,
    explain_unsuitable,
)
from gemmbench.planning.precisions import Precision
from gemmbench.planning.problems import Problem
from gemmbench.planning.sizes import check_plans


def check_memory(problems: Sequence[Problem], targets: Mapping[str, Target]) -> None:
    """Raise UsageError for a problem whose operands do not fit in memory, before anything is allocated."""
    smallest = min(targets.values(), key=lambda target: target.memory)
    for problem in problems:
        if problem.bytes > smallest.memory:
            need, have = problem.bytes / 2**30, smallest.memory / 2**30
            raise UsageError(
                f"size {problem.size}: its operands need {need:,.1f} GiB, but the {smallest.kind} device has "
                f"{have:,.1f} GiB; choose a smaller size"
            )


def make_plans(
    problems: Sequence[Problem],
    chosen: Sequence[tuple[Variant, Sequence[Config]]],
    primary: str,
    targets: Mapping[str, Target],
    refuses: Refusal,
    deadline: float = math.inf,
) -> list[Plan | Skip]:
    """Plan every problem with every variant and configuration: problem by problem, variants in order.

    `targets` maps a back end to its device, and `primary` is the one that runs kernels. Raises UsageError if there are
    too many plans, or if this process has used `deadline` seconds of a core.
    """
    check_plans(len(problems) * sum(len(configs) for _, configs in chosen))
    plans: list[Plan | Skip] = []
    for problem, (variant, configs) in itertools.product(problems, chosen):
        device = choose_backend(variant, primary, targets)
        plans += _plan_configurations(problem, variant, configs, device, targets.get(device), refuses, deadline)
    return plans


MOST_SECONDS = 8.0
"""The seconds of a core that planning a sweep may take. Many expressions with different values take long."""


def _check_deadline(variant: Variant, deadline: float) -> None:
    if time.process_time() > deadline:
        fault = f"planning takes more than {MOST_SECONDS:g} s; choose fewer sizes or values of parameters, or simplify"
        raise UsageError(f"{variant.path or variant.name}: {fault} its `let`, `require` or `pick`")


def _plan_configurations(
    problem: Problem,
    variant: Variant,
    configs: Sequence[Config],
    device: str,
    target: Target | None,
    refuses: Refusal,
    deadline: float = math.inf,
) -> list[Plan | Skip]:
    refusal = explain_unsuitable(problem, variant, target) or refuses(variant, device)
    if refusal or target is None:
        return [Skip(problem, variant, config, device, refusal) for config in configs]
    if variant.picks:
        picked = _plan_pick(problem, variant, device, target, refuses)
        _check_deadline(variant, deadline)
        return [picked]
    plans: list[Plan | Skip] = []
    split = bool(problem.groups) and GROUPS not in variant.kinds
    for config in configs:
        plan = _plan_groups if split else _plan_whole
        plans.append(plan(problem, variant, config, device, target, refuses))
        _check_deadline(variant, deadline)
    return plans


def _plan_whole(
    problem: Problem, variant: Variant, config: Config, device: str, target: Target, refuses: Refusal
) -> Plan | Skip:
    return _plan_passes(_make_plan(problem, variant, config, device, target), target, refuses)


_MOST_PROCESSES = 64
"""The most groups that the CPU device launches one by one: each has a process of its own."""


def _plan_groups(
    problem: Problem, variant: Variant, config: Config, device: str, target: Target, refuses: Refusal
) -> Plan | Skip:
    """Plan a launch for each group that has rows."""
    filled = sum(map(bool, problem.groups))
    if filled > _MOST_PROCESSES and not (target.is_gpu or variant.is_library):
        reason = f"would need a process for each of its {filled} groups, and may have {_MOST_PROCESSES}"
        return Skip(problem, variant, config, device, f"{reason}; its `kinds` has no `{GROUPS}`")
    parts: list[Plan] = []
    known: dict[Problem, Plan | Skip] = {}
    for number, rows in enumerate(problem.groups):
        if not rows:
            continue
        one = problem.take(number)
        if one not in known:
            known[one] = _plan_whole(one, variant, config, device, target, refuses)
        plan = known[one]
        if isinstance(plan, Skip):
            return Skip(problem, variant, config, device, f"group {number}, {rows} rows: {plan.reason}")
        passes = tuple(replace(each, group=number) for each in plan.passes)
        parts.append(replace(plan, group=number, passes=passes))
    return replace(parts[0], problem=problem, group=None, parts=tuple(parts))


def list_rows(problem: Problem, variant: Variant, primary: str, targets: Mapping[str, Target]) -> Iterator[int]:
    """Yield the numbers of the rows of `pick` that match a problem, in the order in which they are tried."""
    target = targets.get(choose_backend(variant, primary, targets))
    if target is None:
        return
    for found in _order_picks(variant, problem, target):
        if isinstance(found, int):
            yield found


def _order_picks(variant: Variant, problem: Problem, target: Target) -> Iterator[int | Excluded]:
    """Yield the numbers of the matching picks in order. Neighbours with an estimate are sorted, the fastest first.

    If the condition or estimate of a pick has no value, the fault is yielded instead. Raises SpecError for broken
    constants.
    """
    names, fitted = (
        collect_names(variant, straighten(problem, variant), target),
        find_fitted(variant, target.card, problem.precision_name),
    )
    for group in group_picks(variant, names):
        if isinstance(group, Excluded):
            yield group
        else:
            yield from order_group(variant, group, names, fitted)


def straighten(problem: Problem, variant: Variant) -> Problem:
    """Return a problem with its vectors as rows along K, if a variant has the layout that results."""
    return problem.straight if problem.straight.layout in variant.layouts else problem


def group_picks(variant: Variant, names: Names) -> Iterator[list[int] | Excluded]:
    """Yield the numbers of the matching picks in order: one alone, or neighbouring candidates together.

    If a condition has no value, the fault is yielded instead.
    """
    waiting: list[int] = []
    for number, pick in enumerate(variant.picks):
        if pick.estimate is None and waiting:
            yield waiting
            waiting = []
        try:
            if pick.when is not None and not evaluate(variant, pick.when, names):
                continue
        except Excluded as fault:
            yield fault
            continue
        if pick.estimate is not None:
            waiting.append(number)
        else:
            yield [number]
    if waiting:
        yield waiting


def order_group(variant: Variant, group: Sequence[int], names: Names, fitted: FittedCosts) -> Iterator[int | Excluded]:
    """Yield the numbers of candidates, the one with the lowest estimate first; before them, faults of estimates."""
    if len(group) == 1:
        yield group[0]
        return
    estimates: list[tuple[int, int]] = []
    for number in group:
        try:
            estimates.append((estimate_time(variant, variant.picks[number], names, fitted), number))
        except Excluded as fault:
            yield fault
    yield from (number for _, number in sorted(estimates))


def estimate_time(variant: Variant, pick: Pick, names: Names, fitted: FittedCosts) -> int:
    """Return the estimated time of a candidate in picoseconds. Raises Excluded."""
    assert pick.estimate is not None, "only candidates have one"
    own = {**names, **pick.values}
    place = pick.costs_key
    costs = fitted[place] if place in fitted else evaluate_costs(variant, pick, own)
    if costs is None or fitted.get(("" if pick.shares_costs else pick.region, pick.candidate), costs) is None:
        raise Excluded(f"{pick.variant}: its results were wrong when candidates were surveyed on this card")
    return evaluate(variant, pick.estimate, {**own, **costs})


def evaluate_costs(variant: Variant, pick: Pick, names: Names) -> dict[str, int]:
    """Return the constants of a candidate for a card for which none were fitted. Raises Excluded."""
    return {name: evaluate(variant, default, {**names, **pick.values}) for name, default in pick.costs}


def _plan_pick(problem: Problem, variant: Variant, device: str, target: Target, refuses: Refusal) -> Plan | Skip:
    """Plan the first row of `pick` that matches and can run, under the name of `variant`."""
    reason = f"no row of its `pick` matches this problem ({variant.path})"
    try:
        find_fitted(variant, target.card, problem.precision_name)
    except SpecError as fault:  # other variants can run
        return Skip(problem, variant, Config(), device, str(fault))
    for found in _order_picks(variant, problem, target):
        if isinstance(found, Excluded):
            reason = str(found)
            continue
        pick = variant.picks[found]
        code = pick.code
        assert code is not None, "the catalog fills it in"
        chosen = Config(tuple(pick.values.items()))
        seen = straighten(problem, code)
        (plan,) = _plan_configurations(seen, code, [chosen], device, target, refuses)
        if isinstance(plan, Plan):
            renamed = replace(plan.variant, name=variant.name, order=variant.order)
            config = replace(plan.config, picked=plan.config.picked or code.name)
            return replace(plan, problem=problem, variant=renamed, config=config, straight=seen != problem)
        reason = f"{code.name}: {plan.reason}"
    return Skip(problem, variant, Config(), device, reason)


def plan_network(
    network: Network, variant: Variant, config: Config, device: str, target: Target | None, refuses: Refusal
) -> Plan | Skip:
    """Plan a variant that computes a whole network."""
    wanted, known = network.precision_name, ", ".join(variant.precisions)
    unknown = "" if wanted in variant.precisions else f"does not support precision {wanted}; supports {known}"
    if reason := unknown or explain_unfit_device(variant, target) or refuses(variant, device):
        return Skip(network.problem, variant, config, device, reason)
    assert target is not None  # explain_unfit_device has a reason for None
    return _make_plan(network.problem, variant, config, device, target, network)


_PASSES = Path(__file__).parents[1] / "passes"


@cache
def read_pass(name: str) -> Variant:
    """Return a pass over a finished C that comes with gemmbench: `elementwise` or `softmax`."""
    return read_variant(_PASSES / f"{name}.cu")


def _plan_passes(plan: Plan | Skip, target: Target, refuses: Refusal) -> Plan | Skip:
    """Let a pass follow a plan that does not apply the whole epilogue of its problem itself."""
    if isinstance(plan, Skip):
        return plan
    wanted = plan.problem.epilogue
    if not (rest := wanted[len(fuse_steps(wanted, plan.variant.list_fused(plan.problem.precision))) :]):
        return plan
    variant = read_pass(SOFTMAX if SOFTMAX in rest else "elementwise")
    problem, config = replace(plan.problem, epilogue=rest), Config(tuple(variant.default().items()))
    if reason := refuses(variant, plan.device):
        reason = f"does not fuse {', '.join(rest)}, and the pass cannot run: {reason}"
        return Skip(plan.problem, plan.variant, plan.config, plan.device, reason)
    after = _make_plan(problem, variant, config, plan.device, target)
    if isinstance(after, Skip):
        return Skip(plan.problem, plan.variant, plan.config, plan.device, f"the pass after it: {after.reason}")
    return replace(plan, passes=(after,))


def _make_plan(
    problem: Problem, variant: Variant, config: Config, device: str, target: Target, network: Network | None = None
) -> Plan | Skip:
    launched = problem if problem.groups or MANY in variant.kinds else problem.one
    names = {**collect_names(variant, launched, target, network), **dict(config.values)}
    try:
        check_require(variant, names)
        launches = evaluate_launches(variant, names, target, launched)
        workspace, zeroed = evaluate_workspace(variant, names)
        maps = evaluate_tensor_maps(variant, names, launched, workspace)
        tile = evaluate_tile(variant, names)
        macros, arguments = evaluate_macros(variant, names, launched), evaluate_arguments(variant, names, launched)
    except Excluded as reason:
        return Skip(problem, variant, config, device, str(reason))
    geometry = launches[-1][1] if launches else None
    arch = choose_architecture(variant, target.sm) if target.sm else ""
    return Plan(
        problem,
        variant,
        config,
        device,
        arch,
        geometry,
        network=network,
        launches=launches,
        workspace=workspace,
        zeroed=zeroed,
        tensor_maps=maps,
        tile=tile,
        macros=macros,
        arguments=arguments,
    )


def collect_names(variant: Variant, problem: Problem, target: Target, network: Network | None = None) -> Names:
    """Return the names that the expressions of a variant may read besides its parameters."""
    column_major = variant.call.column_major
    seen = problem.column_major if column_major else problem
    names = {"M": seen.M, "N": seen.N, "K": seen.K}
    names |= {"BYTES": seen.storage("A").nbytes(1), "BYTES_C": seen.storage("C").nbytes(1)}
    names |= {"TRANS_A": int(seen.trans_a), "TRANS_B": int(seen.trans_b)}
    names |= {"PROMOTED_EVERY": problem.precision.accumulator.promoted_every}
    names |= {f"ld{name.lower()}": size for name, size in seen.list_leading(column_major).items()}
    names |= {"count": seen.count, "groups": len(seen.groups)} | {
        f"stride_{name.lower()}": seen.stride(name) for name in "ABC"
    }
    names |= {"SMS": target.sms, "SMEM": target.smem, "L2": target.l2}
    return {**names, **_describe_speed(target, problem.precision), **(network.names if network else {})}


_USUAL_CLOCK, _USUAL_BANDWIDTH, _USUAL_PEAK = 1500, 1_000_000, 256


def _describe_speed(target: Target, precision: Precision) -> Names:
    """Return how fast a card is, in the units of CARD_NAMES. What is unknown has the value of an ordinary card."""
    peak = precision.peak.of_device(target.name, target.sm)
    return {
        "CLOCK": round(target.clock_hz / 1e6) or _USUAL_CLOCK,
        "BANDWIDTH": round(target.bandwidth / 1e6) or _USUAL_BANDWIDTH,
        "PEAK": round(peak or 0) or _USUAL_PEAK,
    }
