"""What `verify --invariance` adds: rows that are right run again at several M, to compare the bits of a row of C.

Groups are compared with other groups around them, see `vary_rows`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from msgspec.structs import replace as replace_fields

from gemmbench.backends.devices import Machine
from gemmbench.bench.build import compile_plans
from gemmbench.bench.experiments.invariance import (
    HEIGHTS,
    SKIPPED,
    InvarianceBatch,
    RowBits,
    describe_invariance,
    find_height,
    vary_rows,
)
from gemmbench.bench.measured_sweep import collect_code
from gemmbench.bench.record import Record
from gemmbench.bench.runner import Runner
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Chain, Config, Plan, Skip, level_workspaces, list_plans, make_chain
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.session.open_session import Session

_FIXED, _PICKED = "held fixed", "as picked"


@dataclass(frozen=True)
class RowSeries:
    """A row of a run, and its chains at several M; `how` they are configured, if its variant picks another way."""

    row: Chain
    chains: tuple[Chain, ...]
    how: str = ""


def plan_invariance(
    plans: Sequence[Plan], variants: Sequence[Variant], machine: Machine, sized: bool
) -> list[RowSeries]:
    """Plan the problems at which rows of `plans` are compared: with other M, alpha 1 and beta 0.

    Unless the user chose sizes, these are the plans with the largest N x K of each configuration, layout and precision.
    """
    known = {variant.name: variant for variant in variants}
    chosen = dict.fromkeys(plans) if sized else _choose_largest(plans)
    return [series for plan in chosen for series in _plan_row(plan, known[plan.variant.name], machine)]


def _choose_largest(plans: Iterable[Plan]) -> list[Plan]:
    chosen: dict[tuple[object, ...], Plan] = {}
    for plan in plans:
        kind = plan.variant.name, not plan.config.picked and plan.config, plan.problem.layout, plan.problem.precision
        if kind not in chosen or _count_elements(plan) > _count_elements(chosen[kind]):
            chosen[kind] = plan
    return list(chosen.values())


def _count_elements(plan: Plan) -> int:
    """The elements of B."""
    return plan.problem.N * plan.problem.K


def _plan_row(plan: Plan, variant: Variant, machine: Machine) -> list[RowSeries]:
    problems = [vary_rows(plan.problem, M) for M in HEIGHTS]
    row, fixed = make_chain(plan), _plan_heights(problems, plan.variant, plan.config, machine)
    if not variant.picks:
        return [RowSeries(row, fixed)]
    picked = _plan_heights(problems, variant, Config(), machine)
    return [RowSeries(row, fixed, _FIXED), *([RowSeries(row, picked, _PICKED)] if picked != fixed else [])]


def _plan_heights(problems: Iterable[Problem], variant: Variant, config: Config, machine: Machine) -> tuple[Chain, ...]:
    chains = []
    for problem in problems:
        chosen = [(variant, [config])]
        (item,) = make_plans([problem], chosen, machine.choice.primary, machine.targets, machine.why_refused)
        if isinstance(item, Plan) and problem.bytes > machine.targets[item.device].memory:
            item = Skip(problem, item.variant, item.config, item.device, "its operands do not fit in memory")
        chains.append(make_chain(item))
    return tuple(chains)


def add_invariance(
    session: Session, planned: Sequence[RowSeries], records: Sequence[Record], policy: Policy
) -> list[Record]:
    """Return the records; those that are right say what was found, up to an interruption. Raises DeviceError."""
    right = {record.kernel_key for record in records if record.status == "ok"}
    asked = [series for series in planned if series.row.kernel_key in right]
    leveled = iter(level_workspaces([chain for series in asked for chain in series.chains]))
    asked = [replace(series, chains=tuple(islice(leveled, len(series.chains)))) for series in asked]
    plans = list_plans(chain for series in asked for chain in series.chains)
    built = compile_plans(plans, session.compilers, session.progress, session.is_interrupted)
    if len(built) < len(plans):
        return list(records)
    able = [tuple(chain for chain in series.chains if chain.steps) for series in asked]
    batches = [
        InvarianceBatch(policy=policy, chains=chains, built=collect_code(chains, built)) for chains in able if chains
    ]
    runner: Runner[RowBits] = Runner(session.worker, _emit_nothing, session.progress, session.is_interrupted)
    found = iter(runner.run(batches))
    told: dict[tuple[object, ...], dict[str, str]] = {}
    for series, chains in zip(asked, able, strict=True):
        ran = list(islice(found, len(chains)))
        if len(ran) < len(chains):
            told.pop(series.row.kernel_key, None)
            break
        skipped = [RowBits(find_height(chain.problem), status=SKIPPED) for chain in series.chains if chain.reason]
        bits = sorted([*ran, *skipped], key=lambda each: each.M)
        words = describe_invariance(bits, bool(series.row.problem.groups))
        told.setdefault(series.row.kernel_key, {})[series.how] = words
    return [_add_words(record, told.get(record.kernel_key, {})) for record in records]


def _emit_nothing(found: Sequence[RowBits]) -> None:
    """Keep what was found for the records of the rows."""


def _add_words(record: Record, told: dict[str, str]) -> Record:
    """Return the record with what was found, once if it is the same however its variant picks."""
    if record.status != "ok" or not told:
        return record
    once = len(set(told.values())) == 1
    words = next(iter(told.values())) if once else "; ".join(f"{how}: {each}" for how, each in told.items())
    return replace_fields(record, invariance=words)
