"""Chains: what one row measures, a GEMM of one step or a network of several."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.networks.network import Network
from gemmbench.planning.plans.plan import Config, Plan, Skip
from gemmbench.planning.problems.problem import Problem

GRAPH = "+graph"
"""Follows the name of a row whose launches are replayed as one graph."""


@dataclass(frozen=True)
class Chain:
    """Plans that run in turn on one device and are measured as one row; a GEMM has one step.

    The steps of a network are GEMMs of its layers and passes over their outputs, or one kernel that
    computes all of it. A chain that cannot run has a `reason` and no steps. `order` sorts the rows
    of a table. With `graph` its launches are recorded once and replayed as one graph. `label` is the
    row's name in a post, `published_ms` the time published there; with `step` the row is one step further
    than the row above.
    """

    variant: Variant
    config: Config
    device: str
    problem: Problem
    order: float
    steps: tuple[Plan, ...] = ()
    reason: str = ""
    graph: bool = False
    network: Network | None = None
    label: str = ""
    published_ms: float | None = None
    step: bool = False

    @property
    def name(self) -> str:
        """The name of the row, such as `tiled` or `cublas+graph`."""
        return self.variant.name + GRAPH * self.graph

    @property
    def problem_or_network(self) -> Problem | Network:
        """What it computes."""
        return self.network or self.problem

    @property
    def launches(self) -> list[str]:
        """What is launched, in order: `tiled+bias+relu`, `softmax`."""
        return ["+".join((step.variant.name, *step.epilogue)) for step in self.steps]

    @property
    def declared_class(self) -> str:
        """The class of products that the code of its last step declares; "" for that of the precision."""
        return self.steps[-1].variant.product_class if self.steps else ""

    @property
    def deterministic(self) -> bool:
        """Equal launches give equal bits."""
        return all(step.variant.deterministic for step in self.steps)

    @property
    def compiles_when_bound(self) -> bool:
        """It has no machine code before its first calls, which compile it."""
        return any(step.variant.is_python for step in self.steps)

    def takes_scalars(self, alpha: float, beta: float) -> bool:
        """Whether the chain of a GEMM can compute with this alpha and beta."""
        return all(step.variant.call.takes_scalars(alpha, beta) for step in self.steps)

    @property
    def reads_c(self) -> bool:
        """A kernel reads C even where beta is 0, so C must not hold NaN."""
        return any(step.variant.call.reads_c for step in self.steps)

    @property
    def pdl(self) -> bool:
        """A launch may begin before the launch before it has ended."""
        return any(step.pdl for step in self.steps)

    def without_pdl(self) -> Chain:
        """The same chain, whose launches begin when the launch before them has ended."""
        return replace(self, steps=tuple(step.without_pdl() for step in self.steps))

    @property
    def kernel_key(self) -> tuple[object, ...]:
        """Problem, row and configuration, as a Record has it."""
        return (self.problem, self.name, *sorted(self.config.values))

    def with_scalars(self, alpha: float, beta: float) -> Chain:
        """The chain of a GEMM with another alpha and beta."""
        problem = replace(self.problem, alpha=alpha, beta=beta)
        return replace(self, problem=problem, steps=tuple(replace(step, problem=problem) for step in self.steps))


def make_chain(planned: Plan | Skip) -> Chain:
    """The chain of a GEMM."""
    steps = (planned,) if isinstance(planned, Plan) else ()
    reason = planned.reason if isinstance(planned, Skip) else ""
    variant = planned.variant
    return Chain(variant, planned.config, planned.device, planned.problem, variant.order, steps, reason)


def list_plans(chains: Iterable[Chain]) -> list[Plan]:
    """The plans of all chains, each once, for the compilers."""
    return list(dict.fromkeys(step for chain in chains for step in chain.steps))
