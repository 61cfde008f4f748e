"""Compiles on every host of a fleet, each for its own cache, before anything is measured there."""

from __future__ import annotations

from dataclasses import dataclass

from gemmbench.backends.base import Artifact
from gemmbench.bench.fleet.carried import collect_files
from gemmbench.bench.fleet.machine import FleetMachine
from gemmbench.bench.fleet.tasks import compile_plan
from gemmbench.errors import DeviceError, PlanError
from gemmbench.planning.plans.plan import Plan


@dataclass(frozen=True)
class FleetCompiler:
    """A compiler that hands each plan to one worker of every host; `limit` is seconds for one compilation."""

    machine: FleetMachine
    limit: float

    def compile(self, plan: Plan) -> Artifact:
        """As Compiler; the artifact is that of the first host that can compile. Raises as Compiler does.

        A host that cannot, because of a full disk or a lost worker, says so again when it gets a batch.
        """
        connection = self.machine.connection
        workers = connection.list_workers()
        hosts = dict.fromkeys(host for address, host in workers.items() if address not in self.machine.others)
        carried, device = collect_files([plan.variant]), self.machine.choice.option
        tasks = [connection.submit(compile_plan, plan, carried, device, self.limit, workers=[host]) for host in hosts]
        built, faults = list[Artifact](), list[DeviceError]()
        for task in tasks:
            try:
                found = connection.take(task)
            except DeviceError as fault:
                faults.append(fault)
            else:
                if isinstance(found, PlanError):
                    raise found
                built.append(found)
        if not built:
            raise faults[0] if faults else DeviceError(f"no worker is left that has a {connection.resource}")
        return built[0]

    def is_compiled(self, plan: Plan) -> bool:
        """Unknown, so False: the caches are those of the workers."""
        return False
