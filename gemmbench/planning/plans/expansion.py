"""From problems, variants and values to plans: every configuration runs, or says why not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.manifests.expressions import Expression, ExpressionError
from gemmbench.planning.manifests.variant import ALL, Params, Variant
from gemmbench.planning.networks.network import Network
from gemmbench.planning.plans.evaluation import Excluded, Names, check_require, launches, tensor_maps, value, workspace
from gemmbench.planning.plans.plan import Config, Plan, Skip, Target
from gemmbench.planning.problems.problem import Problem

Refusal = Callable[[Variant, str], str]
"""(variant, device) -> why that back end cannot run it, or ""."""


def configurations(variant: Variant, params: Params) -> list[Config]:
    """Every combination of the chosen values; a parameter nobody chose keeps its default."""
    axes = []
    for name, declared in variant.params:
        values = params.get(name, declared if ALL in params else declared[:1])
        axes.append([(name, value) for value in values])
    return [Config(values) for values in itertools.product(*axes)]


def count_configurations(variant: Variant) -> int:
    """Configurations that the manifest allows, whatever the problem and the device."""
    allowed: list[dict[str, int]] = [{}]
    pending = list(variant.require)
    for name, values in [("", (0,)), *variant.params]:  # the first turn checks rules without parameters
        longer = [{**chosen, name: value} for chosen in allowed for value in values]
        # A rule is checked as soon as its parameters have values, which spares most combinations of the rest.
        rules = [rule for rule in pending if longer and longer[0].keys() >= set(rule.names)]
        pending = [rule for rule in pending if rule not in rules]
        allowed = [chosen for chosen in longer if all(_holds(rule, chosen) for rule in rules)]
    return len(allowed)


def _holds(rule: Expression, values: Mapping[str, int]) -> bool:
    try:
        return bool(rule.value(values))
    except ExpressionError:
        return False


def check_params(chosen: Sequence[tuple[Variant, Params]]) -> None:
    """Raise UsageError for a parameter that no chosen variant has."""
    known = {name for variant, _ in chosen for name, _ in variant.params}
    for _, params in chosen:
        for name in params:
            if name != ALL and name not in known:
                listed = ", ".join(sorted(known)) or "none"
                raise UsageError(f"no variant here has a parameter '{name}'{nearest(name, known)}; known: {listed}")


def check_memory(problems: Sequence[Problem], targets: Mapping[str, Target]) -> None:
    """Raise UsageError for a problem whose operands do not fit, before anything is allocated."""
    smallest = min(targets.values(), key=lambda target: target.memory)
    for problem in problems:
        if problem.bytes > smallest.memory:
            need, have = problem.bytes / 2**30, smallest.memory / 2**30
            raise UsageError(
                f"size {problem.size}: its operands need {need:,.1f} GiB, the {smallest.kind} device has {have:,.1f}; "
                "take a smaller size"
            )


def expand(
    problems: Sequence[Problem],
    chosen: Sequence[tuple[Variant, Sequence[Config]]],
    primary: str,
    targets: Mapping[str, Target],
    refuses: Refusal,
) -> list[Plan | Skip]:
    """Plan every problem on every variant and configuration, problems first, variants in order.

    `targets` maps a back end to what it offers; `primary` is the one kernels run on.
    """
    found: list[Plan | Skip] = []
    for problem, (variant, configs) in itertools.product(problems, chosen):
        device = place(variant, primary, targets)
        found += _planned(problem, variant, configs, device, targets.get(device), refuses)
    return found


def _planned(
    problem: Problem,
    variant: Variant,
    configs: Sequence[Config],
    device: str,
    target: Target | None,
    refuses: Refusal,
) -> list[Plan | Skip]:
    refusal = _unfit(problem, variant, target) or refuses(variant, device)
    if refusal or target is None:
        return [Skip(problem, variant, config, device, refusal) for config in configs]
    if variant.picks:
        return [_picked(problem, variant, device, target, refuses)]
    return [_plan(problem, variant, config, device, target) for config in configs]


def _picked(problem: Problem, variant: Variant, device: str, target: Target, refuses: Refusal) -> Plan | Skip:
    """The plan of the first row of `pick` that holds and can run, under the name of `variant`."""
    reason = f"no row of its pick holds for this problem ({variant.path})"
    for pick in variant.picks:
        code = pick.code
        assert code is not None, "a catalog looks it up"
        try:
            if pick.when is not None and not value(variant, pick.when, _names(problem, target)):
                continue
        except Excluded as fault:
            reason = str(fault)
            continue
        chosen = Config(tuple({**code.default(), **dict(pick.params)}.items()))
        (found,) = _planned(problem, code, [chosen], device, target, refuses)
        if isinstance(found, Plan):
            row = replace(found.variant, name=variant.name, order=variant.order)
            return replace(found, variant=row, config=replace(found.config, picked=found.config.picked or code.name))
        reason = f"{code.name}: {found.reason}"
    return Skip(problem, variant, Config(), device, reason)


def plan_network(
    network: Network, variant: Variant, config: Config, device: str, target: Target | None, refuses: Refusal
) -> Plan | Skip:
    """Plan a variant that computes a whole network."""
    if reason := unfit_device(variant, target) or refuses(variant, device):
        return Skip(network.problem, variant, config, device, reason)
    assert target is not None  # or it would be unfit
    return _plan(network.problem, variant, config, device, target, network)


def place(variant: Variant, primary: str, targets: Mapping[str, Target]) -> str:
    """The back end that runs a variant: the primary one if it can, else the host, else the one it needs."""
    target = targets.get(primary)
    if primary in variant.devices or (target and target.runs_every_variant):
        return primary
    return next((device for device in variant.devices if device in targets), variant.devices[0])


def _unfit(problem: Problem, variant: Variant, target: Target | None) -> str:
    if variant.computes != "gemm":
        return f"computes a whole network, not a GEMM: gemmbench mlp {variant.name}"
    if problem.precision_name not in variant.precisions:
        return f"precision {problem.precision_name} is not among its precisions: {', '.join(variant.precisions)}"
    if problem.layout not in variant.layouts:
        return f"layout {problem.layout} is not among its layouts: {', '.join(variant.layouts)}"
    return unfit_device(variant, target)


def unfit_device(variant: Variant, target: Target | None) -> str:
    """Why a device cannot run a variant, whatever the problem; "" if it can."""
    if target is None:
        return "needs an NVIDIA GPU; this run has none"
    if target.sm and target.sm < variant.min_sm:
        return f"needs compute capability {variant.min_sm / 10}, the device has {target.sm / 10}"
    if target.sm and not _architecture(variant, target.sm):
        return f"is written for sm_{', sm_'.join(variant.arch)} alone, the device is sm_{target.sm}"
    return ""


def unready(variant: Variant, device: str, target: Target | None, refuses: Refusal) -> str:
    """Why a back end cannot run a variant, or any that it picks from, whatever the problem; "" if it can."""
    if reason := unfit_device(variant, target) or refuses(variant, device):
        return reason
    reasons = [unready(pick.code, device, target, refuses) for pick in variant.picks if pick.code]
    return reasons[-1] if reasons and all(reasons) else ""


def _architecture(variant: Variant, sm: int) -> str:
    """What the compiler is told: the variant's own name for this device, else the device's number."""
    if not variant.arch:
        return str(sm)
    return next((name for name in variant.arch if name.rstrip("af") == str(sm)), "")


def _plan(
    problem: Problem, variant: Variant, config: Config, device: str, target: Target, network: Network | None = None
) -> Plan | Skip:
    names = {**_names(problem, target, network), **dict(config.values)}
    try:
        check_require(variant, names)
        launched, room = launches(variant, names, target), workspace(variant, names)
        maps = tensor_maps(variant, names, problem, room)
    except Excluded as reason:
        return Skip(problem, variant, config, device, str(reason))
    geometry = launched[-1][1] if launched else None
    arch = _architecture(variant, target.sm) if target.sm else ""
    return Plan(
        problem,
        variant,
        config,
        device,
        arch,
        geometry,
        network=network,
        launches=launched,
        workspace=room,
        tensor_maps=maps,
    )


def _names(problem: Problem, target: Target, network: Network | None = None) -> Names:
    names = {"M": problem.M, "N": problem.N, "K": problem.K, "BYTES": problem.storage("A").nbytes(1)}
    names |= {"TRANS_A": int(problem.trans_a), "TRANS_B": int(problem.trans_b)}
    return {**names, **(network.names if network else {}), "SMS": target.sms, "SMEM": target.smem, "L2": target.l2}
