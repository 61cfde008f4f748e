"""The plans of one kernel, from its name and parameters: for inspect, profile and doctor."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from gemmbench.analysis import ncu
from gemmbench.analysis.toolkit import find_watcher
from gemmbench.backends import registry
from gemmbench.backends.devices import Machine
from gemmbench.bench.experiments.experiment import launch_once
from gemmbench.errors import UsageError
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.configurations import check_params, list_configurations
from gemmbench.planning.plans.expansion import check_memory, make_plans
from gemmbench.planning.plans.plan import Plan, Skip
from gemmbench.planning.problems import Problem
from gemmbench.planning.sizes import parse_sizes
from gemmbench.planning.sweeps.overrides import parse_layouts, parse_params, parse_precisions
from gemmbench.planning.sweeps.policy import check_seed
from gemmbench.session.fleet.machines import find_refusal
from gemmbench.session.machine import open_catalog


@dataclass(frozen=True)
class KernelRequest:
    """One variant with the sizes, precisions, layouts and parameters to plan it for.

    Precision and layout default to the first that the variant declares.
    """

    variant: str
    sizes: str = "4096"
    precisions: str | None = None
    layouts: str | None = None
    params: tuple[str, ...] = ()
    kernels: str | None = None

    def find_variant(self) -> Variant:
        """Look the variant up. Raises UsageError and SpecError."""
        return open_catalog(self.kernels).get(self.variant)

    def list_problems(self, variant: Variant) -> list[Problem]:
        """The problems to plan. Raises UsageError."""
        precisions = parse_precisions(self.precisions) or variant.precisions[:1]
        layouts = parse_layouts(self.layouts) or variant.layouts[:1]
        combinations = itertools.product(precisions, layouts, parse_sizes(self.sizes))
        return [Problem(*shape, layout=layout, precision_name=name) for name, layout, shape in combinations]


def plan_kernel(request: KernelRequest, variant: Variant, machine: Machine) -> list[Plan | Skip]:
    """Plan a variant for every problem and configuration of the request. Raises UsageError."""
    params = parse_params(request.params)
    check_params([(variant, params)])
    chosen = [(variant, list_configurations(variant, params))]
    problems, primary = request.list_problems(variant), machine.choice.primary
    return make_plans(problems, chosen, primary, machine.targets, find_refusal(machine))


def plan_one_launch(request: KernelRequest, machine: Machine) -> Plan:
    """The one plan that a profiler records. Raises UsageError if there are several, or if it cannot run."""
    variant = request.find_variant()
    expanded = plan_kernel(request, variant, machine)
    check_memory([item.problem for item in expanded], machine.targets)
    if len(expanded) != 1:
        count = len(expanded)
        raise UsageError(f"profile takes one launch, but there are {count}; give one size and one value per parameter")
    (plan,) = expanded
    if isinstance(plan, Skip):
        raise UsageError(f"{request.variant} cannot run here: {plan.reason}")
    if plan.device != machine.choice.primary:
        raise UsageError(f"{request.variant} runs on the host: there is no kernel to profile")
    return plan


def profile_kernel(request: KernelRequest, seed: int | None, machine: Machine) -> tuple[Plan, list[ncu.Counters]]:
    """Count what one launch does, with Nsight Compute. Raises UsageError, DeviceError, BuildError."""
    plan = plan_one_launch(request, machine)
    find_watcher(ncu.PROGRAM)
    registry.make_compilers(machine, [plan.device])[plan.device].compile(plan)  # so that ncu's time limit is not spent
    return plan, list(ncu.count_launches(_make_launch_command(plan, request, seed, machine)))


def launch_kernel_once(request: KernelRequest, seed: int | None, machine: Machine) -> None:
    """Launch one plan in the range that a profiler records, after a launch that warms up."""
    plan = plan_one_launch(request, machine)
    artifact = registry.make_compilers(machine, [plan.device])[plan.device].compile(plan)
    device = registry.open_backends(machine, [plan.device], gate=False)[plan.device]
    try:
        launch_once(device, plan, artifact, check_seed(seed or 0))
    finally:
        device.close()


def _make_launch_command(plan: Plan, request: KernelRequest, seed: int | None, machine: Machine) -> list[str]:
    """The command of this program that launches the plan."""
    problem = plan.problem
    options = [
        ("--sizes", f"{problem.M}x{problem.N}x{problem.K}"),
        ("--precision", problem.precision_name),
        ("--layout", problem.layout),
        *(("--param", f"{name}={value}") for name, value in plan.config.values if not plan.config.picked),
        ("--kernels", request.kernels),
        ("--seed", seed),
        ("--device", machine.choice.option),
    ]
    return ["one-launch", plan.variant.name, *to_words(options)]


def to_words(options: Iterable[tuple[str, object]]) -> tuple[str, ...]:
    """Options as the words of a command line, without those whose value is None."""
    return tuple(word for name, value in options if value is not None for word in (name, str(value)))
