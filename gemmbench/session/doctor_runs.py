"""Examines the machine or a fleet's workers for `doctor`, and measures how small a difference they can show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gemmbench.backends import registry
from gemmbench.backends.code_cache import cache_folder, refuse_unsafe
from gemmbench.backends.devices import DeviceChoice, HealthCheck, Machine, check_writable, failed_check
from gemmbench.backends.registry import AUTO, find_entry, list_entries, load_services, parse_device
from gemmbench.bench.build import compile_plans
from gemmbench.bench.experiments.context import SWEEP
from gemmbench.bench.experiments.noise import Noise, compare_with_itself
from gemmbench.bench.workers.fleet_tasks import WorkerFacts, WorkerHealth, measure_load
from gemmbench.bench.workers.fleet_worker import FleetMachine, group_by_kind
from gemmbench.errors import DeviceError, PlanError
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sizes import read_sizes
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.planning.sweeps.run_request import Selection, TimeLimits
from gemmbench.session.fleet_machines import connect_fleet, describe_workers
from gemmbench.session.open_session import open_session
from gemmbench.session.reporter import SILENT, Reporter
from gemmbench.session.single_kernel import find_variant, plan_kernel


def examine_machine(option: str, results: Path) -> list[HealthCheck]:
    """Check everything that `--device option` needs without opening a device.

    Raises UsageError for an unknown device.
    """
    choice = parse_device(option)
    checks: list[HealthCheck] = []
    for name in _examined_backends(option, choice):
        checks += load_services(name).examine(choice, required=name == choice.primary)
    checks.append(_check_cache())
    return [*checks, check_writable("results", results, "give another folder with --out")]


def _check_cache() -> HealthCheck:
    home, next_step = cache_folder(), "set GEMMBENCH_CACHE_DIR to another folder"
    try:
        refuse_unsafe(home)
    except DeviceError as fault:
        return failed_check("cache", str(fault), "", fatal=True)
    return check_writable("cache", home, next_step)


def _examined_backends(option: str, choice: DeviceChoice) -> list[str]:
    """List the back ends to check. With `auto` they include those that were passed over."""
    wanted = {choice.primary, *find_entry(choice.primary).companions}
    return [entry.name for entry in list_entries() if entry.name in wanted or (option == AUTO and entry.automatic)]


SECONDS = 4.0
"""How long each plan is timed, in seconds."""


def measure_noise(
    machine: Machine, kernels: str | None, limits: TimeLimits, reporter: Reporter = SILENT
) -> tuple[list[Noise], bool]:
    """Compare plans with themselves. Returns the noise of each and whether this was interrupted.

    A plan that fails is reported and left out.
    """
    plans = list(choose_plans(machine, kernels))
    policy = Policy(until=0.0, max_time=SECONDS)
    noises: list[Noise] = []
    with open_session(machine, sorted({plan.device for plan in plans}), limits, reporter) as session:
        built = compile_plans(plans, session.compilers, session.progress)
        for plan in plans:
            try:
                noises.append(compare_with_itself(session.worker, plan, built[plan], policy))
            except PlanError as fault:
                if session.is_interrupted():
                    return noises, True
                reporter.message(f"A against A: {fault}")
    return noises, False


def choose_plans(machine: Machine, kernels: str | None) -> Iterator[Plan]:
    """Yield one plan from each line that the back end lists: the first variant there that can run."""
    for names, size in registry.find_entry(machine.choice.primary).noise_plans:
        asked = [Selection((name,), read_sizes(size), ("f32",), ("nn",), kernels=kernels) for name in names]
        expanded = [item for one in asked for item in plan_kernel(one, find_variant(one), machine)]
        yield from [item for item in expanded if isinstance(item, Plan)][:1]


def examine_fleet(
    device: str, fleet: str, kernels: str | None, limits: TimeLimits, reporter: Reporter, quick: bool
) -> Iterator[WorkerHealth]:
    """Describe each worker and, unless `quick`, measure the noise of one worker after the other.

    Raises UsageError and DeviceError.
    """
    with connect_fleet(device, fleet, reporter) as (choice, connection):
        facts = describe_workers(choice, connection)
        yield from (WorkerHealth(each, fault=each.fault) for each in facts if each.fault)
        for machine in group_by_kind(choice, facts, connection):
            for number, member in enumerate(machine.members, 1):
                load: float = connection.take(connection.submit(measure_load, workers=[member.address]))
                health = WorkerHealth(member, load)
                name = f"noise of worker {number} of {len(machine.members)} on {member.host}"
                yield health if quick else _measure_noise(machine, health, kernels, limits, reporter, name)


def _measure_noise(
    machine: FleetMachine, health: WorkerHealth, kernels: str | None, limits: TimeLimits, reporter: Reporter, name: str
) -> WorkerHealth:
    """Compare a kernel with itself on one worker. `name` is the text of the progress bar."""
    alone = _keep_only(machine, health.facts)
    plan = next(iter(choose_plans(alone, kernels)), None)
    if plan is None:
        return replace(health, fault="no kernel can run there")
    try:
        with open_session(alone, [plan.device], limits, reporter) as session:
            session.progress(f"{SWEEP}{name}", 0, 0)
            artifact = session.compilers[plan.device].compile(plan)
            noise = compare_with_itself(session.worker, plan, artifact, Policy(until=0.0, max_time=SECONDS))
    except PlanError as fault:
        return replace(health, fault=str(fault))
    return replace(health, floor=noise.floor)


def _keep_only(machine: FleetMachine, member: WorkerFacts) -> FleetMachine:
    others = frozenset(machine.connection.list_workers()) - {member.address}
    return replace(machine, members=(member,), others=others)
