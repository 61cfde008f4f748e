"""The sweep that measures the rows of a results file again.

It is built from the rows and not from the recorded command, so it does not depend on environment
variables or on what a config says today: the same problems, variants, configurations and policy.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any

from gemmbench.backends.devices import Machine
from gemmbench.bench.record import Environment, Record
from gemmbench.errors import UsageError, nearest
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import check_memory, make_plans
from gemmbench.planning.plans.plan import Config, Plan, Skip
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.planned_sweep import PlannedSweep
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.sweep import Sweep
from gemmbench.report.store.recorded_run import Run
from gemmbench.session.fleet.machines import find_refusal

NAME = "check"
"""The name of the sweep, which is also in the name of its results file."""


def plan_repeat(run: Run, variants: Collection[str], catalog: Catalog, machine: Machine) -> PlannedSweep:
    """Plan the rows of a run that ran again, those of `variants` only if it names any, with the baseline.

    Raises UsageError if the run is one of networks, or has no row of a variant that is named.
    """
    if any(record.network for record in run.records):
        raise UsageError(
            f"{run.path}: a run of a network, which check cannot repeat; measure it again and use gemmbench compare"
        )
    records = _choose_records(run, variants)
    problems = tuple(dict.fromkeys(record.problem for record in records))
    check_memory(problems, machine.targets)
    expanded = [item for record in records for item in _plan_record(record, catalog, machine)]
    baseline = run.environment.baseline
    expanded += _plan_baseline(baseline, problems, catalog, machine) if baseline else []
    sweep = Sweep(NAME, problems, (), baseline, read_policy(run.environment))
    return PlannedSweep(sweep, list(dict.fromkeys(expanded)))


def _choose_records(run: Run, variants: Collection[str]) -> list[Record]:
    """The rows to measure again; finals are chosen anew."""
    ran = [record for record in run.records if record.status != "skipped"]
    known = dict.fromkeys(record.variant for record in ran)
    for name in variants:
        if name not in known:
            raise UsageError(f"{run.path}: no row of '{name}'{nearest(name, known)}; it has {', '.join(known)}")
    return [record for record in ran if record.phase == "sweep" and (not variants or record.variant in variants)]


def _plan_record(record: Record, catalog: Catalog, machine: Machine) -> list[Plan | Skip]:
    variant = catalog.get(record.variant)
    config = Config() if variant.picks else _order_config(variant, record)
    return _plan(record.problem, variant, config, machine)


def _order_config(variant: Variant, record: Record) -> Config:
    """The configuration of a row in the order of the manifest. Raises UsageError if parameters have changed."""
    names = [name for name, _ in variant.params]
    if set(names) != set(record.config):
        recorded, declared = (", ".join(each) or "none" for each in (record.config, names))
        raise UsageError(
            f"{record.variant}: the reference run has the parameters {recorded}, the kernel now has {declared}; "
            "name other variants, or save a new reference run"
        )
    return Config(tuple((name, record.config[name]) for name in names))


def _plan_baseline(name: str, problems: Sequence[Problem], catalog: Catalog, machine: Machine) -> list[Plan | Skip]:
    variant = catalog.get(name)
    config = list_configurations(variant, {})[0]
    return [item for problem in problems for item in _plan(problem, variant, config, machine)]


def _plan(problem: Problem, variant: Variant, config: Config, machine: Machine) -> list[Plan | Skip]:
    chosen = [(variant, [config])]
    return make_plans([problem], chosen, machine.choice.primary, machine.targets, find_refusal(machine))


def read_policy(environment: Environment) -> Policy:
    """The policy of a run, without steady loads; what an old file does not record has its usual value."""
    known = {each.name for each in fields(Policy)}
    recorded: dict[str, Any] = {name: value for name, value in environment.policy.items() if name in known}
    return Policy(**recorded | {"sustained": 0.0})
