"""Plans and compiles a single kernel, given its name and parameters."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gemmbench.analysis import ncu
from gemmbench.analysis.sass_facts import LoopFacts, find_broken_limits
from gemmbench.analysis.sass_loops import FIRST_SM, find_hottest_loop, parse_kernels
from gemmbench.analysis.toolkit import find_watcher
from gemmbench.backends import registry
from gemmbench.backends.base import Device, InspectingCompiler
from gemmbench.backends.devices import DeviceChoice, Machine
from gemmbench.bench.experiments.experiment import launch_once
from gemmbench.errors import UsageError
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.network_sweeps import read_network_sweep
from gemmbench.planning.plans.configurations import check_params, list_configurations
from gemmbench.planning.plans.expansion import check_memory, make_plans, plan_network
from gemmbench.planning.plans.plan import Plan, Skip
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.problems import make_problem
from gemmbench.planning.sizes import read_sizes
from gemmbench.planning.sweeps.run_request import RunRequest, Selection, to_words
from gemmbench.report.diagnostics.inspection_report import (
    USUAL_CLOCK,
    USUAL_SMS,
    HottestLoop,
    Inspection,
    PeakRate,
    inspect_launch,
)
from gemmbench.session.machine import LocalMachine, open_catalog

_USUAL_SIZES = read_sizes("4096")


def find_variant(selection: Selection) -> Variant:
    """Look up the only variant of a selection. Raises UsageError and SpecError."""
    (name,) = selection.variants
    variant = open_catalog(selection.kernels).get(name)
    if variant.unsupported:
        keep = f"gemmbench new NAME --from {name.partition(':')[0]}"
        raise UsageError(
            f"{name} has no manifest, and gemmbench cannot find one, because it {variant.unsupported}; write "
            f"one: {keep}"
        )
    return variant


def plan_kernel(selection: Selection, variant: Variant, machine: Machine) -> list[Plan | Skip]:
    """Plan a variant for every problem and configuration of a selection. Raises UsageError.

    The default size is 4096. The default precision and layout are the first that the variant declares.
    """
    check_params([(variant, selection.params)])
    chosen = [(variant, list_configurations(variant, selection.params))]
    precisions, layouts = selection.precisions or variant.precisions[:1], selection.layouts or variant.layouts[:1]
    combinations = itertools.product(precisions, layouts, (selection.sizes or _USUAL_SIZES).shapes)
    problems = [make_problem(shape, layout, name) for name, layout, shape in combinations]
    return make_plans(problems, chosen, machine.choice.primary, machine.targets, machine.why_refused)


def _plan_one_launch(selection: Selection, machine: Machine) -> Plan:
    """Return the only plan, which a profiler records. Raises UsageError if there are several or if it cannot run."""
    variant = find_variant(selection)
    expanded = plan_kernel(selection, variant, machine)
    check_memory([item.problem for item in expanded], machine.targets)
    if len(expanded) != 1:
        count = len(expanded)
        raise UsageError(f"profile needs one launch, but there are {count}; give one size and one value per parameter")
    (plan,) = expanded
    if isinstance(plan, Skip):
        raise UsageError(f"{variant.name} cannot run here: {plan.reason}")
    if plan.parts:
        raise UsageError(f"profile needs one launch, and {variant.name} is launched once for each group; give one size")
    if plan.device != machine.choice.primary:
        raise UsageError(f"{variant.name} runs on the host, so there is no kernel to profile")
    return plan


def profile_kernel(selection: Selection, seed: int | None, machine: Machine) -> tuple[Plan, list[ncu.Counters]]:
    """Count what one launch does, using Nsight Compute. Raises UsageError, DeviceError and BuildError."""
    plan = _plan_one_launch(selection, machine)
    find_watcher(ncu.PROGRAM)
    registry.make_compilers(machine, [plan.device])[plan.device].compile(plan)  # so that ncu's time limit is not spent
    return plan, list(ncu.count_launches(_make_launch_command(plan, selection, seed, machine)))


def launch_kernel_once(selection: Selection, seed: int | None, machine: Machine) -> None:
    """Launch a plan once in the range that a profiler records, after a warm-up launch."""
    plan = _plan_one_launch(selection, machine)
    artifact = registry.make_compilers(machine, [plan.device])[plan.device].compile(plan)
    device = registry.open_backends(machine, [plan.device], gate=False)[plan.device]
    try:
        launch_once(device, plan, artifact, seed or 0)
    finally:
        device.close()


def _make_launch_command(plan: Plan, selection: Selection, seed: int | None, machine: Machine) -> list[str]:
    """Return the command of this program that launches the plan."""
    problem = plan.problem
    options = [
        ("--sizes", problem.shape.size if problem.groups else f"{problem.M}x{problem.N}x{problem.K}"),
        ("--precision", problem.precision_name),
        ("--layout", problem.layout),
        *(("--param", f"{name}={value}") for name, value in plan.config.values if not plan.config.picked),
        ("--kernels", selection.kernels),
        ("--seed", seed),
        ("--device", machine.choice.option),
    ]
    return ["one-launch", plan.variant.name, *to_words(options)]


@dataclass(frozen=True)
class Architecture:
    """A GPU to compile for, in this machine or not: a name such as 90a and a number of multiprocessors."""

    name: str
    sms: int

    @property
    def sm(self) -> int:
        """The compute capability as a number: 90 for 90a."""
        return int(self.name.rstrip("af"))


def choose_architecture(written: str | None, sms: int | None) -> Architecture:
    """Choose the architecture that an option names, or else that of this GPU, or else 90. Raises UsageError."""
    name = _parse_architecture(written) if written else _find_architecture()
    sm = int(name.rstrip("af"))
    return Architecture(name, sms or USUAL_SMS.get(sm, 1))


def _parse_architecture(written: str) -> str:
    """Return `90a` for 90a, sm_90a or compute_90a. Raises UsageError for other text."""
    match = re.fullmatch(r"(?:sm_|compute_)?(\d{2,3}[af]?)", written)
    if match is None:
        hint = "write a compute capability without the dot, such as 90 or 90a"
        raise UsageError(f"unknown architecture '{written}' in --arch; {hint}")
    return match[1]


def _find_architecture() -> str:
    seen = registry.glance_at_inspected_device()
    return str(seen.sm) if seen and seen.sm else "90"


@dataclass(frozen=True)
class InspectedKernel:
    """A kernel compiled for an architecture in every configuration, with its plans and table rows."""

    architecture: Architecture
    compiler: InspectingCompiler
    plans: list[Plan]
    skips: list[Skip]
    inspections: list[Inspection]

    def only_plan(self) -> Plan:
        """Return the only plan, whose code is to be written. Raises UsageError if there are several."""
        if len(self.plans) > 1:
            count = len(self.plans)
            raise UsageError(
                f"--ptx and --sass need one configuration, but there are {count}; choose with --param and --sizes"
            )
        return self.plans[0]


def inspect_kernel(selection: Selection, architecture: Architecture) -> InspectedKernel:
    """Compile every configuration of a kernel; needs nvcc, but no GPU.

    Raises UsageError, DeviceError and BuildError.
    """
    compiler = registry.make_inspecting_compiler()
    expanded = plan_inspection(selection, architecture)
    plans = [item for item in expanded if isinstance(item, Plan)]
    skips = [item for item in expanded if isinstance(item, Skip)]
    launches = [launch for plan in plans for launch in plan.split_launches() or (plan,)]
    builds = [(launch, compiler.compile(launch).build) for launch in launches]
    inspections = [inspect_launch(launch, build, architecture.sm, architecture.sms) for launch, build in builds]
    return InspectedKernel(architecture, compiler, plans, skips, inspections)


def plan_inspection(selection: Selection, architecture: Architecture) -> list[Plan | Skip]:
    """Plan a kernel for a GPU that need not be present. Raises UsageError."""
    variant = find_variant(selection)
    if not (variant.is_kernel or variant.is_launcher):
        raise UsageError(f"{variant.name} is not a .cu file, so nvcc has nothing to compile; name a kernel")
    target = registry.find_inspecting_entry().architecture(architecture.sm, architecture.sms)
    machine = LocalMachine(DeviceChoice(target.kind), {target.kind: Device(f"sm_{architecture.name}", 0, target)})
    if variant.computes == "mlp":
        return _plan_network(selection, variant, machine)
    return plan_kernel(selection, variant, machine)


def _plan_network(selection: Selection, variant: Variant, machine: Machine) -> list[Plan | Skip]:
    check_params([(variant, selection.params)])
    network = read_network_sweep(RunRequest(config="mlp"), on_cpu=False).network
    target, configs = machine.primary.target, list_configurations(variant, selection.params)
    return [plan_network(network, variant, one, target.kind, target, registry.why_refused) for one in configs]


@dataclass(frozen=True)
class LoopReadings:
    """The hottest loop of every kernel, and the limits in manifests that these loops exceed."""

    readings: list[HottestLoop]
    broken_limits: list[str]


def read_hottest_loops(inspected: InspectedKernel, clock: float | None) -> LoopReadings:
    """Disassemble every kernel and find its hottest loop. `clock` is in GHz (None: a typical clock for this GPU).

    Raises UsageError if the architecture is too old.
    """
    architecture = inspected.architecture
    if any(plan.variant.is_launcher for plan in inspected.plans):
        raise UsageError("--sass-mix reads the kernels that gemmbench launches, not those of a launcher; use --sass")
    if architecture.sm < FIRST_SM:
        raise UsageError(f"--sass-mix reads machine code from sm_{FIRST_SM} on, and sm_{architecture.sm} is older")
    peak = _find_peak(architecture, clock)
    readings: list[HottestLoop] = []
    broken_limits: list[str] = []
    for plan in inspected.plans:
        loops = _read_loops(inspected.compiler, plan, peak)
        readings += loops
        faults = find_broken_limits(plan, _choose_main_loop(loops), architecture.sm)
        broken_limits += [f"{plan.variant.name} {plan.config}: {fault}" for fault in faults]
    return LoopReadings(readings, broken_limits)


def _find_peak(architecture: Architecture, clock: float | None) -> PeakRate | None:
    """Return the peak f32 rate of such a GPU; None for an unknown architecture."""
    rate = PRECISIONS["f32"].peak.of_device("", architecture.sm)
    ghz = clock or USUAL_CLOCK.get(architecture.sm)
    return PeakRate(rate * architecture.sms * ghz * 1e9, int(rate / 2)) if rate and ghz else None


def _choose_main_loop(readings: Sequence[HottestLoop]) -> LoopFacts | None:
    """Choose the loop with the most arithmetic. Loops on tensor cores come first."""
    found = [reading.facts for reading in readings if reading.facts]
    return max(found, key=lambda facts: (facts.loop.on_tensor_cores, facts.loop.math), default=None)


def _read_loops(compiler: InspectingCompiler, plan: Plan, peak: PeakRate | None) -> list[HottestLoop]:
    """Find the hottest loop of each kernel that a plan launches."""
    code, names = parse_kernels(compiler.sass(plan)), compiler.compile(plan).build.symbols or plan.symbols
    loops = [find_hottest_loop(code.get(name, ())) for name in names]
    several = len(names) > 1
    labels = [" ".join(filter(None, (str(plan.config), symbol if several else ""))) for symbol in plan.symbols]
    return [
        HottestLoop(label or plan.variant.name, LoopFacts(loop) if loop else None, peak)
        for label, loop in zip(labels, loops, strict=True)
    ]
