"""A sweep: what is measured and how."""

from __future__ import annotations

from dataclasses import dataclass, field

from gemmbench.planning.manifests.variant import Params
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.post import Post, PostRow


@dataclass(frozen=True)
class VariantChoice:
    """One variant of a sweep, with the parameter values to try ({}: its default configuration).

    `own` parameters were written for this variant alone. `line` is where in the config; None
    for the command line. A choice that repeats a row of a post is measured on the problems of
    that row alone.
    """

    name: str
    params: Params
    own: bool = field(default=False, compare=False)
    line: int | None = field(default=None, compare=False)
    row: PostRow | None = None

    def fits(self, problem: Problem) -> bool:
        """The choice is measured on this problem."""
        return self.row is None or self.row.fits(problem)


@dataclass(frozen=True)
class Sweep:
    """Everything a run is asked for. `location` is the config file, `baseline_line` where it names the baseline.

    `rivals` are variants whose ratios to each other matter as much as those to the baseline.
    """

    name: str
    problems: tuple[Problem, ...]
    choices: tuple[VariantChoice, ...]
    baseline: str
    policy: Policy
    location: str = ""
    baseline_line: int | None = None
    post: Post | None = None
    rivals: tuple[str, ...] = ()
