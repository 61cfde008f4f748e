"""Batches: rows of one problem that a worker measures together."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from gemmbench.bench.build import Built, name_code
from gemmbench.bench.operands.network_parameters import Parameters
from gemmbench.bench.record import CHECK, RANKING, Ranking, Record
from gemmbench.errors import PlanError
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.networks import Network
from gemmbench.planning.plans.plan import Chain, Plan, make_chain
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

METHOD = 5
"""Increases when the way a number is measured changes, so that a resumed sweep never mixes methods."""

R = TypeVar("R")
Self = TypeVar("Self", bound="Batch[Any]")


@dataclass(frozen=True, kw_only=True)
class Batch(ABC, Generic[R]):
    """Rows that are measured together under one policy; R is the kind of their records.

    `faults` pairs numbers of rows with what they did to an earlier process.
    """

    policy: Policy
    faults: tuple[tuple[int, PlanError], ...] = ()

    @property
    @abstractmethod
    def title(self) -> str:
        """What its rows compute, for the progress bar."""

    @property
    @abstractmethod
    def keys(self) -> tuple[str, ...]:
        """One key for each part of the batch that is measured, and resumed, as a whole.

        A key changes with everything that the numbers depend on, except the machine.
        """

    @property
    @abstractmethod
    def variants(self) -> tuple[Variant, ...]:
        """The variants whose code its rows run."""

    @abstractmethod
    def name_row(self, number: int) -> str | None:
        """Return the variant of row `number`; None if there is no such row."""

    def without(self: Self, done: Collection[str]) -> Self | None:
        """Return what is left to measure once the parts with these keys are done; None if nothing is."""
        return None if set(self.keys) <= set(done) else self

    def blame(self: Self, number: int, fault: PlanError) -> Self:
        """Return the same batch with row `number` marked as failed."""
        return replace(self, faults=(*self.faults, (number, fault)))

    def find_fault(self, number: int) -> PlanError | None:
        """Return what row `number` did to an earlier process."""
        return dict(self.faults).get(number)


@dataclass(frozen=True, kw_only=True)
class ChainBatch(Batch[Record]):
    """At most 16 chains of one problem or network, more for short loads; ratios are formed only within a batch.

    `built` holds the machine code of each chain's steps, or why there is none. `anchors` names the rows that the others
    are compared with, the baseline first. `parameters` belong to a network. `shuffle` is the seed of placements and
    permutations. `repeated` names the rows whose best configuration is measured again later: they get no steady load
    yet. In a `contest` only the fastest row and the anchors need to be known well. `rankings` holds the short loads
    that chose the configurations of rows, by name.
    """

    chains: tuple[Chain, ...]
    built: tuple[tuple[Built, ...], ...]
    index: int = 1
    phase: str = "sweep"
    anchors: tuple[str, ...] = ()
    parameters: Parameters | None = None
    shuffle: int = 0
    repeated: tuple[str, ...] = ()
    contest: bool = False
    rankings: Mapping[str, Ranking] = field(default_factory=dict)

    @property
    def problem_or_network(self) -> Problem | Network:
        """What its chains compute."""
        return self.chains[0].problem_or_network

    @property
    def title(self) -> str:
        """See Batch."""
        return str(self.problem_or_network)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """See Batch."""
        return tuple(dict.fromkeys(step.variant for chain in self.chains for step in chain.steps))

    def name_row(self, number: int) -> str | None:
        """See Batch."""
        return self.chains[number].name if 0 <= number < len(self.chains) else None

    @property
    def is_short_load(self) -> bool:
        """Whether its rows only choose what is measured in full; they are then neither verified nor audited."""
        return self.phase == RANKING

    @property
    def is_check(self) -> bool:
        """Whether its rows are verified but not timed."""
        return self.phase == CHECK

    @property
    def seed(self) -> tuple[int, int]:
        """The seed of everything that varies from block to block."""
        return self.shuffle, self.index

    @property
    def key(self) -> str:
        """The only one of `keys`."""
        parts: list[object] = [self.problem_or_network, self.phase, self.anchors]
        if self.parameters and isinstance(self.problem_or_network, Network):
            packed = self.parameters.pack(self.problem_or_network).tobytes()
            parts += [hashlib.sha256(packed).hexdigest(), self.parameters.digits is not None]
        for chain, built in zip(self.chains, self.built, strict=True):
            numbers = [(step.launches, step.workspace) for step in chain.steps]
            parts += [chain.name, chain.config, chain.device, numbers, *map(name_code, built)]
        return hash_parts(self.policy, *parts, *(["contest"] if self.contest else []))

    @property
    def keys(self) -> tuple[str, ...]:
        """See Batch."""
        return (self.key,)


def make_gemm_batch(
    plans: Sequence[Plan], built: Sequence[Built], policy: Policy, anchors: tuple[str, ...] = ()
) -> ChainBatch:
    """Make a batch of GEMMs; `built` holds the code of each plan."""
    chains, code = tuple(map(make_chain, plans)), tuple((each,) for each in built)
    return ChainBatch(policy=policy, chains=chains, built=code, anchors=anchors)


def hash_parts(*parts: object) -> str:
    """Return a short hash of METHOD and the text of these parts."""
    return hashlib.sha256(repr([METHOD, *parts]).encode()).hexdigest()[:16]
