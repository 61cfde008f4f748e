"""Verifies each configuration on one awkward problem in a separate process before it is timed."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gemmbench.backends.code_cache import content_key, read_answer, store_answer
from gemmbench.backends.code_hash import hash_code
from gemmbench.backends.devices import Machine
from gemmbench.bench.build import Built, open_pool
from gemmbench.bench.experiments.batch import ChainBatch
from gemmbench.bench.record import CHECK, Record
from gemmbench.planning.manifests.variant import GROUPS, Variant
from gemmbench.planning.plans import configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Chain, Config, Plan, Skip, make_chain
from gemmbench.planning.problems import Problem
from gemmbench.planning.sizes import AnyShape, Shape, make_shape
from gemmbench.planning.source_tree import read_version
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import TimeLimits
from gemmbench.session.reporter import Reporter

if TYPE_CHECKING:  # what measures is imported where it is used: where all answers are kept, nothing runs
    from gemmbench.session.open_session import Session

_SECONDS = 10.0
"""The time for checking a configuration, without compiling it, which takes long on a busy host."""
_METHOD = 3
"""The version of the check. Increase it when the check changes, so that cached answers no longer apply."""
_LINE = re.compile(r"; see [^;]*:\d+")
_WORDS = re.compile(r"should be [^:]{1,80}: ")
_EXPLAINED = ": as if "
_WIDE = (31, 97, 61)
"""A second shape for kernels that read outside their operands at the usual one.

N is the largest side, so most wrong leading dimensions are too small, and the result shows which mistake it is.
"""
_MOST_PRODUCTS = 3
"""The number of products in an awkward batch."""
_OK, _FAULT, _REFUSAL = "ok", "fault", "refusal"
_Answer = Mapping[str, str]


def plan_awkwardly(
    variant: Variant, config: Config, problem: Problem, machine: Machine, shape: Shape | None = None
) -> Plan | Skip:
    """Plan a configuration on an awkward problem that its rules allow, in the layout and precision of `problem`.

    The shape is the usual awkward shape or `shape`, or one near it. If `problem` has several products, a few are
    planned, and groups if the variant takes them, with rows in the first and the last if one of the problem's has any.
    If no shape is allowed, the Skip is for the shape that was wanted.
    """
    wanted = shape or configurations.AWKWARD

    def plan(shape: Shape) -> Plan | Skip:
        return _plan_shape(variant, config, problem, machine, shape)

    def turn(shape: Shape) -> Shape:
        """Convert a shape by rows to one by columns, or back, for variants whose rules count in columns."""
        M, N, K = shape
        return (N, M, K) if variant.call.column_major else shape

    found = configurations.adapt_shape(turn(wanted), lambda shape: isinstance(plan(turn(shape)), Plan), variant.require)
    return plan(turn(found) if found else wanted)


def _plan_shape(variant: Variant, config: Config, problem: Problem, machine: Machine, shape: Shape) -> Plan | Skip:
    several: AnyShape = make_shape(min(problem.count, _MOST_PRODUCTS), shape)
    if problem.groups and GROUPS in variant.kinds:
        count = min(len(problem.groups), configurations.MANY_GROUPS)
        ends = problem.groups[0] > 0 or problem.groups[-1] > 0
        several = configurations.split_into_groups(shape, count, ends)
    kinds = [problem.layout], [problem.precision_name], problem.form
    problems = configurations.make_problems(variant, [several], *kinds)
    chosen = [(variant, [config])]
    (item,) = make_plans(problems, chosen, machine.choice.primary, machine.targets, machine.why_refused)
    return item


def check_elsewhere(chains: Sequence[Chain], machine: Machine, reporter: Reporter) -> list[Chain]:
    """Return the chains together with the results of their awkward checks. Known results come from the cache.

    Libraries, networks and chains that cannot run are not checked. Raises DeviceError if a compiler is missing.
    """
    planned = {chain: check for chain in chains if (check := _plan_check(chain, machine)) is not None}
    answers: dict[str, _Answer] = {}
    missing: dict[str, Plan] = {}
    for item in planned.values():
        if isinstance(item, Skip):
            continue
        key = _make_key(item, machine)
        if known := answers.get(key) or read_answer(key):
            answers[key] = known
        else:
            missing.setdefault(key, item)
    answers |= _check_plans(missing, machine, reporter) if missing else {}
    return [_add_answer(chain, planned.get(chain), answers, machine) for chain in chains]


def _plan_check(chain: Chain, machine: Machine) -> Plan | Skip | None:
    """Plan the code of a chain on an awkward problem; None if there is nothing to check."""
    several = len(chain.steps) != 1 and not all(step.group is not None for step in chain.steps)
    if chain.reason or chain.network or several or chain.steps[0].variant.is_library or chain.passed:
        return None
    step = chain.steps[0]  # of what was picked, where a variant dispatches
    found = plan_awkwardly(step.variant, step.config, chain.problem, machine)
    if isinstance(found, Skip) or not _has_same_shape(found.problem, chain.problem):
        return found
    usual = _plan_shape(step.variant, step.config, chain.problem, machine, configurations.AWKWARD)
    return usual if isinstance(usual, Skip) else None


def _has_same_shape(one: Problem, other: Problem) -> bool:
    return (one.M, one.N, one.K) == (other.M, other.N, other.K)


def _make_key(plan: Plan, machine: Machine) -> str:
    device = machine.devices[plan.device]
    known = hash_code(plan.variant, plan.config.values), plan.problem, plan.launches, plan.arguments, plan.defines
    declared = plan.variant.product_class, plan.variant.approx, plan.variant.deterministic
    where = plan.device, plan.arch, device.name, sorted(device.software.items())
    return content_key([read_version().partition("+")[0], repr((_METHOD, known, declared, where))])


def _add_answer(chain: Chain, check: Plan | Skip | None, answers: Mapping[str, _Answer], machine: Machine) -> Chain:
    if check is None:
        return chain
    if isinstance(check, Skip):
        return replace(chain, only_here=f"refuses {check.problem.size}{check.problem.form_words}: {check.reason}")
    answer = answers.get(_make_key(check, machine), {"kind": _OK})
    if answer["kind"] == _FAULT:
        return replace(chain, fault_elsewhere=answer["text"])
    return replace(chain, only_here=answer["text"]) if answer["kind"] == _REFUSAL else chain


@dataclass
class _Deadline:
    """The time at which the check of a configuration must end, in seconds of the monotonic clock."""

    end: float = math.inf

    def is_over(self) -> bool:
        """Return whether the deadline has passed."""
        return time.monotonic() > self.end


def _check_plans(plans: Mapping[str, Plan], machine: Machine, reporter: Reporter) -> dict[str, _Answer]:
    """Verify the plans in order and store the answers. Raises KeyboardInterrupt after Ctrl-C."""
    from gemmbench.session.open_session import open_session

    answers: dict[str, _Answer] = {}
    deadline = _Deadline()
    devices = sorted({plan.device for plan in plans.values()})
    limits = TimeLimits(launch=_SECONDS)
    with (
        open_session(
            machine, devices, limits, reporter, gate=False, measured=False, is_over=deadline.is_over
        ) as session,
        open_pool(session.compilers) as pool,
    ):
        jobs = {key: pool.submit(plan) for key, plan in plans.items()}
        for number, (key, plan) in enumerate(plans.items()):
            session.progress(f"check {plan.variant.name} at {plan.problem.size}", number, len(plans))
            answers[key] = _check_plan(session, plan, jobs[key].result(), deadline)
            if answers[key]["kind"] == _FAULT and _EXPLAINED not in answers[key]["text"]:
                other = plan_awkwardly(plan.variant, plan.config, plan.problem, machine, _WIDE)
                if isinstance(other, Plan) and other.problem.size != plan.problem.size:
                    explained = _check_plan(session, other, pool.submit(other).result(), deadline)
                    answers[key] = explained if _EXPLAINED in explained.get("text", "") else answers[key]
            store_answer(key, answers[key])
    return answers


def _check_plan(session: Session, plan: Plan, built: Built, deadline: _Deadline) -> _Answer:
    """Verify a plan. Raises KeyboardInterrupt after Ctrl-C."""
    from gemmbench.bench.workers.device_workers import RemoteWorker

    session.worker.devices  # noqa: B018  # waits until they are open, which does not count
    deadline.end = time.monotonic() + _SECONDS
    batch = ChainBatch(policy=Policy(), chains=(make_chain(plan),), built=((built,),), phase=CHECK)
    records = session.make_runner(_ignore_records, _never).run([batch])
    is_late, deadline.end = deadline.is_over(), math.inf
    if session.is_interrupted():
        raise KeyboardInterrupt
    if is_late and isinstance(session.worker, RemoteWorker):
        session.worker.close()  # it was told to stop, so the next check gets a process of its own
    return _judge(plan, records[0] if records else None)


def _ignore_records(records: Sequence[Record]) -> None:
    """Ignore the records, because the answers become part of other rows."""


def _never() -> bool:
    return False


def _judge(plan: Plan, record: Record | None) -> _Answer:
    size = f"{plan.problem.size}{plan.problem.form_words}"
    if record is None or record.status == "timeout":
        return {"kind": _REFUSAL, "text": f"{size} took longer than {_SECONDS:g} s"}
    if record.status == "ok":
        return {"kind": _OK}
    reason = record.reason.partition("\n")[0]
    if record.status == "wrong":
        return {"kind": _FAULT, "text": f"wrong at {size}: {_shorten(reason)}"}
    if record.diagnosis == "crash":
        return {"kind": _FAULT, "text": f"fails at {size}: {reason}"}
    return {"kind": _REFUSAL, "text": f"refuses {size}: {reason}"}


def _shorten(reason: str) -> str:
    """Shorten the reason for a wrong result to its cause if that is known, without the counts before it.

    Line numbers are removed, because the answer is also used for the same code with other comments.
    """
    reason = _LINE.sub("", reason)
    found = _WORDS.search(reason)
    return reason[found.end() :] if found else reason.partition(" check: ")[2] or reason
