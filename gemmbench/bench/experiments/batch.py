"""Batches: at most 16 plans of one problem, measured together, the baseline among them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeVar

from gemmbench.backends.base import Artifact
from gemmbench.bench.experiments.blame import Blamable
from gemmbench.errors import PlanError
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.sweeps.policy import Policy

LARGEST = 16
METHOD = 3  # goes up when the way a number is made changes, so that a resumed sweep never mixes two

Built = Artifact | PlanError
T = TypeVar("T")


@dataclass(frozen=True)
class Batch(Blamable):
    """Plans of one problem on one machine; ratios are formed inside a batch only.

    `built` holds, for each plan, its machine code or why there is none; `references` names the
    variants that the others are compared with.
    """

    index: int
    problem: Problem
    plans: tuple[Plan, ...]
    built: tuple[Built, ...]
    policy: Policy
    phase: str = "sweep"
    references: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A hash of all that the numbers depend on but the machine: code, problem, method."""
        parts: list[object] = [METHOD, self.problem, self.policy, self.phase, self.references]
        for plan, built in zip(self.plans, self.built, strict=True):
            parts += [plan.variant.name, plan.config, plan.device, plan.geometry, named(built)]
        return hashed(parts)


def named(built: Built) -> str:
    """What tells this code from other code; or why there is none."""
    return built.key if isinstance(built, Artifact) else str(built)


def hashed(parts: Sequence[object]) -> str:
    """A short hash of what is equal exactly where its text is."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def split(plans: Iterable[Plan], baseline: str) -> list[tuple[Plan, ...]]:
    """Group plans by problem into batches, each with the baseline's first plan of that problem."""
    problems: dict[Problem, list[Plan]] = {}
    for plan in plans:
        problems.setdefault(plan.problem, []).append(plan)
    named = [[(plan.variant.name, plan) for plan in group] for group in problems.values()]
    return [batch for group in named for batch in batches(group, baseline)]


def batches(named: Sequence[tuple[str, T]], baseline: str) -> list[tuple[T, ...]]:
    """Pairs (name, what it names) in batches of at most 16, the first that is called as the baseline in all."""
    anchor = [item for name, item in named if name == baseline][:1]
    others = [item for _, item in named if item not in anchor]
    room = LARGEST - len(anchor)
    groups = [others[start : start + room] for start in range(0, len(others), room)] or [[]]
    return [(*group, *anchor) for group in groups if group or anchor]


def winners(named: Sequence[tuple[Hashable, T]], seconds: Callable[[T], float | None]) -> list[T]:
    """Of each name that several with a time share, the fastest; None is no time."""
    swept: dict[Hashable, list[tuple[float, T]]] = {}
    for name, item in named:
        if (time := seconds(item)) is not None:
            swept.setdefault(name, []).append((time, item))
    return [min(group, key=itemgetter(0))[1] for group in swept.values() if len(group) > 1]
