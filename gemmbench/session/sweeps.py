"""A sweep, from its request to its results: what run, compare and posts do."""

from __future__ import annotations

from dataclasses import dataclass, field

from gemmbench.backends import registry
from gemmbench.backends.machine import Machine
from gemmbench.bench.environment import describe
from gemmbench.bench.runner import Runner
from gemmbench.bench.sweep import ChainSweep, measure_sweep
from gemmbench.planning.plans.chain import make_chain
from gemmbench.planning.problems.panels import Cut
from gemmbench.planning.sweeps.limits import TimeLimits
from gemmbench.planning.sweeps.overrides import SweepOverrides
from gemmbench.planning.sweeps.planned_sweep import AvailableDevices, PlannedSweep, plan_sweep
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


def run_sweep(request: SweepRequest, machine: Machine, reporter: Reporter = SILENT) -> RunResult:
    """Plan a sweep and measure it into a results file. Raises GemmbenchError."""
    planned = plan_request(request, machine)
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


def plan_request(request: SweepRequest, machine: Machine) -> PlannedSweep:
    """Plan a sweep without measuring it. Raises UsageError, SpecError, and DeviceError for transfers."""
    if request.transfers is not None:
        check_transfers(machine)
    devices = AvailableDevices(machine.choice.primary, machine.targets, machine.default_baseline, registry.why_refused)
    return plan_sweep(request.config, request.options, open_catalog(request.kernels), devices, request.compare)
