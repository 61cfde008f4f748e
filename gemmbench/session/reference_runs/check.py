"""The gate: measure again and judge against a saved run, or against a git revision in the same rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gemmbench.backends.devices import Machine
from gemmbench.bench.measured_sweep import ChainSweep, measure_groups, measure_sweep
from gemmbench.errors import UsageError
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.revisions import RevisionKernels, list_kernels_at
from gemmbench.planning.sweeps.overrides import SweepOverrides, TimeLimits
from gemmbench.report.comparison import Comparison, compare_rows
from gemmbench.report.differences.difference_tables import list_conditions, name_run, note_transfers
from gemmbench.report.differences.regression_gate import Check, check_differences, check_pairs, note_unranked
from gemmbench.report.differences.run_differences import compare_runs
from gemmbench.report.explanation import find_recorded_option, name_row
from gemmbench.report.row import Row
from gemmbench.report.store.reading import read_results
from gemmbench.report.store.recorded_run import Destination, Run
from gemmbench.session.machine import list_kernel_folders, open_catalog
from gemmbench.session.open_run import open_run
from gemmbench.session.reference_runs.find_run import find_run, refuse_other_device, suggest_saved
from gemmbench.session.reference_runs.repeated_sweep import NAME, plan_repeat
from gemmbench.session.reference_runs.revision_pairs import RevisionPairs, plan_pairs
from gemmbench.session.reference_runs.saved_runs import find_newest_saved
from gemmbench.session.reporter import SILENT, Reporter
from gemmbench.session.results_file import RunResult
from gemmbench.session.sweeps import SweepRequest, plan_request


@dataclass(frozen=True)
class CheckRequest:
    """What to check: variants (none: all of the reference, or of the config), and against what.

    `against` is a saved run, a results file or a git revision; None is the newest saved run. The sizes
    and the like of `overrides`, and the config, apply to a revision only: a saved run repeats its own rows.
    """

    against: str | None = None
    margin: float = 0.03
    force: bool = False
    overrides: SweepOverrides = field(default_factory=SweepOverrides)
    config: str = "quick"
    kernels: str | None = None
    limits: TimeLimits = field(default_factory=TimeLimits)
    destination: Destination = field(default_factory=Destination)


@dataclass(frozen=True)
class CheckResult:
    """What was measured, and its verdicts."""

    result: RunResult
    comparison: Comparison
    check: Check


def run_check(request: CheckRequest, machine: Machine, reporter: Reporter = SILENT) -> CheckResult:
    """Measure and judge. Raises UsageError if there is nothing to check against, and GemmbenchError."""
    folder = request.destination.folder
    path = find_newest_saved(folder) if request.against is None else find_run(request.against, folder)
    if path is not None:
        return _check_run(read_results(path), request, machine, reporter)
    return _check_revision(str(request.against), request, machine, reporter)


def _check_run(reference: Run, request: CheckRequest, machine: Machine, reporter: Reporter) -> CheckResult:
    """Repeat the rows of a run, and compare the ratios to the baseline of both."""
    _refuse_sweep_options(request)
    refuse_other_device(reference.environment, machine.primary.name, request.force)
    if reference.warning:
        reporter.message(reference.warning)
    earlier = compare_rows(reference)
    variants = request.overrides.variants
    kernels = request.kernels or find_recorded_option(reference.environment, "--kernels")
    planned = plan_repeat(reference, variants, open_catalog(kernels), machine)
    reporter.message(f"checking against {name_run(earlier)}, measured {reference.environment.started}")
    with open_run(machine, planned.sweep, planned.devices, request.limits, request.destination, reporter) as opened:
        chains = ChainSweep(
            planned.chains, planned.sweep.policy, planned.sweep.baseline, shuffle=opened.run.environment.shuffle
        )
        measure_sweep(opened.runner, opened.session.compilers, chains)
        result = opened.result
    return _judge_run(earlier, result, request)


def _refuse_sweep_options(request: CheckRequest) -> None:
    usual = CheckRequest.config
    given = [*request.overrides.list_given(), *(["--config"] if request.config != usual else [])]
    if given:
        raise UsageError(
            f"{given[0]}: a saved run is repeated as it was measured; leave the option out, or name a git revision "
            "with --against"
        )


def _judge_run(reference: Comparison, result: RunResult, request: CheckRequest) -> CheckResult:
    comparison = compare_rows(result.run)
    differences = compare_runs(reference, comparison)
    chosen = request.overrides.variants
    wanted = [row for row in differences.only_in_reference if not chosen or row.record.variant in chosen]
    missing = [row for row in wanted if row.record.phase == "sweep"]  # another configuration may be the best now
    check = Check(
        name_run(reference),
        request.margin,
        check_differences(differences, request.margin),
        [name_row(row) for row in missing],
        notes=[
            *list_conditions(reference.environment, comparison.environment),
            *note_transfers(differences),
            *note_unranked(differences),
        ],
    )
    return CheckResult(result, comparison, check)


def _check_revision(revision: str, request: CheckRequest, machine: Machine, reporter: Reporter) -> CheckResult:
    """Measure kernels and their past in the same rounds."""
    past = _find_revision(revision, request)
    catalog = open_catalog(request.kernels)
    _refuse_libraries(request.overrides.variants, catalog)
    planned = plan_request(SweepRequest(request.overrides, request.config, kernels=request.kernels), machine)
    pairs = plan_pairs(planned, revision, past, catalog, machine)
    label = f"{revision} ({past.commit})"
    reporter.message(f"checking against revision {label}, in the same rounds")
    sweep = replace(planned.sweep, name=NAME, post=None)
    with open_run(machine, sweep, planned.devices, request.limits, request.destination, reporter) as opened:
        shuffle = opened.run.environment.shuffle
        measure_groups(opened.runner, opened.session.compilers, pairs.groups, sweep.policy, shuffle)
        result = opened.result
    return _judge_pairs(label, pairs, result, request.margin)


def _find_revision(revision: str, request: CheckRequest) -> RevisionKernels:
    try:
        return list_kernels_at(revision, list_kernel_folders(request.kernels))
    except UsageError as fault:
        hint = suggest_saved(revision, request.destination.folder)
        raise UsageError(f"--against {revision}: no saved run, results file or git revision: {fault}{hint}") from None


def _refuse_libraries(names: Sequence[str], catalog: Catalog) -> None:
    for name in names:
        if catalog.get(name).is_library:
            raise UsageError(f"{name} is a library, which has no git revision; name kernels, or check a saved run")


def _judge_pairs(label: str, pairs: RevisionPairs, result: RunResult, margin: float) -> CheckResult:
    comparison = compare_rows(result.run)
    rows = {row.record.kernel_key: row for row in comparison.rows}
    measured: list[tuple[Row, Row]] = []
    missing: list[str] = []
    for past, now, *_ in pairs.groups:
        if past.kernel_key in rows and now.kernel_key in rows:
            measured.append((rows[past.kernel_key], rows[now.kernel_key]))
        else:
            missing.append(f"{now.name} {now.config} at {now.problem}")
    check = Check(label, margin, check_pairs(measured, margin), missing, pairs.new, paired=True)
    return CheckResult(result, comparison, check)
