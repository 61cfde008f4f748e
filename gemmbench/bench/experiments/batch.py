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
"""Increases whenever the way a number is measured changes, so that a resumed sweep never mixes methods."""

R = TypeVar("R")
Self = TypeVar("Self", bound="Batch[Any]")


@dataclass(frozen=True, kw_only=True)
class Batch(ABC, Generic[R]):
    """Rows that are measured together under one policy. R is the type of their records.

    `faults` pairs the numbers of rows with what they did to an earlier process.
    """

    policy: Policy
    faults: tuple[tuple[int, PlanError], ...] = ()

    @property
    @abstractmethod
    def title(self) -> str:
        """What the rows compute, for the progress bar."""

    @property
    @abstractmethod
    def keys(self) -> tuple[str, ...]:
        """One key for each part of the batch that is measured and resumed as a whole.

        A key depends on everything that affects the numbers, except the machine.
        """

    @property
    @abstractmethod
    def variants(self) -> tuple[Variant, ...]:
        """The variants whose code the rows run."""

    @abstractmethod
    def name_row(self, number: int) -> str | None:
        """Return the variant of row `number`, or None if there is no such row."""

    def without(self: Self, done: Collection[str]) -> Self | None:
        """Return the batch without the parts with these keys, which are done; None if nothing is left."""
        return None if set(self.keys) <= set(done) else self

    def blame(self: Self, number: int, fault: PlanError) -> Self:
        """Return the same batch with row `number` marked as failed."""
        return replace(self, faults=(*self.faults, (number, fault)))

    def find_fault(self, number: int) -> PlanError | None:
        """Return what row `number` did to an earlier process."""
        return dict(self.faults).get(number)


@dataclass(frozen=True, kw_only=True)
class ChainBatch(Batch[Record]):
    """At most 16 chains of one problem or network, or more for short loads. Ratios are formed only within a batch.

    `built` holds the machine code of each chain's steps, or the reason why there is none. `anchors` lists the rows that
    others are compared with, starting with the baseline. `parameters` are those of a network. `shuffle` is the seed of
    placements and permutations. `repeated` lists the rows whose best configuration will be measured again later. They
    do not get a steady load yet. In a `contest`, only the fastest row and the anchors need to be known well. `rankings`
    holds the short loads that chose the configurations of rows, by name.
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
        """The problem or network that the chains compute."""
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
        """Whether the rows only help choose what to measure in full. If so, they are neither verified nor audited."""
        return self.phase == RANKING

    @property
    def is_check(self) -> bool:
        """Whether the rows are verified but not timed."""
        return self.phase == CHECK

    @property
    def seed(self) -> tuple[int, int]:
        """The seed for everything that varies from block to block."""
        return self.shuffle, self.index

    @property
    def key(self) -> str:
        """The only key in `keys`."""
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
    """Make a batch of GEMMs. `built` holds the code of each plan."""
    chains, code = tuple(map(make_chain, plans)), tuple((each,) for each in built)
    return ChainBatch(policy=policy, chains=chains, built=code, anchors=anchors)


def hash_parts(*parts: object) -> str:
    """Return a short hash of METHOD and the text of these parts."""
    return hashlib.sha256(repr([METHOD, *parts]).encode()).hexdigest()[:16]
