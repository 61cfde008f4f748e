"""Sweeps: everything that a run measures, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gemmbench.planning.manifests.variant import Params
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.post import Post, PostRow


@dataclass(frozen=True)
class VariantChoice:
    """One variant of a sweep, with the parameter values to try ({}: its default configuration).

    With `own` the parameters were written for this variant only. `line` is that of the config file;
    None for the command line. A choice that repeats a row of a post is measured on the problems of
    that row only.
    """

    name: str
    params: Params
    own: bool = field(default=False, compare=False)
    line: int | None = field(default=None, compare=False)
    row: PostRow | None = None

    def fits(self, problem: Problem) -> bool:
        """Whether the choice is measured on this problem."""
        return self.row is None or self.row.fits(problem)


@dataclass(frozen=True)
class Sweep:
    """Everything that a run measures.

    `location` is the config file, `baseline_line` the line where it names the baseline.

    `rivals` are variants whose ratios to each other matter as much as those to the baseline.
    """

    name: str
    problems: Sequence[Problem]
    choices: tuple[VariantChoice, ...]
    baseline: str
    policy: Policy
    location: str = ""
    baseline_line: int | None = None
    post: Post | None = None
    rivals: tuple[str, ...] = ()
