"""Configurations: the values of its parameters that a variant is tried with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import overload

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.bounds import check_configurations
from gemmbench.planning.manifests.expressions import Expression, ExpressionError
from gemmbench.planning.manifests.variant import ALL, Params, Variant
from gemmbench.planning.plans.plan import Config


class Configurations(Sequence[Config]):
    """Every combination of values of parameters, each made when it is asked for."""

    def __init__(self, axes: Mapping[str, Sequence[int]]):
        self._axes = [[(name, value) for value in values] for name, values in axes.items()]

    def __len__(self) -> int:
        return math.prod(map(len, self._axes))

    def __iter__(self) -> Iterator[Config]:
        return map(Config, itertools.product(*self._axes))

    @overload
    def __getitem__(self, index: int) -> Config: ...
    @overload
    def __getitem__(self, index: slice) -> list[Config]: ...
    def __getitem__(self, index: int | slice) -> Config | list[Config]:
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        rest, values = range(len(self))[index], []
        for axis in reversed(self._axes):
            rest, place = divmod(rest, len(axis))
            values.append(axis[place])
        return Config(tuple(reversed(values)))


def list_configurations(variant: Variant, params: Params) -> Configurations:
    """Return every combination of the chosen values; other parameters keep their default.

    Raises UsageError for too many.
    """
    axes = {name: params.get(name, declared if ALL in params else declared[:1]) for name, declared in variant.params}
    check_configurations(variant.name, math.prod(map(len, axes.values())))
    return Configurations(axes)


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
