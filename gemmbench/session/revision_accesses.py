"""Counts the accesses of kernels as they are now and as they were at a git revision (`check --accesses`).

This needs only g++ and git. Kernels whose code has not changed, apart from comments, are not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gemmbench.analysis.access_changes import AccessChange, compare_lines
from gemmbench.analysis.accesses import AccessCounts
from gemmbench.backends import registry
from gemmbench.backends.base import Watcher
from gemmbench.backends.code_hash import hash_code
from gemmbench.backends.devices import Machine
from gemmbench.backends.sources import list_source_lines
from gemmbench.errors import PlanError, SpecError, Unsupported, UsageError
from gemmbench.planning.files import is_file
from gemmbench.planning.manifests.catalog import MARK, Catalog, is_path
from gemmbench.planning.manifests.revisions import RevisionKernels, list_kernels_at
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.configurations import check_params
from gemmbench.planning.plans.plan import Plan, Skip
from gemmbench.planning.sweeps.run_request import RunRequest, Selection
from gemmbench.report.differences.access_check import AccessCheck, FailedKernel, LineVerdict, judge_lines
from gemmbench.session.access_counts import describe_counting_machine, explain_uncountable
from gemmbench.session.machine import list_kernel_folders, open_catalog
from gemmbench.session.regression_check import plan_past, refuse_drafted
from gemmbench.session.reporter import SILENT, Reporter
from gemmbench.session.single_kernel import plan_kernel


def check_accesses(request: RunRequest, revision: str, reporter: Reporter = SILENT) -> AccessCheck:
    """Count and compare the named kernels, or all of the folder `kernels` or the project, by default in each layout.

    Raises UsageError if the revision or a kernel does not exist, DeviceError without g++, and SpecError.
    """
    selection = request.selection
    catalog = open_catalog(selection.kernels)
    past = _list_past(selection, revision, catalog)
    names = selection.variants or sorted(_list_names(selection))
    present = [name for name in names if _is_present(name, catalog)]
    removed = [name for name in selection.variants or past.names if not _is_present(name, catalog)]
    for name in removed:
        if name not in past.names:
            catalog.check_name(name)  # which says what is like it
    label = revision if revision == past.commit else f"{revision} ({past.commit})"
    reporter.message(f"counting accesses on this CPU, against revision {label}")
    if params := selection.params:
        check_params([(variant, params) for variant in catalog.get_ladder(present) if not variant.fault])
    checker = _Checker(selection, revision, request.limits.compile, past, catalog)
    for name in present:
        checker.check(name)
    return AccessCheck(
        label, checker.verdicts, checker.failed, checker.unchanged, checker.new, sorted(removed), checker.uncounted
    )


def _list_names(selection: Selection) -> Sequence[str]:
    return Catalog(list_kernel_folders(selection.kernels)[-1:]).names


def _is_present(name: str, catalog: Catalog) -> bool:
    return is_file(Path(name)) if is_path(name) else name in catalog.names


def _list_past(selection: Selection, revision: str, catalog: Catalog) -> RevisionKernels:
    """List the kernels that the revision has in the folders of the kernels to check, and the paths that were named.

    Raises UsageError if a folder is not in a git checkout or its repository lacks the revision.
    """
    names: set[str] = set()
    commit = ""
    for folder in _list_folders(selection, catalog):
        try:
            found = list_kernels_at(revision, [folder])
        except UsageError as fault:
            raise UsageError(f"--against {revision}: {fault}") from None
        names |= set(found.names)
        commit = found.commit
    return RevisionKernels(names | {each for each in selection.variants if Path(each).stem in names}, commit)


def _list_folders(selection: Selection, catalog: Catalog) -> list[Path]:
    *others, last = list_kernel_folders(selection.kernels)
    folders = [] if selection.variants else [last]
    for name in selection.variants:
        if is_path(name):
            folders.append(Path(name).parent)
        else:
            file = catalog.find_file(name) if name in catalog.names else None
            folders.append(next((each for each in others if file and file.is_relative_to(each)), last))
    return list(dict.fromkeys(folders))


@dataclass
class _Checker:
    """Checks kernels and sorts them by the outcome."""

    selection: Selection
    revision: str
    compile_limit: float
    past: RevisionKernels
    catalog: Catalog
    verdicts: dict[str, list[LineVerdict]] = field(default_factory=dict)
    failed: list[FailedKernel] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    uncounted: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._machine: Machine = describe_counting_machine()
        self._watcher: Watcher = registry.make_watcher(self.compile_limit)

    def check(self, name: str) -> None:
        """Check a kernel that exists. Raises UsageError, SpecError if it was named, and DeviceError."""
        try:
            variant = self.catalog.get(name)
        except SpecError as fault:
            if name in self.selection.variants:
                raise
            self.failed.append(FailedKernel(name, fault.location, str(fault)))
            return
        refuse_drafted(variant)
        if name not in self.past.names:
            self.new.append(name)
            return
        try:
            earlier = self.catalog.get(f"{self.revision}{MARK}{name}")
        except (SpecError, UsageError) as fault:
            self.uncounted[name] = str(fault)
            return
        if hash_code(variant, variant.default().items()) == hash_code(earlier, earlier.default().items()):
            self.unchanged.append(name)
        elif reason := explain_uncountable(variant) or explain_uncountable(earlier):
            self.uncounted[name] = f"it {reason}"
        else:
            self._compare(variant, earlier)

    def _compare(self, variant: Variant, earlier: Variant) -> None:
        """Compare a kernel with its earlier version in every requested problem and configuration."""
        name, changes, reasons = variant.name, dict[str, list[AccessChange]](), list[str]()
        planned = self._plan(variant)
        for item in planned:
            past = item if isinstance(item, Skip) else self._plan_past(item)
            if isinstance(item, Skip) or not isinstance(past, Plan):
                reasons.append(item.reason if isinstance(item, Skip) else str(past))
                continue
            try:
                before = self._watcher.count(past)
            except PlanError as fault:
                reasons.append(f"at {self.revision}: {fault}")
                continue
            try:
                now = self._watcher.count(item)
            except Unsupported as fault:
                reasons.append(str(fault))
            except PlanError as fault:
                self.failed.append(FailedKernel(name, variant.path, str(fault)))
                return
            else:
                changes[_name_among(item, planned)] = _compare_counts(before, earlier, now, variant)
        if changes:
            paths = {place: each.path for place, each in list_source_lines(variant).items()}
            self.verdicts[name] = judge_lines(changes, paths)
        if reasons:
            self.uncounted[name] = "; ".join(dict.fromkeys(reasons))

    def _plan(self, variant: Variant) -> list[Plan | Skip]:
        layouts = self.selection.layouts or tuple(variant.layouts)
        return plan_kernel(replace(self.selection, layouts=layouts), variant, self._machine)

    def _plan_past(self, plan: Plan) -> Plan | str:
        return plan_past(plan, self.revision, self.past, self.catalog, self._machine)


def _name_among(plan: Plan, planned: Sequence[Plan | Skip]) -> str:
    """Return what distinguishes a plan from the others of its kernel, such as `nn`; "" if it is the only one."""
    facts = [_list_facts(each) for each in planned]
    return " ".join(
        fact for fact, values in zip(_list_facts(plan), zip(*facts, strict=True), strict=True) if len(set(values)) > 1
    )


def _list_facts(item: Plan | Skip) -> tuple[str, ...]:
    problem = item.problem
    return problem.shape.size, problem.layout, problem.precision_name, str(item.config)


def _compare_counts(before: AccessCounts, earlier: Variant, now: AccessCounts, later: Variant) -> list[AccessChange]:
    codes = [{place: each.code for place, each in list_source_lines(version).items()} for version in (earlier, later)]
    return compare_lines(before, codes[0], now, codes[1])
