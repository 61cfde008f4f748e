"""Limits on machine code, which a manifest sets under `sass`, checked against the hottest loop."""

from __future__ import annotations

from collections.abc import Mapping

from gemmbench.analysis.sass.facts import LoopFacts
from gemmbench.planning.manifests.expressions import Expression, ExpressionError
from gemmbench.planning.plans.plan import Plan


def limit_names(facts: LoopFacts, plan: Plan, sm: int) -> dict[str, int]:
    """The names that expressions under `sass` may read, with their values: the parameters and SASS_NAMES.

    There is no `load_distance` where no shared load is used.
    """
    found = {
        **dict(plan.config.values),
        "BYTES": plan.problem.storage("A").nbytes(1),
        "sm": sm,
        "instructions": facts.instructions,
        "ffma": facts.mix["FFMA"],
        "tensor": facts.mix["tensor cores"],
        "conflicts": facts.conflicts,
        "reuse": facts.reuse,
        "spills": facts.mix["spills"],
        "shared_loads": facts.mix["shared loads"],
        "code_bytes": facts.loop.code_bytes,
    }
    return found if facts.load_distance is None else {**found, "load_distance": facts.load_distance}


def find_broken_limits(plan: Plan, facts: LoopFacts | None, sm: int) -> list[str]:
    """One sentence for each limit of the plan's variant that is broken.

    `facts` is None if no loop has math.
    """
    limits = plan.variant.sass
    if facts is None:
        return [f"{limit}: no loop has math" for limit in limits]
    known = limit_names(facts, plan, sm)
    return [fault for limit in limits if (fault := _explain_broken(limit, known))]


def _explain_broken(limit: Expression, known: Mapping[str, int]) -> str:
    if missing := [name for name in limit.names if name not in known]:
        return f"{limit}: there is no {missing[0]}, because the loop uses nothing from shared memory"
    try:
        holds = limit.value(known)
    except ExpressionError as fault:
        return str(fault)
    return "" if holds else f"{limit}: {', '.join(f'{name} is {known[name]}' for name in limit.names)}"
