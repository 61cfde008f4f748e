"""Watches every access of small launches on the host, which `verify` does first, before any device runs."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace

import msgspec

from gemmbench.analysis.toolkit import kill_running_commands
from gemmbench.backends import registry
from gemmbench.backends.base import Watched, WatchedFault, Watcher
from gemmbench.backends.devices import Machine
from gemmbench.bench.estimate import estimate_watching
from gemmbench.bench.experiments.context import Progress
from gemmbench.bench.experiments.trial import make_skip_record
from gemmbench.bench.record import Record
from gemmbench.bench.runner import Pace, PacedSteps
from gemmbench.bench.verify.diagnosis import WATCHED
from gemmbench.bench.verify.manifest_doubts import explain_loose_bounds
from gemmbench.errors import DeviceError, HostError, PlanError, Unsupported
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans import configurations
from gemmbench.planning.plans.plan import Config, Plan, Skip, make_chain
from gemmbench.planning.problems import Problem, make_problem
from gemmbench.planning.sizes import One, Shape, make_shape
from gemmbench.session.awkward_checks import plan_awkwardly
from gemmbench.session.machine import describe_local

_HOST = "cpu"
_LONGEST_SIDE = 256
_MOST_PRODUCTS = 1 << 26
"""The most multiplications in a launch. A larger one would take seconds."""
_LARGEST_INT = 2**31 - 1
_MOST_FAULTS = 4
_GLANCE = 0.2
"""Seconds between checks of whether to go on."""
_HARMLESS = ("race", "never written")
_OUTSIDE = ("writes outside", "reads outside", "writes nowhere", "reads nowhere", "crash")
_NOT_LAUNCHED = "not launched because of the fault above; --device cpu judges its results, --no-watch launches it"


@dataclass
class WatchedRuns:
    """What was seen: a record for each configuration and kind of problem with a fault.

    `explanations` holds sentences that may explain why a configuration is wrong, by variant and configuration.
    `unwatched` holds the reasons why the accesses of variants that run could not be watched. `dangerous` holds
    configurations that may hang or destroy the context of a GPU. `overflows` says which index of a variant overflows an
    int on a huge problem that was not requested.
    """

    records: list[Record] = field(default_factory=list)
    explanations: dict[tuple[str, str], str] = field(default_factory=dict)
    unwatched: dict[str, str] = field(default_factory=dict)
    dangerous: set[tuple[str, str]] = field(default_factory=set)
    overflows: dict[str, str] = field(default_factory=dict)

    def refuse(self, item: Plan | Skip) -> Plan | Skip:
        """Return the plan, or a Skip if its configuration is dangerous."""
        if isinstance(item, Skip) or _name_configuration(item) not in self.dangerous:
            return item
        return Skip(item.problem, item.variant, item.config, item.device, _NOT_LAUNCHED)

    def explain(self, record: Record) -> Record:
        """Add to the record of a wrong or endless launch what was seen that may explain it."""
        seen = self.explanations.get((record.variant, record.configuration))
        if seen is None or record.status not in ("wrong", "timeout"):
            return record
        return msgspec.structs.replace(record, reason=f"{record.reason}; {seen}")


def _name_configuration(item: Plan | Skip) -> tuple[str, str]:
    record = make_skip_record(make_chain(item))
    return record.variant, record.configuration


@dataclass(frozen=True)
class Launches:
    """The launches of one configuration on problems with the same layout and precision, which share their code.

    If `is_huge`, only overflowing indexes matter.
    """

    plans: tuple[Plan, ...]
    is_huge: bool = False

    def watch(self, watcher: Watcher) -> list[Watched]:
        """Watch each launch, up to the first that does not end. Raises PlanError and DeviceError."""
        seen: list[Watched] = []
        for plan in self.plans:
            seen.append(watcher.watch(plan))
            if not seen[-1].ended:
                break
        return seen


def find_host(machine: Machine) -> Machine | None:
    """Return the CPU device on which a machine's kernels are watched; None if they are not watched."""
    if machine.why_unwatched:
        return None
    return machine if machine.on_cpu else describe_local(registry.choose_device(_HOST))


def plan_watching(
    variant: Variant,
    planned: Sequence[Plan | Skip],
    declared: Sequence[Plan | Skip],
    host: Machine,
    sized: bool,
    every: bool,
) -> list[Launches | Skip]:
    """Plan the launches of a variant to watch. `planned` and the `declared` forms are what will be verified.

    With `sized`, the smallest of those shapes are watched in addition to the awkward ones. With `every`, all precisions
    are watched, otherwise only one. `host` is the machine with only the CPU device.
    """
    if not variant.is_kernel:
        return []
    plans = [item for item in planned if isinstance(item, Plan)]
    precisions = list(dict.fromkeys(plan.problem.precision_name for plan in plans))
    chosen = precisions if every else [kind for kind in ("f32",) if kind in precisions] or precisions[:1]
    groups: dict[tuple[Config, str, str], list[Shape]] = {}
    for plan in plans:
        problem = plan.problem
        if problem.precision_name in chosen:
            config = Config() if variant.picks else plan.config
            groups.setdefault((config, problem.layout, problem.precision_name), []).append(
                (problem.M, problem.N, problem.K)
            )
    found: list[Launches | Skip] = []
    awkward = make_shape(max((plan.launched.count for plan in plans), default=1), configurations.AWKWARD)
    if any(plan.launched.groups for plan in plans):
        awkward = configurations.split_into_groups(configurations.AWKWARD)
    for (config, layout, precision), shapes in groups.items():
        problem = make_problem(awkward, layout, precision)
        wanted = [*configurations.WATCHED, *(_choose_smallest(shapes) if sized else ())]
        items = [plan_awkwardly(variant, config, problem, host, shape) for shape in wanted]
        allowed = [item for item in items if isinstance(item, Plan)]
        small = {item.problem: item for item in allowed if _is_short(item.problem)}
        found += [Launches(tuple(small.values()))] if small else []
        if not small:
            found.append(_explain_none(items[0]))
    watched = {(plan.config, plan.problem) for item in found if isinstance(item, Launches) for plan in item.plans}
    forms = _plan_forms(variant, [*plans, *declared], chosen, host)
    found += [Launches((plan,)) for plan in forms if (plan.config, plan.problem) not in watched]
    if plans and not sized:
        (config, layout, precision), _ = next(iter(groups.items()))
        problem = Problem(*configurations.AWKWARD, layout=layout, precision_name=precision)
        huge = plan_awkwardly(variant, config, problem, host, configurations.HUGE)
        found += [Launches((huge,), is_huge=True)] if isinstance(huge, Plan) else []
    return found


def _plan_forms(
    variant: Variant, verified: Sequence[Plan | Skip], precisions: Sequence[str], host: Machine
) -> list[Plan]:
    """Plan a launch for each batch, groups, epilogue and D that is verified, alone and with several products.

    Their rows are packed: a read of padding stays within its operand, and padding need not be written.
    """
    found: dict[tuple[Config, Problem], Plan] = {}
    for item in verified:
        problem = replace(item.problem, ld=())
        is_plain = One(problem.M, problem.N, problem.K) == problem.shape and not any(problem.form.values())
        if isinstance(item, Skip) or problem.precision_name not in precisions or is_plain:
            continue
        config = Config() if variant.picks else item.config
        plan = plan_awkwardly(variant, config, problem, host, configurations.WATCHED[0])
        if isinstance(plan, Plan) and _is_short(plan.problem):
            found.setdefault((plan.config, plan.problem), plan)
    return list(found.values())


def _explain_none(item: Plan | Skip) -> Skip:
    """Explain why no launch of a configuration can be watched."""
    if isinstance(item, Skip):
        return item
    reason = f"{item.problem.size}, the smallest problem that it allows, takes too long"
    return Skip(item.problem, item.variant, item.config, item.device, reason)


def _choose_smallest(shapes: Sequence[Shape]) -> list[Shape]:
    """Choose the smallest shapes with M > N and with M < N, or else the smallest. Long even sides are halved first.

    A shape on which an index may overflow is added if there is one.
    """
    shrunk = sorted({_shrink(shape) for shape in shapes}, key=lambda shape: (math.prod(shape), shape))
    tall = [shape for shape in shrunk if shape[0] > shape[1]]
    wide = [shape for shape in shrunk if shape[0] < shape[1]]
    largest = [shape for shape in shapes if _has_large_index(*shape)]
    return [*([*tall[:1], *wide[:1]] or shrunk[:1]), *largest[:1]]


def _has_large_index(M: int, N: int, K: int) -> bool:
    """Return whether an operand has elements whose index overflows an int."""
    return max(M * N, M * K, K * N) > _LARGEST_INT


def _is_short(problem: Problem) -> bool:
    """Return whether the problem can be watched in about a second. Only a few blocks of the largest problems run."""
    return problem.flops <= 2 * _MOST_PRODUCTS or _has_large_index(problem.M, problem.N, problem.K)


def _shrink(shape: Shape) -> Shape:
    """Return a similar but smaller shape. The larger of M and N stays the larger one."""
    M, N, K = map(_shrink_side, shape)
    if shape[0] > shape[1] and M <= N:
        return 2 * N, N, K
    return (M, 2 * M, K) if shape[0] < shape[1] and N <= M else (M, N, K)


def _shrink_side(side: int) -> int:
    while side > _LONGEST_SIDE and side % 2 == 0:
        side //= 2
    return side


def watch_kernels(
    launches: Sequence[Launches | Skip],
    compile_limit: float,
    progress: Progress,
    is_ended: Callable[[Sequence[Record]], bool],
    later: float = 0.0,
) -> WatchedRuns:
    """Watch launches on all cores. `is_ended` receives the faults so far and returns whether to stop.

    `later` are the seconds that what follows is expected to take on a typical host.
    """
    found = WatchedRuns()
    watcher = registry.make_watcher(compile_limit)
    jobs: dict[Future[list[Watched]], Launches] = {}
    for item in launches:
        if isinstance(item, Skip):
            found.unwatched.setdefault(item.variant.name, item.reason)
    work = [item for item in launches if isinstance(item, Launches)]
    steps = PacedSteps(progress, "watch accesses", Pace([estimate_watching(each.plans) for each in work], later))
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        jobs = {pool.submit(each.watch, watcher): each for each in work}
        numbers, waiting = {job: number for number, job in enumerate(jobs)}, set(jobs)
        while waiting:
            done, waiting = wait(waiting, _GLANCE, FIRST_COMPLETED)
            for job in done:
                _take_result(found, job, jobs[job])
                steps.end(numbers[job])
            if is_ended(found.records):
                pool.shutdown(wait=False, cancel_futures=True)
                kill_running_commands()
                break
    return found


def _take_result(found: WatchedRuns, job: Future[list[Watched]], launches: Launches) -> None:
    plan = launches.plans[0]
    if launches.is_huge:
        _take_overflow(found, job, plan)
        return
    try:
        seen = job.result()
    except Unsupported as fault:
        found.unwatched.setdefault(plan.variant.name, str(fault))
        return
    except (PlanError, DeviceError) as fault:
        found.unwatched.setdefault(plan.variant.name, str(fault).partition("\n")[0])
        return
    except Exception as fault:
        found.unwatched.setdefault(plan.variant.name, str(HostError(fault)))
        return
    if not seen[-1].ended:
        found.unwatched.setdefault(plan.variant.name, "a launch took too long")
    if record := _make_record(launches.plans, seen):
        found.records.append(record)
        if any(fault.kind not in _HARMLESS for watched in seen for fault in watched.faults):
            found.dangerous.add(_name_configuration(plan))
    if sentences := [each for watched in seen for each in watched.explanations]:
        found.explanations.setdefault(_name_configuration(plan), sentences[0])


def _take_overflow(found: WatchedRuns, job: Future[list[Watched]], plan: Plan) -> None:
    """Note an index that overflows. Other faults of a huge launch are ignored, because its size was not requested."""
    with suppress(Exception):
        faults = [fault for watched in job.result() for fault in watched.faults if fault.kind == "overflow"]
        if faults:
            found.overflows[plan.variant.name] = f"not a failure, but at {plan.problem.size}, {faults[0].sentence}"


def _make_record(plans: Sequence[Plan], seen: Sequence[Watched]) -> Record | None:
    """Make a record of the faults of some launches, the likeliest cause first; None if there are none."""
    found = _merge_faults(plans, seen)
    if not found:
        return None
    plan = found[0][0]
    faults = [fault if its is plan else _name_problem(fault, its) for its, fault in found]
    shown = [fault.sentence for fault in faults[:_MOST_FAULTS]]
    if any(fault.kind in _OUTSIDE for fault in faults) and (loose := explain_loose_bounds(plan.variant)):
        shown.insert(0, loose)
    if (left := len(faults) - len(shown)) > 0:
        shown.append(f"and {left} more {'fault' if left == 1 else 'faults'}")
    record = make_skip_record(make_chain(plan))
    cause = f"{WATCHED}{faults[0].kind} {faults[0].place}".strip()
    return msgspec.structs.replace(record, status="failed", reason="\n".join(shown), diagnosis=cause)


def _merge_faults(plans: Sequence[Plan], seen: Sequence[Watched]) -> list[tuple[Plan, WatchedFault]]:
    """List each kind of fault at each place once, with its first launch, the likeliest causes first."""
    merged: dict[tuple[str, str], tuple[Plan, WatchedFault]] = {}
    for plan, watched in zip(plans, seen, strict=False):
        for fault in watched.faults:
            merged.setdefault((fault.kind, fault.place), (plan, fault))
    return sorted(merged.values(), key=lambda each: each[1].rank)


def _name_problem(fault: WatchedFault, plan: Plan) -> WatchedFault:
    """Add the size to a fault that occurs in another launch."""
    return replace(fault, sentence=f"at {plan.problem.size}, {fault.sentence}")
