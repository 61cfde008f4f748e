"""The back ends, by name. No other module compares these names.

A back end is a package of this folder with a module `entry` and a module `services` (see `entry`).
Both are imported when they are needed, so that a machine without a GPU needs no library of CUDA.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import cast

from gemmbench.backends.base import Backend, Compiler, InspectingCompiler
from gemmbench.backends.entry import BackendEntry, BackendServices
from gemmbench.backends.health import Peaks
from gemmbench.backends.machine import DeviceChoice, Machine
from gemmbench.errors import DeviceError, UsageError, nearest
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.sweeps.overrides import TimeLimits

NAMES = ("cuda", "cpu", "fake")
"""The packages; `--device auto` takes the first that is usable."""
AUTO = "auto"
ALL = ":all"
"""Follows a back end's name in `--device` for all its devices on this host."""


@cache
def find_entry(name: str) -> BackendEntry:
    """The record of a back end."""
    return cast(BackendEntry, import_module(f"gemmbench.backends.{name}.entry").ENTRY)


@cache
def load_services(name: str) -> BackendServices:
    """What a back end does; imports its package."""
    return cast(BackendServices, import_module(f"gemmbench.backends.{name}.services").SERVICES)


def list_entries() -> list[BackendEntry]:
    """Every record, in the order of NAMES."""
    return [find_entry(name) for name in NAMES]


def parse_device(option: str) -> DeviceChoice:
    """Read `--device`, whether the device is usable or not. Raises UsageError."""
    if option == AUTO:
        return _choose_best()
    for entry in list_entries():
        if choice := entry.choose(option):
            return choice
    forms = [AUTO, *(form for entry in list_entries() for form in entry.forms)]
    hint = nearest(option.partition(":")[0], forms)
    raise UsageError(f"unknown device '{option}'{hint}; choose {', '.join(forms[:-1])} or {forms[-1]}")


def choose_device(option: str) -> DeviceChoice:
    """Read `--device`; opens nothing.

    Raises UsageError, or DeviceError if the device is not usable.
    """
    choice = parse_device(option)
    if why := find_entry(choice.primary).why_unusable(choice):
        raise DeviceError(f"device {option} cannot be used: {why}; or take --device cpu")
    return choice


def choose_fleet_device(option: str) -> DeviceChoice:
    """Read `--device` for workers elsewhere, each of which has one device; `auto` is the first back end.

    Raises UsageError.
    """
    choice = DeviceChoice(next(entry.name for entry in list_entries() if entry.automatic))
    if option != AUTO:
        choice = parse_device(option)
    if choice.index:
        raise UsageError(f"--device {option}: a fleet uses every card; write --device {choice.primary}")
    return choice


def _choose_best() -> DeviceChoice:
    reasons: list[str] = []
    for entry in list_entries():
        if entry.automatic:
            note = f"no GPU is used: {'; '.join(reasons)}; running on the CPU" if reasons else ""
            choice = DeviceChoice(entry.name, note=note)
            if not (why := entry.why_unusable(choice)):
                return choice
            reasons.append(why)
    raise DeviceError(f"no device can be used: {'; '.join(reasons)}")


def glance_at_devices(choice: DeviceChoice) -> dict[str, Target]:
    """Targets without opening a device or importing its library: enough to see which variants are ready."""
    seen = {name: find_entry(name).glance(choice) for name in _backend_names(choice)}
    return {name: target for name, target in seen.items() if target is not None}


def describe_machine(choice: DeviceChoice) -> Machine:
    """Describe the devices of a run; opens none. Raises DeviceError."""
    devices = {name: load_services(name).describe(choice) for name in _backend_names(choice)}
    return Machine(choice, devices, find_entry(choice.primary).default_baseline)


def _backend_names(choice: DeviceChoice) -> tuple[str, ...]:
    """The back ends of a run, the primary one last."""
    return (*find_entry(choice.primary).companions, choice.primary)


def make_compilers(machine: Machine, names: Iterable[str], limit: float = TimeLimits.compile) -> dict[str, Compiler]:
    """The compilers of the named back ends; `limit` is seconds for one kernel."""
    return {name: load_services(name).compiler(machine.choice, limit) for name in names}


def open_backends(
    machine: Machine, names: Iterable[str], gate: bool, launch_limit: float = TimeLimits.launch
) -> dict[str, Backend]:
    """Open the named back ends; `launch_limit` is seconds for a launch, where the device can end one.

    Raises DeviceError.
    """
    return {name: load_services(name).open(machine.choice, gate, launch_limit) for name in names}


def needs_own_process(machine: Machine) -> bool:
    """Experiments need a process of their own, since a kernel can take a device's context down.

    Under a tool that watches this process, work stays in it.
    """
    return load_services(machine.choice.primary).needs_own_process(machine.choice)


def why_no_transfers(machine: Machine) -> str:
    """Why there is nothing to copy to and from the primary device, or "" if there is."""
    return find_entry(machine.choice.primary).no_transfers


def list_library_variants() -> list[Variant]:
    """The variants that come from libraries."""
    return [variant for entry in list_entries() for variant in entry.libraries()]


def why_refused(variant: Variant, device: str) -> str:
    """Why a back end cannot run a variant, whatever the problem; "" if it can."""
    return find_entry(device).why_refused(variant)


def choose_profiled(option: str, purpose: str) -> DeviceChoice:
    """The GPU that NVIDIA's tools are to watch for `purpose`.

    Raises DeviceError if `option` names no such GPU.
    """
    choice = choose_device(option)
    if not find_entry(choice.primary).profilers:
        why = choice.note.partition(": ")[2].rpartition("; ")[0] or f"--device {option} is not a GPU"
        raise DeviceError(f"{purpose} needs an NVIDIA GPU: {why}")
    return choice


def find_inspecting_entry() -> BackendEntry:
    """The back end whose compiler `inspect` shows."""
    return next(entry for entry in list_entries() if entry.inspects)


def glance_at_inspected_device() -> Target | None:
    """The first device of that back end as far as it is seen from outside.

    None without a device.
    """
    entry = find_inspecting_entry()
    return entry.glance(DeviceChoice(entry.name))


def make_inspecting_compiler() -> InspectingCompiler:
    """The compiler that `inspect` shows; needs no device."""
    return load_services(find_inspecting_entry().name).inspecting_compiler()


def measure_peaks(machine: Machine) -> Peaks | None:
    """What the primary device reaches at best; None for a CPU. Raises DeviceError, PlanError."""
    return load_services(machine.choice.primary).measure_peaks(machine.choice)
