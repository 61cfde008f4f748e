"""A sweep, from its request to its results: what run, compare and posts do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gemmbench.backends import registry
from gemmbench.backends.machine import Machine
from gemmbench.bench.environment import describe
from gemmbench.bench.runner import Runner
from gemmbench.bench.sweep import ChainSweep, measure_sweep
from gemmbench.errors import UsageError, at_line
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.chain import make_chain
from gemmbench.planning.plans.expansion import check_memory, check_params, configurations, expand, place
from gemmbench.planning.plans.plan import Plan, Skip
from gemmbench.planning.problems.panels import Cut
from gemmbench.planning.sweeps.limits import TimeLimits
from gemmbench.planning.sweeps.overrides import SweepOverrides
from gemmbench.planning.sweeps.sweep import Sweep, VariantChoice
from gemmbench.planning.sweeps.sweep_config import read_comparison, read_sweep
from gemmbench.report import store
from gemmbench.session.machine import open_catalog
from gemmbench.session.reporter import SILENT, Reporter
from gemmbench.session.results_file import Destination, RunResult, choose_results, keep_records
from gemmbench.session.session import open_session
from gemmbench.session.transfers import check_transfers, measure_transfers


@dataclass(frozen=True)
class SweepRequest:
    """What to measure and how.

    `config` is the name or path of a config, which `options` change. With `compare` the variants
    of `options` are compared with each other. `kernels` is a folder with more variants, `transfers`
    how to cut the jobs that are measured with their copies (None: no transfers).
    """

    options: SweepOverrides = field(default_factory=SweepOverrides)
    config: str = "quick"
    compare: bool = False
    kernels: str | None = None
    limits: TimeLimits = field(default_factory=TimeLimits)
    transfers: Cut | None = None
    destination: Destination = field(default_factory=Destination)


@dataclass(frozen=True)
class PlannedSweep:
    """A sweep planned for a machine."""

    sweep: Sweep
    machine: Machine
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
    def devices(self) -> list[str]:
        """Back ends that the plans need."""
        return sorted({plan.device for plan in self.plans})


def run_sweep(request: SweepRequest, machine: Machine, reporter: Reporter = SILENT) -> RunResult:
    """Plan a sweep and measure it into a results file. Raises GemmbenchError."""
    planned = plan_sweep(request, machine)
    sweep, policy, limits = planned.sweep, planned.sweep.policy, request.limits
    with open_session(machine, planned.devices, limits, reporter, gate=policy.gate) as session:
        environment = describe(machine, sweep, request.destination.command, session.software)
        run = choose_results(environment, request.destination, reporter)
        with store.Journal(run.path, run.environment) as journal:
            emit, done = keep_records(run, journal), store.complete_batches(run.records)
            runner = Runner(session.worker, emit, session.progress, session.is_interrupted, done)
            chains = [make_chain(item) for item in planned.expanded]
            measured = ChainSweep(chains, policy, sweep.baseline, sweep.rivals, earlier=tuple(run.records))
            measure_sweep(runner, session.compilers, measured)
            if request.transfers is not None and not session.is_interrupted():
                measure_transfers(session, planned.plans, policy, request.transfers, run, journal)
        return RunResult(run, session.is_interrupted())


def plan_sweep(request: SweepRequest, machine: Machine) -> PlannedSweep:
    """Read the config, choose the baseline and plan. Raises UsageError, SpecError, and DeviceError for transfers."""
    if request.transfers is not None:
        check_transfers(machine)
    sweep = _read_sweep(request, machine)
    catalog = open_catalog(request.kernels, [choice.name for choice in sweep.choices] + [sweep.baseline])
    baseline = _choose_baseline(sweep, machine, catalog, explicit=request.options.baseline is not None)
    everywhere = any(choice.name == baseline and choice.row is None for choice in sweep.choices)
    choices = sweep.choices if everywhere else (*sweep.choices, VariantChoice(baseline, {}))
    sweep = replace(sweep, baseline=baseline, choices=choices)
    return PlannedSweep(sweep, machine, _expand_sweep(sweep, _look_up(sweep, catalog), machine))


def _read_sweep(request: SweepRequest, machine: Machine) -> Sweep:
    if request.compare:
        return read_comparison(request.options.variants, request.config, request.options, machine.on_cpu)
    return read_sweep(request.config, request.options, machine.on_cpu)


def _choose_baseline(sweep: Sweep, machine: Machine, catalog: Catalog, explicit: bool) -> str:
    """The sweep's baseline if it can run here, else the machine's own; an explicit one must run."""
    name = sweep.baseline or machine.default_baseline
    with at_line(sweep.place, sweep.baseline_line):
        variant = catalog.get(name)
    if place(variant, machine.choice.primary, machine.targets) in machine.targets:
        return name
    if explicit:
        raise UsageError(f"baseline {name} needs a GPU; take --baseline {machine.default_baseline}")
    return machine.default_baseline


def _look_up(sweep: Sweep, catalog: Catalog) -> list[Variant]:
    """The variants of a sweep in ladder order, their parameters checked. Raises UsageError and SpecError."""
    for choice in sweep.choices:
        with at_line(sweep.place, choice.line):
            catalog.find(choice.name)
    variants = catalog.ladder(choice.name for choice in sweep.choices)
    for choice in sweep.choices:
        concerned = [variant for variant in variants if not choice.own or variant.name == choice.name]
        with at_line(sweep.place, choice.line):
            check_params([(variant, choice.params) for variant in concerned])
    return variants


def _expand_sweep(sweep: Sweep, variants: Sequence[Variant], machine: Machine) -> list[Plan | Skip]:
    check_memory(sweep.problems, machine.targets)
    expanded: list[Plan | Skip] = []
    for problem in sweep.problems:
        chosen = [
            (variant, configurations(variant, choice.params))
            for variant in variants
            for choice in sweep.choices
            if choice.name == variant.name and choice.fits(problem)
        ]
        expanded += expand([problem], chosen, machine.choice.primary, machine.targets, registry.why_refused)
    return list(dict.fromkeys(expanded))  # two rows of a post may request the same plan
