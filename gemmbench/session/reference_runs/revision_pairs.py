"""Kernels paired with those of a git revision, to be measured in the same rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gemmbench.backends.devices import Machine
from gemmbench.errors import UsageError
from gemmbench.planning.manifests.catalog import MARK, Catalog
from gemmbench.planning.manifests.revisions import RevisionKernels
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Chain, Config, Plan, make_chain
from gemmbench.planning.sweeps.planned_sweep import PlannedSweep
from gemmbench.session.fleet.machines import find_refusal


@dataclass(frozen=True)
class RevisionPairs:
    """Groups of chains to measure together: the revision's kernel, today's, and the baseline if it can run.

    `new` names what the revision does not have.
    """

    groups: list[list[Chain]]
    new: list[str]


def plan_pairs(
    planned: PlannedSweep, revision: str, kernels: RevisionKernels, catalog: Catalog, machine: Machine
) -> RevisionPairs:
    """Pair every planned kernel with its past. Raises UsageError if no kernel is planned, and SpecError."""
    plans = [plan for plan in planned.plans if not catalog.get(plan.variant.name).is_library]
    if not plans:
        raise UsageError("check against a revision takes kernels, but nothing else can run here; name VARIANTs")
    baselines = {plan.problem: plan for plan in planned.plans if plan.variant.name == planned.sweep.baseline}
    groups: list[list[Chain]] = []
    new: list[str] = []
    for plan in plans:
        past = _plan_past(plan, revision, kernels, catalog, machine)
        if isinstance(past, str):
            new.append(f"{plan.variant.name} {plan.config} at {plan.problem}: {past}")
        else:
            groups.append(list(_make_group(past, plan, baselines.get(plan.problem))))
    return RevisionPairs(groups, new)


def _make_group(past: Plan, plan: Plan, baseline: Plan | None) -> Iterator[Chain]:
    yield make_chain(past)
    yield make_chain(plan)
    if baseline is not None and baseline is not plan:
        yield make_chain(baseline)


def _plan_past(plan: Plan, revision: str, kernels: RevisionKernels, catalog: Catalog, machine: Machine) -> Plan | str:
    """The plan of the kernel as it was, or why there is none."""
    name = plan.variant.name
    if name not in kernels.names:
        return f"{revision} has no such kernel"
    past = catalog.get(f"{revision}{MARK}{name}")
    config = _find_config(plan, catalog.get(name), past)
    if config is None:
        return f"{revision} has other parameters"
    primary, targets = machine.choice.primary, machine.targets
    (item,) = make_plans([plan.problem], [(past, [config])], primary, targets, find_refusal(machine))
    return item if isinstance(item, Plan) else f"{revision} cannot run here: {item.reason}"


def _find_config(plan: Plan, variant: Variant, past: Variant) -> Config | None:
    """The same parameters; the default of the past for today's default."""
    if past.picks or dict(plan.config.values) == variant.default():
        return Config(() if past.picks else tuple(past.default().items()))
    return plan.config if past.default().keys() == variant.default().keys() else None
