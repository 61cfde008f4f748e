"""The machines of a fleet, one for each kind of card that its workers have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from gemmbench.backends import registry
from gemmbench.backends.devices import DeviceChoice
from gemmbench.bench.workers.connection import Connection, WorkersLost, parse_fleet, start_workers
from gemmbench.bench.workers.fleet_tasks import WorkerFacts, describe_worker
from gemmbench.bench.workers.fleet_worker import FleetMachine, group_by_kind
from gemmbench.errors import DeviceError
from gemmbench.planning.source_tree import read_version
from gemmbench.report.text import count_noun
from gemmbench.session.reporter import Reporter

_DESCRIBING_SECONDS = 120.0


@contextmanager
def open_fleet(device: str, fleet: str, reporter: Reporter) -> Iterator[list[FleetMachine]]:
    """Open one machine for each kind of card in the cluster, for the block. Reports how the workers differ.

    Raises UsageError and DeviceError.
    """
    with connect_fleet(device, fleet, reporter) as (choice, connection):
        facts = describe_workers(choice, connection)
        for each in facts:
            if each.fault:
                reporter.message(f"the worker on {each.host} is left out: {each.fault}")
        machines = group_by_kind(choice, facts, connection)
        if not machines:
            raise DeviceError(f"no worker can measure: {facts[0].fault}")
        for machine in machines:
            _report_members(machine, reporter)
        yield machines


@contextmanager
def connect_fleet(device: str, fleet: str, reporter: Reporter) -> Iterator[tuple[DeviceChoice, Connection]]:
    """Connect to a cluster that has at least one worker with the device. Yields the device and the connection.

    Raises UsageError and DeviceError.
    """
    address = parse_fleet(fleet)
    with ExitStack() as stack:
        if address.scheduler:
            choice, scheduler, count = registry.choose_fleet_device(device), address.scheduler, 0
        else:
            registry.choose_fleet_device(device)
            choice = registry.choose_device(device)
            environments = registry.find_entry(choice.primary).share_devices(address.count)
            resource, count = registry.find_entry(choice.primary).resource, len(environments)
            scheduler = stack.enter_context(start_workers(environments, resource))
        if choice.note:
            reporter.message(choice.note)
        resource = registry.find_entry(choice.primary).resource
        connection = stack.enter_context(Connection(scheduler, resource))
        if count:
            connection.await_workers(count)
        if not connection.list_workers():
            _refuse_cluster(connection)
        yield replace(choice, note=""), connection


def _refuse_cluster(connection: Connection) -> None:
    name, others = connection.resource, connection.count_others()
    found = f"{count_noun(others, 'worker')}, but none has the resource {name}" if others else "it has no workers"
    each = "card" if name == "GPU" else "host"
    raise DeviceError(
        f"no {name} in the cluster at {connection.address}: {found}; "
        f"start workers with --resources {name}=1, one for each {each}"
    )


def describe_workers(choice: DeviceChoice, connection: Connection) -> list[WorkerFacts]:
    """Describe each worker that has the resource. Another version of gemmbench there is a fault. Raises DeviceError."""
    workers = connection.list_workers()
    tasks = {address: connection.submit(describe_worker, choice.option, workers=[address]) for address in workers}
    return [_describe(connection, address, workers[address], task) for address, task in tasks.items()]


def _describe(connection: Connection, address: str, host: str, task: object) -> WorkerFacts:
    try:
        facts: WorkerFacts = connection.take(task, _DESCRIBING_SECONDS)
    except WorkersLost as fault:
        return WorkerFacts(address, host, None, str(fault))
    except DeviceError:
        raise
    except Exception as fault:  # it lacks gemmbench or a package, or its gemmbench is another one
        words = " ".join(str(fault).split()) or type(fault).__name__
        why = f"it cannot run this gemmbench ({words}); install gemmbench {read_version()} there"
        return WorkerFacts(address, host, None, why)
    if facts.gemmbench != read_version():
        why = f"it has gemmbench {facts.gemmbench}, but this is {read_version()}; install the same version there"
        return replace(facts, machine=None, fault=why)
    return facts


def _report_members(machine: FleetMachine, reporter: Reporter) -> None:
    hosts = {member.host for member in machine.members}
    members = count_noun(len(machine.members), "worker")
    reporter.message(f"fleet: {members} with {machine.primary.name} on {count_noun(len(hosts), 'host')}")
    if differences := machine.list_differences():
        reporter.message(f"the workers differ, so their rows may differ too: {'; '.join(differences)}")
