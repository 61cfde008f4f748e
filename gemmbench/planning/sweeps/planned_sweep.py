"""Turns a sweep into plans: adds its baseline, and plans it for the available devices."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from gemmbench.errors import DeviceError, SpecError, at_line
from gemmbench.planning.manifests.catalog import MARK, Catalog, is_path
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.configurations import Configurations, check_params, list_configurations
from gemmbench.planning.plans.expansion import MOST_SECONDS, check_memory, make_plans
from gemmbench.planning.plans.plan import Chain, Config, Plan, Skip, Target, make_chain
from gemmbench.planning.plans.skip_reasons import Refusal, choose_backend
from gemmbench.planning.problems import Problem, ProblemGrid
from gemmbench.planning.sizes import check_plans
from gemmbench.planning.sweeps.run_request import Selection
from gemmbench.planning.sweeps.sweep import Sweep, VariantChoice

TunedConfig = Callable[[Variant, Problem], Config | None]
"""(variant, problem) -> the configuration to use instead of the default, if one is known."""


@dataclass(frozen=True)
class AvailableDevices:
    """The devices to plan for.

    `targets` maps a back end to what it offers, and `primary` is the one that runs kernels. `refuses` returns why a
    back end cannot run a variant. `default_baseline` is the library to compare with.
    """

    primary: str
    targets: Mapping[str, Target]
    default_baseline: str
    refuses: Refusal

    @property
    def on_cpu(self) -> bool:
        """Whether kernels run on the CPU."""
        return not self.targets[self.primary].is_gpu


@dataclass(frozen=True)
class PlannedSweep:
    """A sweep and what it expands to: plans, and skips with their reasons.

    Each time `expansion` is iterated, it makes them one by one, problem by problem.
    """

    sweep: Sweep
    expansion: Iterable[Plan | Skip]

    @cached_property
    def expanded(self) -> list[Plan | Skip]:
        """All plans and skips."""
        return list(self.expansion)

    @property
    def plans(self) -> list[Plan]:
        """The plans that can run."""
        return [item for item in self.expanded if isinstance(item, Plan)]

    @property
    def skips(self) -> list[Skip]:
        """The skips, which cannot run, with their reasons."""
        return [item for item in self.expanded if isinstance(item, Skip)]

    @property
    def chains(self) -> list[Chain]:
        """Every plan and skip as a row to measure."""
        return [make_chain(item) for item in self.expanded]

    def make_chains(self) -> Iterator[Chain]:
        """Yield the same rows one by one."""
        return map(make_chain, self.expansion)

    @property
    def devices(self) -> list[str]:
        """The back ends that the plans need."""
        return sorted({plan.device for plan in self.plans})


def adapt_to_files(sweep: Sweep, selection: Selection, catalog: Catalog) -> Sweep:
    """Use a precision and a layout of the named files if none was requested and no file supports the sweep's.

    What the config itself writes stays: a file that does not support it is skipped for that reason.
    """
    paths = [name for name in selection.variants if is_path(name.partition(MARK)[0])]
    grid, files = sweep.problems, list[Variant]()
    for name in paths if isinstance(grid, ProblemGrid) else ():
        with suppress(SpecError):  # a file that cannot be read costs its own row
            files += [variant for variant in [catalog.get(name)] if not variant.unsupported]
    if not isinstance(grid, ProblemGrid) or not files:
        return sweep
    precisions = dict.fromkeys(name for file in files for name in file.precisions)
    layouts = dict.fromkeys(name for file in files for name in file.layouts)
    if (
        not (selection.precisions or "precisions" in sweep.written)
        and precisions
        and precisions.keys().isdisjoint(grid.precisions)
    ):
        grid = replace(grid, precisions=tuple(precisions)[:1])
    if not (selection.layouts or "layouts" in sweep.written) and layouts and layouts.keys().isdisjoint(grid.layouts):
        grid = replace(grid, layouts=tuple(layouts)[:1])
    return replace(sweep, problems=grid)


def expand_sweep(
    sweep: Sweep,
    explicit: bool,
    catalog: Catalog,
    devices: AvailableDevices,
    tuned: TunedConfig | None = None,
) -> PlannedSweep:
    """Choose the baseline of a sweep and expand it. An `explicit` one must run. Raises UsageError and SpecError."""
    baseline = _choose_baseline(sweep, catalog, devices, explicit)
    everywhere = any(choice.name == baseline and choice.row is None for choice in sweep.choices)
    choices = sweep.choices if everywhere else (*sweep.choices, VariantChoice(baseline, {}))
    sweep = replace(sweep, baseline=baseline, choices=choices)
    expansion = _Expansion(sweep, _look_up_variants(sweep, catalog), devices, tuned)
    check_plans(expansion.count())
    check_memory(sweep.problems, devices.targets)
    return PlannedSweep(sweep, expansion)


def _choose_baseline(sweep: Sweep, catalog: Catalog, devices: AvailableDevices, explicit: bool) -> str:
    """Return the sweep's baseline if it can run here in every precision, or else the default one.

    Raises DeviceError if an explicit baseline cannot run here.
    """
    default = _choose_default(sweep, catalog, devices)
    name = sweep.baseline or default
    with at_line(sweep.location, sweep.baseline_line):
        variant = catalog.get(name)
    runs = choose_backend(variant, devices.primary, devices.targets) in devices.targets
    if runs and (explicit or variant.fault or _offers_precisions(variant, sweep)):
        return name
    if explicit:
        fits = _offers_precisions(catalog.get(default), sweep)
        advice = f"use --baseline {default}" if fits else "leave out --baseline"
        raise DeviceError(f"baseline {name} needs a GPU; {advice}")
    return default


def _choose_default(sweep: Sweep, catalog: Catalog, devices: AvailableDevices) -> str:
    """Return the default baseline or, if it lacks a precision of the sweep, the first library that has them all."""
    for variant in (catalog.get(devices.default_baseline), *catalog.libraries):
        is_here = choose_backend(variant, devices.primary, devices.targets) == devices.primary
        if is_here and _offers_precisions(variant, sweep):
            return variant.name
    return devices.default_baseline


def _offers_precisions(variant: Variant, sweep: Sweep) -> bool:
    return {problem.precision_name for problem in sweep.problems} <= set(variant.precisions)


def _look_up_variants(sweep: Sweep, catalog: Catalog) -> list[Variant]:
    """Return the variants of a sweep in ladder order, with parameters checked. Raises UsageError and SpecError."""
    for choice in sweep.choices:
        with at_line(sweep.location, choice.line):
            catalog.check_name(choice.name)
    variants = catalog.get_ladder((choice.name for choice in sweep.choices), needed=sweep.baseline)
    for choice in sweep.choices:
        concerned = [variant for variant in variants if not choice.own or variant.name == choice.name]
        if any(variant.fault for variant in concerned):
            continue  # nobody knows its parameters
        with at_line(sweep.location, choice.line):
            check_params([(variant, choice.params) for variant in concerned])
    return variants


@dataclass(frozen=True)
class _Expansion:
    """The plans and skips of a sweep, which are made during iteration."""

    sweep: Sweep
    variants: Sequence[Variant]
    devices: AvailableDevices
    tuned: TunedConfig | None = None

    @cached_property
    def chosen(self) -> list[tuple[VariantChoice, Variant, Configurations]]:
        """Each choice with its configurations, in ladder order."""
        return [
            (choice, variant, list_configurations(variant, choice.params))
            for variant in self.variants
            for choice in self.sweep.choices
            if choice.name == variant.name
        ]

    def count(self) -> int:
        """Count the plans and skips without making them. Two rows of a post may request the same one."""
        everywhere = sum(len(configs) for choice, _, configs in self.chosen if choice.row is None)
        rows = [(choice, len(configs)) for choice, _, configs in self.chosen if choice.row is not None]
        problems = self.sweep.problems
        return len(problems) * everywhere + sum(
            count for problem in problems for choice, count in rows if choice.fits(problem)
        )

    def __iter__(self) -> Iterator[Plan | Skip]:
        devices, left = self.devices, MOST_SECONDS
        for problem in self.sweep.problems:
            chosen = [
                (variant, self._choose_configs(problem, choice, variant, configs))
                for choice, variant, configs in self.chosen
                if choice.fits(problem)
            ]
            started = time.process_time()
            plans = make_plans(
                [problem], chosen, devices.primary, devices.targets, devices.refuses, deadline=started + left
            )
            left -= time.process_time() - started
            yield from dict.fromkeys(plans) if len(chosen) > len(self.variants) else plans

    def _choose_configs(
        self, problem: Problem, choice: VariantChoice, variant: Variant, configs: Sequence[Config]
    ) -> Sequence[Config]:
        """Return the tuned configuration instead of the default, if there is one."""
        found = None if choice.params or self.tuned is None else self.tuned(variant, problem)
        return [found] if found else configs
