"""Measures again and compares with a saved run, or with a git revision in the same rounds, to find regressions."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from gemmbench.backends.devices import Machine
from gemmbench.bench.experiments.trial import make_skip_record
from gemmbench.bench.measured_sweep import ChainSweep, measure_groups, measure_sweep
from gemmbench.bench.record import Environment, Record
from gemmbench.errors import DeviceError, UsageError, nearest_or_all
from gemmbench.planning.manifests.catalog import MARK, Catalog, is_path
from gemmbench.planning.manifests.revisions import RevisionKernels, list_kernels_at
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import check_memory, make_plans
from gemmbench.planning.plans.plan import Chain, Config, Plan, Skip, make_chain
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.planned_sweep import PlannedSweep
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import RunRequest
from gemmbench.planning.sweeps.sweep import Sweep
from gemmbench.report.comparison import Comparison, compare_rows
from gemmbench.report.differences.difference_tables import list_conditions, name_run, note_transfers
from gemmbench.report.differences.regression_gate import (
    Check,
    check_differences,
    check_new,
    check_pairs,
    note_unranked,
)
from gemmbench.report.differences.run_differences import compare_runs
from gemmbench.report.explanation import find_recorded_option, name_row
from gemmbench.report.row import Row
from gemmbench.report.store.reading import read_results
from gemmbench.report.store.recorded_run import Run
from gemmbench.session.awkward_checks import check_elsewhere
from gemmbench.session.machine import list_kernel_folders, open_catalog
from gemmbench.session.open_run import RunResult, open_run
from gemmbench.session.reporter import SILENT, Reporter, announce_long_run, announce_run_on_cpu
from gemmbench.session.saved_runs import (
    find_newest_saved,
    find_reference,
    refuse_other_device,
    refuse_overlapping,
    refuse_renamed,
    suggest_saved,
)
from gemmbench.session.sweep_runs import announce_unused_kernels, plan_request

NAME = "check"
"""The name of the sweep, which also appears in the name of its results file."""


def plan_repeat(run: Run, variants: Collection[str], catalog: Catalog, machine: Machine) -> PlannedSweep:
    """Plan the baseline and those rows of a run that ran, or only the rows of `variants`.

    Raises UsageError if the run measured networks, or if it has no row of a named variant.
    """
    if any(record.network for record in run.records):
        raise UsageError(
            f"{run.path}: a run of a network, which check cannot repeat; measure it again and use gemmbench compare"
        )
    records = _choose_records(run, variants)
    problems = tuple(dict.fromkeys(record.problem for record in records))
    check_memory(problems, machine.targets)
    expanded = [item for record in records for item in _plan_record(record, catalog, machine)]
    baseline = run.environment.baseline
    expanded += _plan_baseline(baseline, problems, catalog, machine) if baseline else []
    sweep = Sweep(NAME, problems, (), baseline, read_policy(run.environment))
    return PlannedSweep(sweep, list(dict.fromkeys(expanded)))


def _choose_records(run: Run, variants: Collection[str]) -> list[Record]:
    """Return the rows to measure again. Finals are left out, because they will be chosen again."""
    ran = [record for record in run.records if record.status != "skipped"]
    known = dict.fromkeys(record.variant for record in ran)
    for name in variants:
        if name not in known:
            held = nearest_or_all(name, known, "it has", f"gemmbench show {run.path}")
            raise UsageError(f"{run.path}: no row of '{name}'{held}")
    return [record for record in ran if record.phase == "sweep" and (not variants or record.variant in variants)]


def _plan_record(record: Record, catalog: Catalog, machine: Machine) -> list[Plan | Skip]:
    variant = catalog.get(record.variant)
    config = Config() if variant.picks else _order_config(variant, record)
    return _plan(record.problem, variant, config, machine)


def _order_config(variant: Variant, record: Record) -> Config:
    """Return the configuration of a row in the manifest's order. Raises UsageError if the parameters have changed."""
    names = [name for name, _ in variant.params]
    if set(names) != set(record.config):
        recorded, declared = (", ".join(each) or "none" for each in (record.config, names))
        raise UsageError(
            f"{record.variant}: the reference run has the parameters {recorded}, but the kernel now has "
            f"{declared}; name other kernels, or save a new reference run"
        )
    return Config(tuple((name, record.config[name]) for name in names))


def _plan_baseline(name: str, problems: Sequence[Problem], catalog: Catalog, machine: Machine) -> list[Plan | Skip]:
    variant = catalog.get(name)
    config = list_configurations(variant, {})[0]
    return [item for problem in problems for item in _plan(problem, variant, config, machine)]


def _plan(problem: Problem, variant: Variant, config: Config, machine: Machine) -> list[Plan | Skip]:
    chosen = [(variant, [config])]
    return make_plans([problem], chosen, machine.choice.primary, machine.targets, machine.why_refused)


def read_policy(environment: Environment) -> Policy:
    """Return the policy of a run without steady loads. Settings that an old file lacks have their default values."""
    known = {each.name for each in fields(Policy)}
    recorded: dict[str, Any] = {name: value for name, value in environment.policy.items() if name in known}
    return Policy(**recorded | {"sustained": 0.0})


@dataclass(frozen=True)
class RevisionPairs:
    """Chains to measure together: the revision's kernel, today's kernel, and the baseline if it can run.

    A kernel that the revision does not have is verified and timed next to the baseline; `new` says why it has no past.
    """

    groups: list[list[Chain]]
    new: list[tuple[list[Chain], str]]

    @property
    def every(self) -> list[list[Chain]]:
        """All groups, with and without a past."""
        return [*self.groups, *(group for group, _ in self.new)]


def _plan_pairs(
    planned: PlannedSweep, revision: str, kernels: RevisionKernels, catalog: Catalog, machine: Machine
) -> RevisionPairs:
    """Pair every planned kernel with its earlier version.

    Raises UsageError or DeviceError if no kernel can run, and SpecError.
    """
    plans = [plan for plan in planned.plans if not catalog.get(plan.variant.name).is_library]
    if not plans:
        for skip in planned.skips:
            if not catalog.get(skip.variant.name).is_library:
                raise DeviceError(f"{skip.variant.name} at {skip.problem} cannot be checked: {skip.reason}")
        raise UsageError("check against a revision needs kernels, but only libraries can run here; name KERNELs")
    baselines = {plan.problem: plan for plan in planned.plans if plan.variant.name == planned.sweep.baseline}
    groups: list[list[Chain]] = []
    new: list[tuple[list[Chain], str]] = []
    for plan in plans:
        past, baseline = plan_past(plan, revision, kernels, catalog, machine), baselines.get(plan.problem)
        if isinstance(past, str):
            reason = f"{plan.variant.name} {plan.config} at {plan.problem}: {past}"
            new.append((list(_make_group([plan], baseline)), reason))
        else:
            groups.append(list(_make_group([past, plan], baseline)))
    return RevisionPairs(groups, new)


def _make_group(plans: Sequence[Plan], baseline: Plan | None) -> Iterator[Chain]:
    yield from map(make_chain, plans)
    if baseline is not None and baseline not in plans:
        yield make_chain(baseline)


def plan_past(plan: Plan, revision: str, kernels: RevisionKernels, catalog: Catalog, machine: Machine) -> Plan | str:
    """Plan the earlier version of a kernel, or return the reason why there is none."""
    name = plan.variant.name
    if name not in kernels.names:
        return f"{revision} has no such kernel"
    past = catalog.get(f"{revision}{MARK}{name}")
    config = _find_config(plan, catalog.get(name), past)
    if config is None:
        return f"{revision} has other parameters"
    primary, targets = machine.choice.primary, machine.targets
    (item,) = make_plans([plan.problem], [(past, [config])], primary, targets, machine.why_refused)
    return item if isinstance(item, Plan) else f"{revision} cannot run here: {item.reason}"


def _find_config(plan: Plan, variant: Variant, past: Variant) -> Config | None:
    """Find the same parameters for the earlier version. Today's default becomes the default of that version."""
    if past.picks or dict(plan.config.values) == variant.default():
        return Config(() if past.picks else tuple(past.default().items()))
    return plan.config if past.default().keys() == variant.default().keys() else None


@dataclass(frozen=True)
class CheckResult:
    """The measured rows and the verdicts on them."""

    result: RunResult
    comparison: Comparison
    check: Check


def run_check(
    request: RunRequest,
    machine: Machine,
    reporter: Reporter = SILENT,
    *,
    against: str | None = None,
    margin: float = 0.03,
    force: bool = False,
) -> CheckResult:
    """Measure the requested variants, or all of the reference or config, and judge them.

    `against` is a saved run, a results file or a git revision; None means the newest saved run. Changes that the
    request makes to a config apply only to a revision, since a saved run repeats its own rows. Raises UsageError if
    there is nothing to check against, and GemmbenchError.
    """
    folder = request.destination.folder
    path = (
        find_newest_saved(folder)
        if against is None
        else find_reference(against, folder, list_kernel_folders(request.selection.kernels))
    )
    if path is not None:
        return _check_run(read_results(path), request, machine, reporter, margin, force)
    return _check_revision(str(against), request, machine, reporter, margin)


def _check_run(
    reference: Run, request: RunRequest, machine: Machine, reporter: Reporter, margin: float, force: bool
) -> CheckResult:
    """Repeat the rows of a run and compare the ratios to the baseline in both runs."""
    _refuse_sweep_options(request)
    refuse_other_device(reference.environment, machine.primary.name, force)
    refuse_renamed(reference)
    refuse_overlapping(reference)
    if reference.warning:
        reporter.message(reference.warning)
    earlier = compare_rows(reference)
    variants, catalog = request.selection.variants, open_catalog(request.selection.kernels)
    _refuse_recorded_code(reference, request, catalog)
    planned = plan_repeat(reference, variants, catalog, machine)
    sweep = planned.sweep
    announce_run_on_cpu(machine, planned.chains, sweep.policy, sweep.baseline, request.limits, reporter)
    reporter.message(f"checking against {name_run(earlier)}, measured {reference.environment.started}")
    checked = check_elsewhere(planned.chains, machine, reporter)
    with open_run(machine, planned.sweep, planned.devices, request.limits, request.destination, reporter) as opened:
        chains = ChainSweep(
            checked,
            planned.sweep.policy,
            planned.sweep.baseline,
            shuffle=opened.run.environment.shuffle,
            announce=partial(announce_long_run, machine, reporter),
        )
        measure_sweep(opened.runner, opened.session.compilers, chains)
        result = opened.finish()
    return _judge_run(earlier, result, request.selection.variants, margin)


def _refuse_recorded_code(reference: Run, request: RunRequest, catalog: Catalog) -> None:
    """Refuse a row if only the results file, which may come from someone else, names its code. Raises UsageError."""
    kernels = find_recorded_option(reference.environment, "--kernels")
    given = request.selection.variants
    rows = () if given else (record.variant for record in reference.records if record.status != "skipped")
    for name in dict.fromkeys([*given, *rows, reference.environment.baseline]):
        if (is_path(name) or MARK in name) and name not in given:
            raise UsageError(
                f"{reference.path}: its row {name} names a file or a revision; name it on the command line to run it"
            )
        if kernels and not request.selection.kernels and name and name not in catalog.names:
            raise UsageError(
                f"{reference.path}: '{name}' comes from the folder {kernels}, and gemmbench does not let a "
                f"results file choose the code to run; add --kernels {shlex.quote(kernels)}"
            )


def _refuse_sweep_options(request: RunRequest) -> None:
    given = [*request.list_given(), *(["--config"] if request.config != RunRequest.config else [])]
    if given:
        raise UsageError(
            f"{given[0]}: a saved run is repeated as it was measured; leave out the option, or give a git "
            "revision with --against"
        )


def _judge_run(reference: Comparison, result: RunResult, chosen: Collection[str], margin: float) -> CheckResult:
    comparison = compare_rows(result.run)
    differences = compare_runs(reference, comparison)
    wanted = [row for row in differences.only_in_reference if not chosen or row.record.variant in chosen]
    missing = [row for row in wanted if row.record.phase == "sweep"]  # another configuration may be the best now
    check = Check(
        name_run(reference),
        margin,
        check_differences(differences, margin),
        [name_row(row) for row in missing],
        notes=[
            *list_conditions(reference.environment, comparison.environment),
            *note_transfers(differences),
            *note_unranked(differences),
        ],
    )
    return CheckResult(result, comparison, check)


def _check_revision(
    revision: str, request: RunRequest, machine: Machine, reporter: Reporter, margin: float
) -> CheckResult:
    """Measure kernels and their earlier versions in the same rounds.

    Raises UsageError if no kernel is named and the revision has none of the default config.
    """
    past = _find_revision(revision, request)
    catalog = open_catalog(request.selection.kernels)
    _refuse_pastless(request.selection.variants, catalog)
    planned = plan_request(request, machine)
    pairs = _plan_pairs(planned, revision, past, catalog, machine)
    if not (pairs.groups or request.selection.variants) and request.config == RunRequest.config:
        example = min(past.names, default="./mine.cu")
        raise UsageError(
            f"nothing to check: {revision} has none of the kernels of the config {request.config}; name KERNELs, such "
            f"as {example}"
        )
    announce_unused_kernels(planned, request, reporter)
    chains = [chain for group in pairs.every for chain in group]
    announce_run_on_cpu(machine, chains, planned.sweep.policy, "", request.limits, reporter)
    label = f"{revision} ({past.commit})"
    reporter.message(f"checking against revision {label}, in the same rounds")
    sweep = replace(planned.sweep, name=NAME, post=None)
    groups = [check_elsewhere(group, machine, reporter) for group in pairs.every]
    with open_run(machine, sweep, planned.devices, request.limits, request.destination, reporter) as opened:
        shuffle = opened.run.environment.shuffle
        named = [chain for chain in planned.chains if chain.reason and chain.name in request.selection.variants]
        opened.runner.emit([make_skip_record(chain) for chain in named])
        measure_groups(opened.runner, opened.session.compilers, groups, sweep.policy, shuffle)
        result = opened.finish()
    return _judge_pairs(label, pairs, result, margin)


def _find_revision(revision: str, request: RunRequest) -> RevisionKernels:
    """Find the kernels that the revision has, in the folders of kernels and at the paths that were named."""
    named = request.selection.variants
    paths = [name for name in named if is_path(name)]
    folders = list_kernel_folders(request.selection.kernels) if len(paths) < len(named) or not named else []
    try:
        found = [list_kernels_at(revision, folders)] if folders else []
        at_paths = {name: list_kernels_at(revision, [Path(name).parent]) for name in paths}
        names = {name for kernels in found for name in kernels.names}
        names |= {name for name, kernels in at_paths.items() if Path(name).stem in kernels.names}
        return RevisionKernels(names, [*at_paths.values(), *found][-1].commit)
    except UsageError as fault:
        hint = suggest_saved(revision, request.destination.folder)
        raise UsageError(
            f"--against {revision}: not a saved run, results file or git revision: {fault}{hint}"
        ) from None


def refuse_drafted(variant: Variant) -> None:
    """Raise UsageError if a variant's file has no manifest."""
    if variant.drafted:
        raise UsageError(
            f"{variant.name} has no manifest, which is needed to plan its earlier version; write one: gemmbench new "
            f"NAME --from {variant.name}"
        )


def _refuse_pastless(names: Sequence[str], catalog: Catalog) -> None:
    """Raise UsageError for a library, and for a file without a manifest."""
    for name in names:
        refuse_drafted(catalog.get(name))
        if catalog.get(name).is_library:
            raise UsageError(
                f"{name} is a library, which has no git revision; name kernels, or check against a saved run"
            )


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
    alone = [rows[group[0].kernel_key] for group, _ in pairs.new if group[0].kernel_key in rows]
    judged = [*check_pairs(measured, margin), *check_new(alone, margin)]
    check = Check(label, margin, judged, missing, [reason for _, reason in pairs.new], paired=True)
    return CheckResult(result, comparison, check)
