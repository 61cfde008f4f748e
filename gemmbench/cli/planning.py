"""What a command works on: the device, the kernels, and a sweep as plans for that device."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gemmbench.backends import registry
from gemmbench.backends.machine import Machine
from gemmbench.errors import UsageError, at_line

if TYPE_CHECKING:
    from gemmbench.planning.manifests.catalog import Catalog
    from gemmbench.planning.plans.plan import Plan, Skip
    from gemmbench.planning.sweeps.sweep import Sweep


def find_machine(option: str) -> Machine:
    """The devices of this run; says on stderr when `auto` took the CPU."""
    choice = registry.choose_device(option)
    if choice.note:
        click.echo(choice.note, err=True)
    return registry.describe_machine(choice)


def find_gpu(option: str, what: str) -> Machine:
    """The GPU that `what` needs. Raises DeviceError if there is none, or the option names another device."""
    return registry.describe_machine(registry.choose_profiled(option, what))


def kernel_folders(folder: str | None) -> list[Path]:
    """The project's kernels, and the folder of `--kernels`."""
    from gemmbench.planning.paths import data_folder

    return [data_folder("cuda"), *([Path(folder)] if folder else [])]


def open_catalog(folder: str | None, names: Iterable[str] = ()) -> Catalog:
    """The project's kernels, those of `--kernels`, the libraries, and of `names` those of a git revision.

    Raises UsageError and SpecError.
    """
    from gemmbench.planning.manifests.catalog import MARK, Catalog

    folders, variants = kernel_folders(folder), registry.library_variants()
    if marked := [name for name in dict.fromkeys(names) if MARK in name]:
        from gemmbench.planning.manifests.revision import variant_at

        variants += [variant_at(name, folders) for name in marked]
    return Catalog(folders, variants)


@dataclass
class Asked:
    """A sweep that has been planned for a machine."""

    sweep: Sweep
    machine: Machine
    expanded: list[Plan | Skip]

    @property
    def plans(self) -> list[Plan]:
        """What can run."""
        from gemmbench.planning.plans.plan import Plan

        return [item for item in self.expanded if isinstance(item, Plan)]

    @property
    def devices(self) -> list[str]:
        """Back ends that the plans need."""
        return sorted({plan.device for plan in self.plans})


def plan_sweep(sweep: Sweep, machine: Machine, kernels: str | None, explicit_baseline: bool) -> Asked:
    """Settle the baseline, look the variants up, plan. Raises UsageError and SpecError."""
    from gemmbench.planning.plans.expansion import check_memory, check_params, configurations, expand
    from gemmbench.planning.sweeps.sweep import Choice

    catalog = open_catalog(kernels, [choice.name for choice in sweep.choices] + [sweep.baseline])
    baseline = _baseline(sweep, machine, catalog, explicit_baseline)
    everywhere = any(choice.name == baseline and choice.row is None for choice in sweep.choices)
    choices = sweep.choices if everywhere else (*sweep.choices, Choice(baseline, {}))
    for choice in choices:
        with at_line(sweep.place, choice.line):
            catalog.find(choice.name)
    variants = {variant.name: variant for variant in catalog.ladder(choice.name for choice in choices)}
    for choice in choices:
        among = [variants[choice.name]] if choice.own else variants.values()
        with at_line(sweep.place, choice.line):
            check_params([(variant, choice.params) for variant in among])
    check_memory(sweep.problems, machine.targets)
    expanded: list[Plan | Skip] = []
    for problem in sweep.problems:
        mine = [choice for name in variants for choice in choices if choice.name == name and choice.fits(problem)]
        configs = [(variants[choice.name], configurations(variants[choice.name], choice.params)) for choice in mine]
        expanded += expand([problem], configs, machine.choice.primary, machine.targets, registry.why_refused)
    distinct = list(dict.fromkeys(expanded))  # two rows of a post may ask for the same
    return Asked(replace(sweep, baseline=baseline, choices=choices), machine, distinct)


def _baseline(sweep: Sweep, machine: Machine, catalog: Catalog, explicit: bool) -> str:
    """The sweep's baseline if it can run here, else the machine's own; one that was asked for must."""
    from gemmbench.planning.plans.expansion import place

    name = sweep.baseline or machine.default_baseline
    with at_line(sweep.place, sweep.baseline_line):
        variant = catalog.get(name)
    if place(variant, machine.choice.primary, machine.targets) in machine.targets:
        return name
    if explicit:
        raise UsageError(f"baseline {name} needs a GPU; take --baseline {machine.default_baseline}")
    return machine.default_baseline
