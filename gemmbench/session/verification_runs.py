"""Verifies variants over shapes where kernels often break (`verify`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from gemmbench.backends.devices import Machine
from gemmbench.bench.estimate import TYPICAL_HOST, UNTIMED, estimate_sweep
from gemmbench.bench.measured_sweep import ChainSweep, measure_sweep
from gemmbench.bench.record import Record
from gemmbench.bench.selection import LARGEST
from gemmbench.planning.manifests.variant import ALL, GROUPS, MANY, PADDED, SEPARATE_C, Variant
from gemmbench.planning.plans import configurations
from gemmbench.planning.plans.configurations import check_params, count_configurations, list_configurations
from gemmbench.planning.plans.expansion import check_memory, make_plans
from gemmbench.planning.plans.plan import Config, Plan, Skip, make_chain
from gemmbench.planning.problems import Problem, make_problem
from gemmbench.planning.sizes import Groups, Many, check_plans
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import RunRequest, Selection
from gemmbench.planning.sweeps.sweep import Sweep
from gemmbench.report.text import count_noun
from gemmbench.session.awkward_checks import plan_awkwardly
from gemmbench.session.invariance_runs import add_invariance, plan_invariance
from gemmbench.session.machine import open_catalog
from gemmbench.session.open_run import OpenRun, RunResult, open_results
from gemmbench.session.open_session import open_session
from gemmbench.session.reporter import SILENT, Reporter, announce_run_on_cpu, announce_split_batches
from gemmbench.session.watched_runs import Launches, find_host, plan_watching, watch_kernels

_SWEEP = "verify"
"""The sweep that a results file of checks names."""


@dataclass(frozen=True)
class Verification:
    """The results of `verify`. `broken` says which kernel files cannot be read, and why.

    `note` says which precisions and layouts were left out, if any. `remarks` are sentences that do not report failures:
    why accesses were not watched, and what would fail at sizes that were not requested. `wrongly_launched` names the
    kernels that are wrong if they are launched as in their file. `result` is the run in the results file, if records
    are kept.
    """

    records: list[Record]
    interrupted: bool
    broken: list[str]
    note: str = ""
    remarks: Sequence[Mapping[str, str]] = ()
    wrongly_launched: tuple[str, ...] = ()
    result: RunResult | None = None


def verify_kernels(
    request: RunRequest,
    machine: Machine,
    reporter: Reporter = SILENT,
    *,
    every: bool = False,
    exit_first: bool = False,
    pdl: bool = True,
    watch: bool = True,
    invariance: bool = False,
    keep: bool = False,
) -> Verification:
    """Verify the variants without timing them. By default, everything that a variant declares is verified.

    Without sizes, the shapes are those where kernels often break. On the CPU device, the default is f32 and one layout,
    and the largest shape is left out. With `every`, nothing is left out and all configurations are verified; otherwise
    each parameter is changed once. With `exit_first`, verification stops at the first failure. With `pdl`, kernels
    whose products may overlap are also verified that way. With `watch`, every access of small launches is watched on
    the host first. With `invariance`, the records of correct rows say whether they are batch invariant. With `keep`,
    the records are written to a results file in the folder of the request. Raises GemmbenchError.
    """
    selection = request.selection
    variants, broken = choose_variants(selection, lambda variant: variant.computes == "gemm", reporter)
    check_params([(variant, selection.params) for variant in variants])
    expanded: list[Plan | Skip] = []
    plain: list[Plan] = []
    verified: list[Variant] = []
    watched: list[Launches | Skip] = []
    host = find_host(machine) if watch else None
    for variant in variants:
        planned = plan_verification(variant, selection, machine, every)
        verified += [variant] if any(isinstance(item, Plan) for item in planned) else []
        plain += [item for item in planned if isinstance(item, Plan)]
        declared = _plan_declared_forms(variant, planned, selection, machine)
        expanded += planned + declared
        if host is not None:
            watched += plan_watching(variant, planned, declared, host, selection.sizes is not None, every)
        check_plans(len(expanded))
    announce_split_batches(expanded, reporter)
    devices = sorted({item.device for item in expanded if isinstance(item, Plan)})
    policy = Policy(seed=request.measuring.seed or 0)
    announced = [make_chain(item) for item in expanded]
    series = plan_invariance(plain if invariance else [], variants, machine, sized=selection.sizes is not None)
    compared = [chain for each in series for chain in each.chains]
    announce_run_on_cpu(machine, [*announced, *compared], UNTIMED, "", request.limits, reporter)
    sweep = Sweep(_SWEEP, tuple(dict.fromkeys(item.problem for item in expanded)), (), "", policy)
    with (
        open_session(machine, devices, request.limits, reporter, measured=False, gate=False) as session,
        open_results(session, sweep, None, request.destination, reporter) if keep else nullcontext() as opened,
    ):
        failures = FailureReport(reporter, len(expanded))

        def is_ended() -> bool:
            return session.is_interrupted() or (exit_first and failures.failed)

        def is_watching_over(faults: Sequence[Record]) -> bool:
            return session.is_interrupted() or bool(exit_first and faults)

        able = (chain for chain in announced if not chain.reason)
        later = estimate_sweep(able, machine.devices, UNTIMED, "", TYPICAL_HOST)
        runs = watch_kernels(watched, request.limits.compile, session.progress, is_watching_over, later)
        failures.report(runs.records)
        if is_watching_over(runs.records):
            result = _keep_records(opened, runs.records)
            return Verification(runs.records, session.is_interrupted(), broken, result=result)
        chains = announced if machine.on_cpu else [make_chain(runs.refuse(item)) for item in expanded]
        runner = session.make_runner(failures.add, is_ended)
        overlapping = [chain for chain in chains if chain.pdl] if pdl else []
        records = list(runs.records)
        for each, overlap in ((chains, False), (overlapping, True)):
            largest = 1 if exit_first else LARGEST
            swept = ChainSweep(each, replace(policy, pdl=overlap), baseline="", largest=largest, timed=False)
            records += map(runs.explain, measure_sweep(runner, session.compilers, swept))
        if series and not is_ended():
            records = add_invariance(session, series, records, policy)
        notes = (
            _note_left_out(verified, selection, machine, every),
            _name_untried_forms(verified, selection, machine, every),
        )
        note = "; ".join(filter(None, notes))
        ran = {record.variant for record in records if record.status in ("ok", "wrong")}
        unwatched = {name: f"accesses not watched: {why}" for name, why in runs.unwatched.items() if name in ran}
        wrongly_launched = tuple(variant.name for variant in variants if variant.wrongly_launched)
        remarks, result = [unwatched, runs.overflows], _keep_records(opened, records)
        return Verification(records, session.is_interrupted(), broken, note, remarks, wrongly_launched, result)


def _keep_records(opened: OpenRun | None, records: Sequence[Record]) -> RunResult | None:
    """Write the records to the results file, if there is one, and end it."""
    if opened is None:
        return None
    opened.journal.write(records)
    return opened.finish()


def choose_variants(
    selection: Selection, is_wanted: Callable[[Variant], bool], reporter: Reporter
) -> tuple[list[Variant], list[str]]:
    """Return the named variants, or else all wanted ones, and the faults of files that cannot be read.

    Such files are reported as left out. Raises UsageError, and SpecError if no named file can be read.
    """
    catalog = open_catalog(selection.kernels, reporter)
    if selection.variants:
        found = catalog.get_ladder(selection.variants)
        variants = [variant for variant in found if not variant.fault]
        broken = [variant.fault for variant in found if variant.fault]
    else:
        readable, faults = catalog.read_all()
        variants, broken = [variant for variant in readable if is_wanted(variant)], list(map(str, faults))
    for fault in broken:
        reporter.message(f"left out: {fault}")
    return variants, broken


class FailureReport:
    """Reports the first failure of each variant as soon as it is known, unless no further `checks` follow.

    The causes are listed at the end. `failed` says whether anything has failed.
    """

    def __init__(self, reporter: Reporter, checks: int):
        self._reporter, self._left = reporter, checks
        self._reported: set[str] = set()
        self.failed = False

    def add(self, records: Sequence[Record]) -> None:
        """Count records as checks, and report the first failure of each variant."""
        self._left -= len(records)
        self.report(records)

    def report(self, records: Sequence[Record]) -> None:
        """Report the first failure of each variant without counting the records as checks."""
        for record in records:
            if record.status in ("ok", "skipped"):
                continue
            self.failed = True
            if self._left > 0 and record.variant not in self._reported:
                self._reported.add(record.variant)
                name = f"{record.variant} {record.configuration}".strip()
                self._reporter.message(f"{name} at {record.problem}: {record.status}; the causes follow below")


def plan_verification(
    variant: Variant, selection: Selection, machine: Machine, every: bool = False
) -> list[Plan | Skip]:
    """Plan the verification of a variant. Raises UsageError."""
    params = {ALL: ()} if every else selection.params
    precisions, layouts = _choose_kinds(variant, selection, machine, every)
    configs = list_configurations(variant, params) if params else configurations.change_each_parameter(variant)
    usual = [configurations.choose_shape(variant, shape) for shape in configurations.SHAPES]
    shapes = selection.sizes.shapes if selection.sizes else usual
    planned = _plan_problems(
        variant,
        configurations.make_problems(variant, shapes, layouts, precisions, selection.form),
        configs,
        machine,
    )
    if not selection.sizes:
        planned += _plan_allowed_shapes(variant, planned, layouts, precisions, configs, machine, selection.form)
    if not selection.sizes and (every or not machine.on_cpu):
        # Many blocks at once, where a race shows; the CPU device runs one after the other, and slowly.
        crowded = configs[:1] if machine.on_cpu else configs
        large = [configurations.choose_shape(variant, configurations.LARGE)]
        planned += _plan_problems(
            variant,
            configurations.make_problems(variant, large, layouts[:1], precisions, selection.form),
            crowded,
            machine,
        )
    return planned


_LARGEST_ALLOWED = 1 << 26
"""The most multiplications in a problem that replaces one refused by a variant's rules."""


def _plan_allowed_shapes(
    variant: Variant,
    planned: Sequence[Plan | Skip],
    layouts: Sequence[str],
    precisions: Sequence[str],
    configs: Sequence[Config],
    machine: Machine,
    form: Mapping[str, Any],
) -> list[Plan | Skip]:
    """Plan shapes near the usual ones for configurations whose rules refuse most of the usual shapes."""
    found: list[Plan | Skip] = []
    for config in configs:
        mine = _list_plans_of(config, planned)
        if 2 * sum(isinstance(item, Plan) for item in mine) >= len(mine):
            continue
        shape = configurations.choose_shape(variant, configurations.AWKWARD)
        problem = make_problem(shape, layouts[0], precisions[0])
        adapted = [plan_awkwardly(variant, config, problem, machine, shape) for shape in configurations.SHAPES]
        shapes = dict.fromkeys((each.problem.M, each.problem.N, each.problem.K) for each in adapted
                               if isinstance(each, Plan))  # fmt: skip
        new = [shape for shape in shapes if shape not in configurations.SHAPES and math.prod(shape) <= _LARGEST_ALLOWED]
        if not new and not machine.on_cpu:
            new = list(shapes)[:1]  # rules may allow nothing but one large size
        counted = [configurations.choose_shape(variant, shape) for shape in new]
        found += _plan_problems(
            variant,
            configurations.make_problems(variant, counted, layouts, precisions, form),
            [config],
            machine,
        )
    return found


def _list_plans_of(config: Config, planned: Sequence[Plan | Skip]) -> list[Plan | Skip]:
    """Return what is planned for a configuration. A variant that dispatches has only one."""
    return [item for item in planned if item.config.values == config.values or item.config.picked]


def _plan_declared_forms(
    variant: Variant, planned: Sequence[Plan | Skip], selection: Selection, machine: Machine
) -> list[Plan | Skip]:
    """Plan an awkward problem for each form that a variant declares besides plain products, unless a form is chosen.

    This covers every configuration and precision that runs according to `planned`, in the first layout.
    """
    if selection.sizes or any(selection.form.values()):
        return []
    kinds = dict[tuple[Config, str], str]()
    for item in planned:
        if isinstance(item, Plan):
            config = Config() if variant.picks else item.config
            kinds.setdefault((config, item.problem.precision_name), item.problem.layout)
    found: list[Plan | Skip] = []
    for (config, precision), layout in kinds.items():
        for form in configurations.list_declared_forms(variant, precision):
            rows = next((each for each in (layout, *variant.layouts) if each.startswith("n")), layout)
            tried = [
                plan_awkwardly(
                    variant,
                    config,
                    replace(each, layout=rows if each.groups else layout),
                    machine,
                    (each.M, each.N, each.K),
                )
                for each in form
            ]
            found.append(next((item for item in tried if isinstance(item, Plan)), tried[0]))
    return found


_PLAIN = "f32"
"""The precision to verify on the CPU device. Kernels without it are verified in the first one that they declare."""


def _choose_kinds(
    variant: Variant, selection: Selection, machine: Machine, every: bool
) -> tuple[Sequence[str], Sequence[str]]:
    """Choose the precisions and layouts to verify."""
    precisions, layouts = tuple(variant.precisions), tuple(variant.layouts)
    if machine.on_cpu and not every:
        precisions = (_PLAIN,) if _PLAIN in precisions else precisions[:1]
        layouts = layouts[:1]
    return selection.precisions or precisions, selection.layouts or layouts


def _note_left_out(variants: Sequence[Variant], selection: Selection, machine: Machine, every: bool) -> str:
    """Return a note such as `f32, nn only; --all checks 19 more combinations and 6 more configurations`.

    It is "" if nothing is left out by default.
    """
    names, left, unchanged = dict[str, dict[str, None]](), 0, 0
    for variant in variants:
        if not (every or selection.params):
            unchanged += max(0, count_configurations(variant) - len(configurations.change_each_parameter(variant)))
        precisions, layouts = _choose_kinds(variant, selection, machine, every)
        names.setdefault("precisions", {}).update(dict.fromkeys(precisions))
        names.setdefault("layouts", {}).update(dict.fromkeys(layouts))
        left += math.prod(map(len, _choose_kinds(variant, selection, machine, every=True))) - len(precisions) * len(
            layouts
        )
    only = f"{', '.join('/'.join(each) for each in names.values())} only; " if left else ""
    more = [count_noun(count, f"more {what}") for count, what in ((left, "combination"), (unchanged, "configuration"))
            if count]  # fmt: skip
    return f"{only}--all checks {' and '.join(more)}" if more else ""


_FORM_WORDS = {MANY: "batches", GROUPS: "groups", PADDED: "padded rows", SEPARATE_C: "D apart from C"}


def _name_untried_forms(variants: Sequence[Variant], selection: Selection, machine: Machine, every: bool) -> str:
    """Return which declared forms are not tried because sizes or a form are given; "" if none."""
    if selection.sizes is None and not any(selection.form.values()):
        return ""
    shapes = selection.sizes.shapes if selection.sizes else ()
    asked = {
        kind for kind, type_ in ((MANY, Many), (GROUPS, Groups)) if any(isinstance(each, type_) for each in shapes)
    }
    asked |= {kind for kind, value in ((PADDED, selection.ld), (SEPARATE_C, selection.separate_c)) if value}
    kernels = [variant for variant in variants if not variant.is_library]
    declared = {
        kind
        for variant in kernels
        for precision in _choose_kinds(variant, selection, machine, every)[0]
        for kind in configurations.list_kinds(variant, precision)
    } - asked
    words = [word for kind, word in _FORM_WORDS.items() if kind in declared]
    words += ["epilogues"] if not selection.epilogue and any(variant.epilogue for variant in kernels) else []
    return f"not tried: {', '.join(words)}; verify without --sizes tries them" if words else ""


def _plan_problems(
    variant: Variant, problems: Sequence[Problem], configs: Sequence[Config], machine: Machine
) -> list[Plan | Skip]:
    check_memory(problems, machine.targets)
    return make_plans(problems, [(variant, configs)], machine.choice.primary, machine.targets, machine.why_refused)
