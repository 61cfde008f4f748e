"""What doctor says about each worker of a fleet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gemmbench.bench.experiments.context import SWEEP
from gemmbench.bench.experiments.noise import compare_with_itself
from gemmbench.bench.workers.fleet_machine import FleetMachine, WorkerFacts, WorkerHealth, group_by_kind
from gemmbench.bench.workers.fleet_tasks import measure_load
from gemmbench.errors import PlanError
from gemmbench.planning.sweeps.overrides import TimeLimits
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.session.fleet.machines import connect_fleet, describe_workers
from gemmbench.session.noise import SECONDS, choose_plans
from gemmbench.session.reporter import Reporter
from gemmbench.session.session import open_session


def examine_fleet(
    device: str, fleet: str, kernels: str | None, limits: TimeLimits, reporter: Reporter, quick: bool
) -> Iterator[WorkerHealth]:
    """Describe each worker; unless `quick`, measure its noise too, one worker after the other.

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
    """Compare a kernel with itself on one worker; `name` is what the progress shows."""
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
