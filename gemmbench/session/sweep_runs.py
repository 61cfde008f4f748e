"""Runs a sweep, from the request to the results, for `run`, `compare` and `posts`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gemmbench.backends.devices import Machine
from gemmbench.errors import DeviceError, GemmbenchError, UsageError
from gemmbench.planning.files import printable
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.problems import PanelCut
from gemmbench.planning.sweeps.planned_sweep import AvailableDevices, PlannedSweep, adapt_to_files, expand_sweep
from gemmbench.planning.sweeps.published_post import PostRow
from gemmbench.planning.sweeps.run_request import OPTIONS, RunRequest
from gemmbench.planning.sweeps.sweep import read_sweep
from gemmbench.session.awkward_checks import check_elsewhere
from gemmbench.session.machine import list_kernel_folders, open_catalog
from gemmbench.session.open_run import RunResult, hash_plans, open_run
from gemmbench.session.reporter import (
    SILENT,
    Reporter,
    announce_long_run,
    announce_run_on_cpu,
    announce_split_batches,
)
from gemmbench.session.winners import TunedConfigs, read_winners


def run_sweep(
    request: RunRequest, machine: Machine, reporter: Reporter = SILENT, transfers: PanelCut | None = None, **how: bool
) -> RunResult:
    """Plan a sweep, passing the arguments to plan_request, and measure it. Raises GemmbenchError."""
    from gemmbench.bench.measured_sweep import ChainSweep, measure_sweep  # a dry run measures nothing

    planned = plan_request(request, machine, reporter, transfers, **how)
    sweep = planned.sweep
    _check_rivals(planned, reporter)
    announce_run_on_cpu(machine, planned.chains, sweep.policy, sweep.baseline, request.limits, reporter)
    cut, jobs = choose_transfers(transfers, planned, machine)
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


def _check_rivals(planned: PlannedSweep, reporter: Reporter) -> None:
    """Report the kernels of a comparison that cannot run. Raises DeviceError if too few are left to compare."""
    sweep, able = planned.sweep, {chain.variant.name for chain in planned.chains if not chain.reason}
    reasons = {chain.variant.name: chain.reason for chain in planned.chains}
    missing = [name for name in sweep.rivals if name in reasons and name not in able]
    others = [name for name in sweep.rivals if name in able]
    if missing and len(others) <= 1:
        library = sweep.baseline
        hint = "gemmbench list --here lists those that can"
        if others and library in able and library not in others:
            hint = f"try gemmbench compare {others[0]} {library}"
        compared = f"compared with {others[0]}" if others else "compared"
        raise DeviceError(f"{missing[0]} cannot run, so it is not {compared}: {reasons[missing[0]]}; {hint}")
    for name in missing:
        reporter.message(f"{name} cannot run, so it is not compared: {reasons[name]}")


def plan_request(
    request: RunRequest,
    machine: Machine,
    reporter: Reporter = SILENT,
    transfers: PanelCut | None = None,
    *,
    compare: bool = False,
    tuned: bool = False,
) -> PlannedSweep:
    """Plan a sweep without measuring it.

    With `compare`, the variants are compared with each other. `transfers` says how to cut jobs that are measured with
    their copies (None: no transfers). With `tuned`, a variant without parameters runs in the best configuration that
    `tune` has found, if any. Raises UsageError, SpecError, and DeviceError for transfers.
    """
    if transfers is not None:
        machine.refuse_transfers()
    devices = AvailableDevices(machine.choice.primary, machine.targets, machine.default_baseline, machine.why_refused)
    catalog = open_catalog(request.selection.kernels, reporter)
    winners = TunedConfigs(read_winners(), machine) if tuned else None
    selection = request.selection
    sweep = adapt_to_files(read_sweep(request, machine.on_cpu), selection, catalog)
    if transfers is not None:
        for problem in sweep.problems:
            if problem.count > 1 or problem.groups:
                raise UsageError(
                    f"size {problem.size}: --with-transfers measures single products; leave out one of them"
                )
            if problem.precision.scales:
                raise UsageError(f"{problem.precision_name}: --with-transfers copies no scales; choose e4m3")
            if problem.ld or problem.separate_c:
                flag = OPTIONS["ld" if problem.ld else "separate_c"].flag
                raise UsageError(f"--with-transfers copies packed operands and a C in place; leave out {flag}")
    if compare:
        sweep = replace(sweep, name="compare", rivals=tuple(dict.fromkeys(selection.variants)))
    is_explicit = selection.baseline is not None
    planned = expand_sweep(sweep, is_explicit, catalog, devices, winners.find if winners else None)
    announce_split_batches(planned.plans, reporter)
    announce_unused_kernels(planned, request, reporter)
    if winners and planned.expanded and winners.missing:
        reporter.message(
            f"--tuned: no winner is stored for {winners.describe_missing()}; using the default configuration"
        )
    return planned


def announce_unused_kernels(planned: PlannedSweep, request: RunRequest, reporter: Reporter) -> None:
    """Report that no kernel of the folder --kernels is measured, because none is named or in the config."""
    folder = request.selection.kernels
    if folder is None or request.selection.variants:
        return
    added = Catalog(list_kernel_folders(folder)[-1:]).names
    if added and not {chain.variant.name for chain in planned.chains}.intersection(added):
        reporter.message(
            f"--kernels {printable(folder)}: the config {request.config} has none of its kernels, so none is measured; "
            f"name those to measure, such as {min(added)}"
        )


def choose_transfers(
    cut: PanelCut | None, planned: PlannedSweep, machine: Machine
) -> tuple[PanelCut | None, list[Plan]]:
    """Choose how to cut the jobs to measure with their copies, if any, and the plans to measure that way.

    If the request has a `cut`, these are all plans. Otherwise they are the plans shown in rows of the post with copies.
    """
    if cut is not None:
        return cut, planned.plans
    rows = [row for row in planned.sweep.post.rows if row.copies] if planned.sweep.post else []
    try:
        machine.refuse_transfers()
    except GemmbenchError:
        rows = []
    if not rows:
        return None, []
    return PanelCut(), [plan for plan in planned.plans if any(_computes_row(plan, row) for row in rows)]


def _computes_row(plan: Plan, row: PostRow) -> bool:
    config = dict(plan.config.values)
    same = plan.variant.name == row.variant and all(config.get(name) == value for name, value in row.config)
    return same and row.fits(plan.problem)
