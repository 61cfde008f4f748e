"""From problems, variants and values to plans: every configuration runs, or says why not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from gemmbench.errors import UsageError, nearest
from gemmbench.spec.expr import Expression, ExpressionError
from gemmbench.spec.network import Network
from gemmbench.spec.plan import Config, Geometry, Plan, Skip, Target
from gemmbench.spec.problem import Problem
from gemmbench.spec.variant import ALL, Params, Variant

Refusal = Callable[[Variant, str], str]
"""(variant, device) -> why that back end cannot run it, or ""."""

_MOST_THREADS = 1024
_MOST_BLOCKS = (2**31 - 1, 65535, 65535)


class _Excluded(Exception):
    """One configuration is ruled out; the message is the reason of its Skip."""


def configurations(variant: Variant, params: Params) -> list[Config]:
    """Every combination of the chosen values; a parameter nobody chose keeps its default."""
    axes = []
    for name, declared in variant.params:
        values = params.get(name, declared if ALL in params else declared[:1])
        axes.append([(name, value) for value in values])
    return [Config(values) for values in itertools.product(*axes)]


def count_configurations(variant: Variant) -> int:
    """Configurations that the manifest allows, whatever the problem and the device."""
    own = {name for name, _ in variant.params}
    rules = [rule for rule in variant.require if own.issuperset(rule.names)]
    return sum(all(_holds(rule, config) for rule in rules) for config in configurations(variant, {ALL: ()}))


def _holds(rule: Expression, config: Config) -> bool:
    try:
        return bool(rule.value(dict(config.values)))
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
        refusal = _unfit(problem, variant, targets.get(device)) or refuses(variant, device)
        for config in configs:
            if refusal:
                found.append(Skip(problem, variant, config, device, refusal))
            else:
                found.append(_plan(problem, variant, config, device, targets[device]))
    return found


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
    if primary == "fake" or primary in variant.devices:
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


def _architecture(variant: Variant, sm: int) -> str:
    """What the compiler is told: the variant's own name for this device, else the device's number."""
    if not variant.arch:
        return str(sm)
    return next((name for name in variant.arch if name.rstrip("af") == str(sm)), "")


def _plan(
    problem: Problem, variant: Variant, config: Config, device: str, target: Target, network: Network | None = None
) -> Plan | Skip:
    names = {"M": problem.M, "N": problem.N, "K": problem.K, "BYTES": problem.precision.bytes}
    names |= {**(network.names if network else {}), **dict(config.values)}
    names |= {"SMS": target.sms, "SMEM": target.smem, "L2": target.l2}
    try:
        geometry = _geometry(variant, names, target)
    except _Excluded as reason:
        return Skip(problem, variant, config, device, str(reason))
    arch = _architecture(variant, target.sm) if device == "cuda" else ""
    return Plan(problem, variant, config, device, arch, geometry, network=network)


def _geometry(variant: Variant, names: Mapping[str, int], target: Target) -> Geometry | None:
    for condition in variant.require:
        if not _value(variant, condition, names):
            raise _Excluded(f"require {condition} ({variant.path}:{condition.line})")
    if variant.launch is None or variant.kind == "host":
        return None
    launch = variant.launch
    grid = _triple(_value(variant, expression, names) for expression in launch.grid)
    block = _triple(_value(variant, expression, names) for expression in launch.block)
    geometry = Geometry(grid, block, _value(variant, launch.shared, names))
    _check_limits(variant, geometry, target)
    return geometry


def _triple(values: Iterator[int]) -> tuple[int, int, int]:
    x, y, z = [*values, 1, 1][:3]
    return x, y, z


def _value(variant: Variant, expression: Expression, names: Mapping[str, int]) -> int:
    try:
        return expression.value(names)
    except ExpressionError as fault:
        raise _Excluded(f"{fault} ({variant.path}:{expression.line})") from None


def _check_limits(variant: Variant, geometry: Geometry, target: Target) -> None:
    assert variant.launch is not None
    where = f"({variant.path}:{variant.launch.block[0].line})"
    if not 1 <= geometry.threads <= _MOST_THREADS or min(geometry.block) < 1:
        raise _Excluded(f"a block of {geometry.threads} threads, 1 to {_MOST_THREADS} are possible {where}")
    if any(not 1 <= count <= most for count, most in zip(geometry.grid, _MOST_BLOCKS, strict=True)):
        shape = " x ".join(map(str, geometry.grid))
        raise _Excluded(f"a grid of {shape} blocks is outside the device's limits {where}")
    if not 0 <= geometry.shared <= target.smem:
        line = variant.launch.shared.line
        raise _Excluded(
            f"{geometry.shared} bytes of shared memory, a block may have {target.smem} ({variant.path}:{line})"
        )
