"""Like cards of a cluster, as one machine to plan for."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from gemmbench.backends import registry
from gemmbench.backends.base import Device
from gemmbench.backends.devices import DeviceChoice, Machine
from gemmbench.planning.manifests.variant import Variant
from gemmbench.version import __version__

if TYPE_CHECKING:  # whoever has a fleet has imported it; a dry run need not
    from gemmbench.bench.workers.connection import Connection

T = TypeVar("T")
Kind = tuple[str, int, int]
"""Name, compute capability and multiprocessors: plans for one card are right for another of its kind."""


@dataclass(frozen=True)
class WorkerFacts:
    """A worker as it describes itself: the devices it sees, or the `fault` because of which it sees none.

    `card` names its device for rows: the UUID of a GPU with its host.
    """

    address: str
    host: str
    machine: Machine | None
    fault: str = ""
    gemmbench: str = __version__
    python: str = field(default_factory=platform.python_version)

    @property
    def card(self) -> str:
        """As the rows of its device name it."""
        uuid = self.machine.primary.uuid if self.machine else ""
        return " ".join(filter(None, (uuid, f"on {self.host}")))

    @property
    def versions(self) -> dict[str, str]:
        """Versions of what it runs."""
        software = self.machine.primary.software if self.machine else {}
        return {"gemmbench": self.gemmbench, "python": self.python, **software}


@dataclass(frozen=True)
class WorkerHealth:
    """Whether a worker is fit to measure.

    `load` is the threads of other processes that want its cores, on average; `floor` half the width of the 95 %
    interval of a kernel against itself. None if they were not measured, for the reason `fault`.
    """

    facts: WorkerFacts
    load: float | None = None
    floor: float | None = None
    fault: str = ""


@dataclass(frozen=True, kw_only=True)
class FleetMachine(Machine):
    """The machine that all `members` are like: the least memory of them, and a UUID only if there is one card.

    `others` are the addresses of the workers that are left out: of other kinds, or with faults.
    """

    connection: Connection
    members: tuple[WorkerFacts, ...]
    others: frozenset[str]
    _refusals: dict[tuple[Variant, str], str] = field(default_factory=dict, compare=False, repr=False)

    def why_refused(self, variant: Variant, device: str) -> str:
        """Why the workers cannot run a variant, as one of them says: packages are theirs. Raises DeviceError."""
        key = variant, device
        if key not in self._refusals:
            workers = [member.address for member in self.members]
            task = self.connection.submit(registry.why_refused, variant, device, workers=workers)
            why = self.connection.take(task)
            self._refusals[key] = f"on the workers: {why}" if why else ""
        return self._refusals[key]

    @property
    def kind(self) -> Kind:
        """The kind of its cards."""
        return find_kind(self)

    def list_differences(self) -> list[str]:
        """Software of which the members have different versions, such as `driver 570.1, 580.2`."""
        names = dict.fromkeys(name for member in self.members for name in member.versions)
        found = {name: {member.versions.get(name, "none") for member in self.members} for name in names}
        return [f"{name} {', '.join(sorted(versions))}" for name, versions in found.items() if len(versions) > 1]


def find_kind(machine: Machine) -> Kind:
    """The kind of the primary device."""
    device = machine.primary
    return device.name, device.target.sm, device.target.sms


def group_by_kind(choice: DeviceChoice, facts: Sequence[WorkerFacts], connection: Connection) -> list[FleetMachine]:
    """A machine for each kind of card, in the order in which the kinds were found."""
    kinds: dict[Kind, list[WorkerFacts]] = {}
    for each in facts:
        if each.machine:
            kinds.setdefault(find_kind(each.machine), []).append(each)
    known = {each.address for each in facts}
    return [_join(choice, members, connection, known) for members in kinds.values()]


def _join(
    choice: DeviceChoice, members: Sequence[WorkerFacts], connection: Connection, known: set[str]
) -> FleetMachine:
    machines = [each.machine for each in members if each.machine]
    devices = {name: _merge([machine.devices[name] for machine in machines]) for name in machines[0].devices}
    others = frozenset(known - {each.address for each in members})
    baseline = machines[0].default_baseline
    return FleetMachine(choice, devices, baseline, connection=connection, members=tuple(members), others=others)


def _merge(devices: Sequence[Device]) -> Device:
    first = devices[0]
    if len(devices) == 1:
        return first
    memory = min(device.target.memory for device in devices)
    same = {name: _only([getattr(device, name) for device in devices], "") for name in ("uuid", "vbios")}
    conditions = _only([device.conditions for device in devices], None)
    target = replace(first.target, memory=memory)
    return replace(first, target=target, software=_merge_versions(devices), conditions=conditions, **same)


def _only(values: Sequence[T], otherwise: T) -> T:
    return values[0] if all(value == values[0] for value in values) else otherwise


def _merge_versions(devices: Sequence[Device]) -> Mapping[str, str]:
    """Versions by name; where devices differ, all of them."""
    names = dict.fromkeys(name for device in devices for name in device.software)
    found = {name: [device.software.get(name, "none") for device in devices] for name in names}
    return {name: ", ".join(sorted(set(versions))) for name, versions in found.items()}
