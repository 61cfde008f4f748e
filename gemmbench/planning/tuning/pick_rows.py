"""The rows of a `pick`: which of them computes a problem, and which configuration serves each best."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.expansion import list_rows, make_plans
from gemmbench.planning.plans.plan import Config, Plan, Target
from gemmbench.planning.plans.suitability import Refusal
from gemmbench.planning.problems.problem import Problem

Candidate = tuple[str, tuple[tuple[str, int], ...]]
"""A variant and its configuration."""
Scores = Mapping[Problem, Mapping[Candidate, float]]
"""The logarithm of the time of each candidate at each problem, relative to the same at each problem."""


def find_row(
    problem: Problem, variant: Variant, device: str, targets: Mapping[str, Target], why_refused: Refusal
) -> int | None:
    """The number of the row that computes a problem; None if there is none. The rest is as in make_plans."""
    for number in list_rows(problem, variant, device, targets):
        chosen = [(replace(variant, picks=(variant.picks[number],)), [Config()])]
        (plan,) = make_plans([problem], chosen, device, targets, why_refused)
        if isinstance(plan, Plan):
            return number
    return None


def choose_candidate(
    problems: Sequence[Problem], scores: Scores, is_allowed: Callable[[str], bool]
) -> Candidate | None:
    """The candidate with the highest geometric mean, over the problems, of its speed relative to the best.

    Only candidates of allowed variants that ran at all these problems count; None if there is none.
    """
    known = [set(scores.get(problem, {})) for problem in problems]
    complete = [each for each in set.intersection(*known) if is_allowed(each[0])] if known else []
    return min(sorted(complete), key=lambda each: sum(scores[problem][each] for problem in problems), default=None)


def choose_held_out(rows: Mapping[int, Sequence[Problem]], share: float, seed: int) -> set[Problem]:
    """The problems that do not take part in the choice: this share of those of each row, but never all."""
    rng, held = random.Random(seed), set[Problem]()
    for problems in rows.values():
        count = min(round(share * len(problems)), len(problems) - 1)
        if not count and share and len(problems) > 1:
            count = int(rng.random() < share * len(problems))
        held |= set(rng.sample(list(problems), count))
    return held
