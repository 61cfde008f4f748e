"""Configurations: the values of its parameters that a variant is tried with."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.manifests.expressions import Expression, ExpressionError
from gemmbench.planning.manifests.variant import ALL, Params, Variant
from gemmbench.planning.plans.plan import Config


def list_configurations(variant: Variant, params: Params) -> list[Config]:
    """Return every combination of the chosen values; other parameters keep their default."""
    axes = []
    for name, declared in variant.params:
        values = params.get(name, declared if ALL in params else declared[:1])
        axes.append([(name, value) for value in values])
    return [Config(values) for values in itertools.product(*axes)]


def count_configurations(variant: Variant) -> int:
    """Count the configurations that the manifest allows for some problem and device."""
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
                raise UsageError(f"no chosen variant has a parameter '{name}'{nearest(name, known)}; known: {listed}")
