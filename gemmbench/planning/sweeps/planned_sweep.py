"""From a config and the command line to plans: a sweep with its baseline, for the available devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gemmbench.errors import UsageError, at_line
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.chain import Chain, make_chain
from gemmbench.planning.plans.configurations import check_params, list_configurations
from gemmbench.planning.plans.expansion import check_memory, make_plans
from gemmbench.planning.plans.plan import Plan, Skip, Target
from gemmbench.planning.plans.suitability import Refusal, choose_backend
from gemmbench.planning.sweeps.overrides import SweepOverrides
from gemmbench.planning.sweeps.sweep import Sweep, VariantChoice
from gemmbench.planning.sweeps.sweep_config import read_comparison, read_sweep


@dataclass(frozen=True)
class AvailableDevices:
    """The devices to plan for.

    `targets` maps a back end to what it offers, `primary` is the one that kernels run on, `refuses`
    returns why a back end cannot run a variant, and `default_baseline` is the library to compare with.
    """

    primary: str
    targets: Mapping[str, Target]
    default_baseline: str
    refuses: Refusal

    @property
    def on_cpu(self) -> bool:
        """Kernels run on the CPU."""
        return not self.targets[self.primary].is_gpu


@dataclass(frozen=True)
class PlannedSweep:
    """A sweep and what it expands to: plans, and skips with their reasons."""

    sweep: Sweep
    expanded: list[Plan | Skip]

    @property
    def plans(self) -> list[Plan]:
        """What can run."""
        return [item for item in self.expanded if isinstance(item, Plan)]

    @property
    def skips(self) -> list[Skip]:
        """What cannot run, and why."""
        return [item for item in self.expanded if isinstance(item, Skip)]

    @property
    def chains(self) -> list[Chain]:
        """Every plan and skip as a row to measure."""
        return [make_chain(item) for item in self.expanded]

    @property
    def devices(self) -> list[str]:
        """Back ends that the plans need."""
        return sorted({plan.device for plan in self.plans})


def plan_sweep(
    config: str, options: SweepOverrides, catalog: Catalog, devices: AvailableDevices, compare: bool = False
) -> PlannedSweep:
    """Read a config, choose the baseline and expand. With `compare` the variants of `options` are rivals.

    Raises UsageError and SpecError.
    """
    if compare:
        sweep = read_comparison(options.variants, config, options, devices.on_cpu)
    else:
        sweep = read_sweep(config, options, devices.on_cpu)
    baseline = _choose_baseline(sweep, catalog, devices, explicit=options.baseline is not None)
    everywhere = any(choice.name == baseline and choice.row is None for choice in sweep.choices)
    choices = sweep.choices if everywhere else (*sweep.choices, VariantChoice(baseline, {}))
    sweep = replace(sweep, baseline=baseline, choices=choices)
    return PlannedSweep(sweep, _expand_sweep(sweep, _look_up_variants(sweep, catalog), devices))


def _choose_baseline(sweep: Sweep, catalog: Catalog, devices: AvailableDevices, explicit: bool) -> str:
    """The sweep's baseline if it can run here, else the default one; an explicit one must run."""
    name = sweep.baseline or devices.default_baseline
    with at_line(sweep.location, sweep.baseline_line):
        variant = catalog.get(name)
    if choose_backend(variant, devices.primary, devices.targets) in devices.targets:
        return name
    if explicit:
        raise UsageError(f"baseline {name} needs a GPU; use --baseline {devices.default_baseline}")
    return devices.default_baseline


def _look_up_variants(sweep: Sweep, catalog: Catalog) -> list[Variant]:
    """The variants of a sweep in ladder order, their parameters checked. Raises UsageError and SpecError."""
    for choice in sweep.choices:
        with at_line(sweep.location, choice.line):
            catalog.check_name(choice.name)
    variants = catalog.get_ladder(choice.name for choice in sweep.choices)
    for choice in sweep.choices:
        concerned = [variant for variant in variants if not choice.own or variant.name == choice.name]
        with at_line(sweep.location, choice.line):
            check_params([(variant, choice.params) for variant in concerned])
    return variants


def _expand_sweep(sweep: Sweep, variants: Sequence[Variant], devices: AvailableDevices) -> list[Plan | Skip]:
    check_memory(sweep.problems, devices.targets)
    expanded: list[Plan | Skip] = []
    for problem in sweep.problems:
        chosen = [
            (variant, list_configurations(variant, choice.params))
            for variant in variants
            for choice in sweep.choices
            if choice.name == variant.name and choice.fits(problem)
        ]
        expanded += make_plans([problem], chosen, devices.primary, devices.targets, devices.refuses)
    return list(dict.fromkeys(expanded))  # two rows of a post may request the same plan
