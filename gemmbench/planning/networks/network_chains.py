"""From a network and the chosen rows to chains: what each row launches, or why it cannot run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gemmbench.planning.manifests.readers import read_variant
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.networks.network import Network
from gemmbench.planning.networks.network_config import NetworkRowChoice
from gemmbench.planning.plans.chain import Chain
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans, plan_network
from gemmbench.planning.plans.plan import Config, Plan, Skip, Target
from gemmbench.planning.plans.suitability import Refusal, choose_backend
from gemmbench.planning.problems.problem import Problem

_PASSES = Path(__file__).parents[1] / "passes"
Helpers = Mapping[str, Variant]
"""Variants that do to a whole C what an epilogue could not, by name: activation, softmax."""


def read_passes() -> dict[str, Variant]:
    """The passes over a finished C that come with gemmbench."""
    return {path.stem: read_variant(path) for path in sorted(_PASSES.glob("*.cu"))}


def plan_chains(
    network: Network,
    chosen: Sequence[tuple[NetworkRowChoice, Variant]],
    helpers: Helpers,
    primary: str,
    targets: Mapping[str, Target],
    refuses: Refusal,
) -> list[Chain]:
    """Plan every row in every configuration that it asks for, in order."""
    chains = []
    for order, (choice, variant) in enumerate(chosen):
        device = choose_backend(variant, primary, targets)
        planner = _Planner(network, helpers, targets, refuses, device)
        for config in list_configurations(variant, choice.params):
            planned = planner.plan_steps(variant, config, choice.graph)
            steps, reason = ((), planned) if isinstance(planned, str) else (planned, "")
            about = network, choice.label, choice.published_ms, choice.step
            chain = Chain(variant, config, device, network.problem, order, steps, reason, choice.graph, *about)
            chains.append(chain)
    return chains


@dataclass(frozen=True)
class _Planner:
    network: Network
    helpers: Helpers
    targets: Mapping[str, Target]
    refuses: Refusal
    device: str

    def plan_steps(self, variant: Variant, config: Config, graph: bool) -> tuple[Plan, ...] | str:
        """Return the steps of one row, or why it cannot run."""
        target = self.targets.get(self.device)
        if graph and target and not target.has_graphs:
            return "a graph needs an NVIDIA GPU; this row runs on the CPU"
        if variant.computes == "mlp":
            whole = plan_network(self.network, variant, config, self.device, target, self.refuses)
            return whole.reason if isinstance(whole, Skip) else (whole,)
        if variant.is_python:
            return "is a Python function, which computes one GEMM and not a network"
        steps: list[Plan] = []
        for index in range(self.network.layers):
            planned = self._plan_layer(index, variant, config)
            if isinstance(planned, Skip):
                return f"layer {index + 1}: {planned.reason}"
            steps += planned
        return tuple(steps)

    def _plan_layer(self, index: int, variant: Variant, config: Config) -> list[Plan] | Skip:
        """Plan the GEMM of a layer with the epilogue that the variant offers, and a pass for the rest."""
        problem, activation = self.network.layer(index), self.network.activations[index]
        wanted = ("bias",) if activation == "linear" else ("bias", activation)
        fused = _fuse(wanted, variant.epilogue)
        gemm = self._plan(problem, variant, config)
        if isinstance(gemm, Skip):
            return gemm
        steps = [replace(gemm, epilogue=fused)]
        if rest := wanted[len(fused) :]:
            # The signature of all kernels covers it: C = activation(0 A B + 1 C + bias).
            helper = self.helpers["softmax" if "softmax" in rest else "activation"]
            after = self._plan(replace(problem, alpha=0.0, beta=1.0), helper, Config(tuple(helper.default().items())))
            if isinstance(after, Skip):
                return after
            steps.append(replace(after, epilogue=rest))
        return steps

    def _plan(self, problem: Problem, variant: Variant, config: Config) -> Plan | Skip:
        return make_plans([problem], [(variant, [config])], self.device, self.targets, self.refuses)[0]


def _fuse(wanted: Sequence[str], offered: Sequence[str]) -> tuple[str, ...]:
    """Return the first of `wanted` that a variant offers: an activation cannot precede the bias."""
    count = next((number for number, name in enumerate(wanted) if name not in offered), len(wanted))
    return tuple(wanted[:count])
