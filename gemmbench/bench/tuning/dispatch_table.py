"""What the rows of a variant's `pick` should name after a search, and what that is worth on other problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gemmbench.bench.timing.stats import Interval
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.problems import Problem
from gemmbench.planning.search_space import Candidate


@dataclass(frozen=True)
class ChosenRow:
    """A row of `pick` after the searches: the candidate it should name, chosen on `problems`.

    `loss` is how much slower it is there than the best of each problem, as a geometric mean. `reason` says why
    a row stays as it is.
    """

    number: int
    when: str
    problems: tuple[Problem, ...]
    candidate: Candidate | None
    loss: float
    reason: str = ""


@dataclass(frozen=True)
class HeldOut:
    """A problem that took no part in the choice: what its row picks there, and what is best there.

    `loss` is how many times as long as the best the pick takes; NaN if it does not run there.
    """

    problem: Problem
    picked: Candidate
    best: Candidate
    loss: Interval


@dataclass(frozen=True)
class DispatchTable:
    """The rows of a variant's `pick`, and what they are worth on problems that were held out. `path` was written."""

    variant: Variant
    rows: Sequence[ChosenRow]
    held_out: Sequence[HeldOut] = ()
    path: Path | None = None
