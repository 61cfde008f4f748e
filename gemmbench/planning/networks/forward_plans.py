"""From a network and rows to forward plans: what each row launches, or why it cannot run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.networks.network import Network
from gemmbench.planning.networks.network_config import RowChoice
from gemmbench.planning.plans.expansion import Refusal, configurations, expand, place, plan_network
from gemmbench.planning.plans.plan import Config, Plan, Skip, Target
from gemmbench.planning.problems.problem import Problem

Helpers = Mapping[str, Variant]
"""Variants that do to a whole C what an epilogue could not, by name: activation, softmax."""


@dataclass(frozen=True)
class Forward:
    """One row: the network computed in `steps`, one after the other, on one device.

    A step is a GEMM of a layer, a pass over its output, or the whole network. `reason`
    says why there is none; `order` is the place of the row in the table.
    """

    network: Network
    choice: RowChoice
    config: Config
    device: str
    order: int
    steps: tuple[Plan, ...] = ()
    reason: str = ""

    @property
    def name(self) -> str:
        """The row's name, such as `cublas+graph`."""
        return self.choice.name

    @property
    def launches(self) -> list[str]:
        """What is launched, in order: `tiled+bias+relu`, `softmax`."""
        return ["+".join((step.variant.name, *step.epilogue)) for step in self.steps]


def plan_rows(
    network: Network,
    chosen: Sequence[tuple[RowChoice, Variant]],
    helpers: Helpers,
    primary: str,
    targets: Mapping[str, Target],
    refuses: Refusal,
) -> list[Forward]:
    """Plan every row in every configuration that it asks for, in order."""
    found = []
    for order, (choice, variant) in enumerate(chosen):
        device = place(variant, primary, targets)
        planner = _Planner(network, helpers, targets, refuses, device)
        for config in configurations(variant, choice.params):
            steps = planner.steps(variant, config, choice.graph)
            row = Forward(network, choice, config, device, order)
            found.append(replace(row, reason=steps) if isinstance(steps, str) else replace(row, steps=steps))
    return found


@dataclass(frozen=True)
class _Planner:
    network: Network
    helpers: Helpers
    targets: Mapping[str, Target]
    refuses: Refusal
    device: str

    def steps(self, variant: Variant, config: Config, graph: bool) -> tuple[Plan, ...] | str:
        """The steps of one row, or why there are none."""
        target = self.targets.get(self.device)
        if graph and target and not target.has_graphs:
            return "a graph needs an NVIDIA GPU; this row runs on the CPU"
        if variant.computes == "mlp":
            whole = plan_network(self.network, variant, config, self.device, target, self.refuses)
            return whole.reason if isinstance(whole, Skip) else (whole,)
        steps: list[Plan] = []
        for index in range(self.network.layers):
            found = self._layer(index, variant, config)
            if isinstance(found, Skip):
                return f"layer {index + 1}: {found.reason}"
            steps += found
        return tuple(steps)

    def _layer(self, index: int, variant: Variant, config: Config) -> list[Plan] | Skip:
        """The GEMM of a layer with the epilogue that it can do, and the rest in passes of their own."""
        problem, activation = self.network.layer(index), self.network.activations[index]
        wanted = ("bias",) if activation == "linear" else ("bias", activation)
        fused = _fused(wanted, variant.epilogue)
        gemm = self._plan(problem, variant, config)
        if isinstance(gemm, Skip):
            return gemm
        steps = [replace(gemm, epilogue=fused)]
        if rest := wanted[len(fused) :]:
            # C = activation(0 A B + 1 C + bias): the one signature of all kernels says it too.
            helper = self.helpers["softmax" if "softmax" in rest else "activation"]
            after = self._plan(replace(problem, alpha=0.0, beta=1.0), helper, Config(tuple(helper.default().items())))
            if isinstance(after, Skip):
                return after
            steps.append(replace(after, epilogue=rest))
        return steps

    def _plan(self, problem: Problem, variant: Variant, config: Config) -> Plan | Skip:
        return expand([problem], [(variant, [config])], self.device, self.targets, self.refuses)[0]


def _fused(wanted: Sequence[str], offered: Sequence[str]) -> tuple[str, ...]:
    """The beginning of `wanted` that a variant offers: an activation cannot go before the bias."""
    count = next((number for number, name in enumerate(wanted) if name not in offered), len(wanted))
    return tuple(wanted[:count])


def distinct_plans(rows: Sequence[Forward]) -> list[Plan]:
    """The plans of all rows, each once, for the compilers."""
    return list(dict.fromkeys(step for row in rows for step in row.steps))
