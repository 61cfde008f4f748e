"""A sweep, from its request to its results: what run, compare and posts do."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from gemmbench.backends import registry
from gemmbench.backends.devices import Machine
from gemmbench.bench.workers.fleet_machine import FleetMachine
from gemmbench.errors import DeviceError, UsageError
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems import PanelCut
from gemmbench.planning.sweeps.overrides import SweepOverrides, TimeLimits
from gemmbench.planning.sweeps.planned_sweep import AvailableDevices, PlannedSweep, plan_sweep
from gemmbench.planning.sweeps.published_post import PostRow
from gemmbench.report.store.recorded_run import Destination
from gemmbench.session.awkward_checks import check_elsewhere
from gemmbench.session.machine import find_refusal, open_catalog
from gemmbench.session.open_run import RunResult, hash_plans, open_run
from gemmbench.session.reporter import SILENT, Reporter, announce_long_run, announce_run_on_cpu
from gemmbench.session.winners import TunedConfigs, read_winners


@dataclass(frozen=True)
class SweepRequest:
    """What to measure and how.

    `config` is the name or path of a config, which `overrides` change. With `compare` the
    variants of `overrides` are compared with each other. `kernels` is a folder with more variants, `transfers`
    how to cut the jobs that are measured with their copies (None: no transfers). With `tuned`, a variant without
    parameters runs in the best configuration that `tune` found, if it found one.
    """

    overrides: SweepOverrides = field(default_factory=SweepOverrides)
    config: str = "quick"
    compare: bool = False
    kernels: str | None = None
    limits: TimeLimits = field(default_factory=TimeLimits)
    transfers: PanelCut | None = None
    destination: Destination = field(default_factory=Destination)
    tuned: bool = False


def run_sweep(request: SweepRequest, machine: Machine, reporter: Reporter = SILENT) -> RunResult:
    """Plan a sweep and measure it into a results file. Raises GemmbenchError."""
    from gemmbench.bench.measured_sweep import ChainSweep, measure_sweep  # a dry run measures nothing

    planned = plan_request(request, machine, reporter)
    sweep = planned.sweep
    announce_run_on_cpu(machine, planned.chains, sweep.policy, sweep.baseline, request.limits, reporter)
    cut, jobs = choose_transfers(request.transfers, planned, machine)
    rows = hash_plans(planned.chains, cut)
    chains_to_run = check_elsewhere(planned.chains, machine, reporter)
    with open_run(machine, sweep, planned.devices, request.limits, request.destination, reporter, rows) as opened:
        chains = ChainSweep(
            chains_to_run,
            sweep.policy,
            sweep.baseline,
            sweep.rivals,
            earlier=opened.earlier,
            shuffle=opened.run.environment.shuffle,
            announce=partial(announce_long_run, machine, reporter),
        )
        measure_sweep(opened.runner, opened.session.compilers, chains)
        if cut is not None:
            opened.measure_transfers(jobs, sweep.policy, cut)
        return opened.finish()


def plan_request(request: SweepRequest, machine: Machine, reporter: Reporter = SILENT) -> PlannedSweep:
    """Plan a sweep without measuring it. Raises UsageError, SpecError, and DeviceError for transfers."""
    if request.transfers is not None:
        _check_transfers(machine)
    devices = AvailableDevices(machine.choice.primary, machine.targets, machine.default_baseline, find_refusal(machine))
    catalog = open_catalog(request.kernels, reporter)
    tuned = TunedConfigs(read_winners(), machine) if request.tuned else None
    find = tuned.find if tuned else None
    planned = plan_sweep(request.config, request.overrides, catalog, devices, request.compare, find)
    if tuned and planned.expanded and tuned.missing:
        reporter.message(f"--tuned: no winner is kept for {tuned.describe_missing()}; the default configuration runs")
    return planned


def choose_transfers(
    cut: PanelCut | None, planned: PlannedSweep, machine: Machine
) -> tuple[PanelCut | None, list[Plan]]:
    """How jobs with their copies are cut (None: there are none), and the kernels whose jobs are measured.

    With the `cut` of a request these are all, else those whose jobs a row of the post shows.
    """
    if cut is not None:
        return cut, planned.plans
    rows = [row for row in planned.sweep.post.rows if row.copies] if planned.sweep.post else []
    if not rows or isinstance(machine, FleetMachine) or registry.why_no_transfers(machine):
        return None, []
    return PanelCut(), [plan for plan in planned.plans if any(_computes_row(plan, row) for row in rows)]


def _computes_row(plan: Plan, row: PostRow) -> bool:
    config = dict(plan.config.values)
    same = plan.variant.name == row.variant and all(config.get(name) == value for name, value in row.config)
    return same and row.fits(plan.problem)


def _check_transfers(machine: Machine) -> None:
    """Raise DeviceError if nothing is copied to and from the primary device, UsageError for a fleet."""
    if isinstance(machine, FleetMachine):
        raise UsageError("--with-transfers does not take --fleet: cards share the bus; measure on one, --device cuda:0")
    if why := registry.why_no_transfers(machine):
        raise DeviceError(f"transfers need a GPU: {why}; leave out --with-transfers, or take --device cuda")
