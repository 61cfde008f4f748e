"""The task of one search: a variant's configurations at a problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gemmbench.bench.record import Record
from gemmbench.planning.plans.plan import Chain, Plan, level_workspaces
from gemmbench.planning.problems import Problem
from gemmbench.planning.search_space import SearchSpace

Key = tuple[tuple[str, int], ...]
"""A configuration: its parameters and their values, sorted."""


def make_key(configuration: Mapping[str, int]) -> Key:
    """Return the key of a configuration."""
    return tuple(sorted(configuration.items()))


def find_key(row: Chain | Record) -> Key:
    """Return the key of the configuration of a chain or its record."""
    return make_key(row.config if isinstance(row, Record) else dict(row.config.values))


@dataclass(frozen=True)
class TuningTask:
    """The candidates of a search, with one chain for each configuration, and the baseline if it can run.

    `plan_checks` plans a chain's configuration at awkward problems, in the order in which to try them. `skipped` counts
    the configurations that cannot run here.
    """

    name: str
    problem: Problem
    candidates: tuple[Chain, ...]
    baseline: Chain | None
    plan_checks: Callable[[Chain], Sequence[Chain]]
    skipped: int = 0

    def __str__(self) -> str:
        return f"{self.name} at {self.problem}"

    @cached_property
    def space(self) -> SearchSpace:
        """The configurations. Raises UsageError if there are none."""
        return SearchSpace(tuple(dict(chain.config.values) for chain in self.candidates))

    @cached_property
    def chains(self) -> dict[Key, Chain]:
        """The candidates by configuration. Those of a library all have the same workspace size."""
        return {find_key(chain): chain for chain in level_workspaces(self.candidates)}

    def owns(self, record: Record) -> bool:
        """Return whether a record belongs to a candidate of this search."""
        return record.problem == self.problem and record.variant == self.name and find_key(record) in self.chains

    def list_first_steps(self, chain: Chain) -> tuple[Plan, ...]:
        """Return the plans to compile before a candidate is tried. They usually have the same code."""
        return (*chain.steps, *self.find_check(chain).steps)

    def find_check(self, chain: Chain) -> Chain:
        """Return the chain to verify before a candidate is timed, at an awkward problem if it can run there."""
        return next(iter(self.plan_checks(chain)), chain)
