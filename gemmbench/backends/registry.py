"""Finds back ends by name. No other module compares these names.

A back end is a package in this folder with two modules. `entry` holds a record that is cheap to import, and `services`
does the work. Both are imported only when needed, so a machine without a GPU needs no CUDA library.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from gemmbench.backends.base import Backend, Compiler, Device, InspectingCompiler, Watcher
from gemmbench.backends.devices import DeviceChoice, Machine, Peaks
from gemmbench.errors import DeviceError, UsageError, nearest
from gemmbench.planning.drafts.draft import FoundManifest
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.sweeps.run_request import TimeLimits

if TYPE_CHECKING:
    from gemmbench.backends.devices import HealthCheck, Peaks


NoisePlans = tuple[tuple[tuple[str, ...], int], ...]


class BackendEntry:
    """Describes one back end.

    `forms` lists the values that `--device` accepts for it. `--device auto` takes the first usable back end with
    `automatic`. `companions` are the back ends that are opened along with it. `noise_plans` holds what `doctor` runs
    against itself: for each plan, the variants to try in order, and the size. `no_transfers` is the reason why
    transfers to and from its device cannot be measured; it is "" if they can. `profilers` is True if NVIDIA's tools can
    watch its device. `inspects` is True if `inspect` can show its compiler's output. If `is_watched` is True, the host
    watches the accesses of its kernels before `verify` launches them. A Dask worker with such a device has one
    `resource`.
    """

    name: str
    forms: tuple[str, ...] = ()
    automatic: bool = False
    companions: tuple[str, ...] = ()
    default_baseline: str
    noise_plans: NoisePlans
    no_transfers: str = ""
    profilers: bool = False
    inspects: bool = False
    is_watched: bool = True
    resource: str = "GPU"

    def choose(self, option: str) -> DeviceChoice | None:
        """Parse `--device`. Returns None if it does not name this back end."""
        raise NotImplementedError

    def why_unusable(self, choice: DeviceChoice) -> str:
        """Return one sentence that explains why the chosen device cannot be used, or "" if it can."""
        raise NotImplementedError

    def glance(self, choice: DeviceChoice) -> Target | None:
        """Return what is known without opening the device or importing a library; None if there is no device."""
        raise NotImplementedError

    def share_devices(self, count: int) -> list[dict[str, str]]:
        """Return the environment variables that limit each of `count` workers on this host to one device.

        If `count` is 0, there is one worker per device, or two if they can share a device. Raises DeviceError for more
        workers than devices.
        """
        return [{} for _ in range(count or 2)]

    def libraries(self) -> tuple[Variant, ...]:
        """Return the variants that come from libraries."""
        return ()

    def why_refused(self, variant: Variant) -> str:
        """Return why this back end cannot run a variant, whatever the problem; "" if it can."""
        return ""

    def architecture(self, sm: int, sms: int) -> Target:
        """Return a device of compute capability `sm` with `sms` multiprocessors. `inspect` uses it."""
        raise NotImplementedError


class BackendServices(Protocol):
    """The operations of a back end.

    Each `choice` comes from the back end's own record, or from that of the back end that it accompanies.
    """

    def describe(self, choice: DeviceChoice) -> Device:
        """Describe the device without opening it. Raises DeviceError."""

    def compiler(self, choice: DeviceChoice, limit: float) -> Compiler:
        """Return the compiler. `limit` is the time limit for one kernel in seconds."""

    def inspecting_compiler(self) -> InspectingCompiler:
        """Return the compiler for `inspect`. Call this only for a back end that `inspects`."""

    def needs_own_process(self, choice: DeviceChoice) -> bool:
        """Return whether experiments need a separate process because a kernel can break the device's context."""

    def open(self, choice: DeviceChoice, gate: bool, launch_limit: float | None) -> Backend:
        """Open the device. `launch_limit` is the time limit of a launch in seconds, if the device can end one.

        Raises DeviceError.
        """

    def examine(self, choice: DeviceChoice, required: bool) -> list[HealthCheck]:
        """Make the health checks of `doctor`. A missing device is a fault only if it is `required`."""

    def measure_peaks(self, choice: DeviceChoice) -> Peaks | None:
        """Measure the device's peak rates. Returns None if that is not possible.

        Raises DeviceError, PlanError.
        """


NAMES = ("cuda", "cpu", "fake")
"""The packages of the back ends, in the order in which `--device auto` tries them."""
AUTO = "auto"
ALL = ":all"
"""A suffix of a back end's name in `--device`, which selects all its devices on this host."""


@cache
def find_entry(name: str) -> BackendEntry:
    """Return the record of a back end."""
    return cast(BackendEntry, import_module(f"gemmbench.backends.{name}.entry").ENTRY)


@cache
def load_services(name: str) -> BackendServices:
    """Return a back end's services. This imports its package."""
    return cast(BackendServices, import_module(f"gemmbench.backends.{name}.services").SERVICES)


def list_entries() -> list[BackendEntry]:
    """Return all records, in the order of NAMES."""
    return [find_entry(name) for name in NAMES]


def parse_device(option: str) -> DeviceChoice:
    """Parse `--device`, even if the device is not usable. Raises UsageError."""
    if option == AUTO:
        return _choose_best()
    for entry in list_entries():
        if choice := entry.choose(option):
            return choice
    forms = [AUTO, *(form for entry in list_entries() for form in entry.forms)]
    hint = nearest(option.partition(":")[0], forms)
    raise UsageError(f"unknown device '{option}'{hint}; choose {', '.join(forms[:-1])} or {forms[-1]}")


def choose_device(option: str) -> DeviceChoice:
    """Parse `--device` without opening a device.

    Raises UsageError, or DeviceError if the device is not usable.
    """
    choice = parse_device(option)
    if why := find_entry(choice.primary).why_unusable(choice):
        raise DeviceError(f"device {option} cannot be used: {why}; see gemmbench doctor, or use --device cpu")
    return choice


def choose_fleet_device(option: str) -> DeviceChoice:
    """Parse `--device` for workers on other machines, each with one device. `auto` means the first back end.

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
            note = f"not using a GPU: {'; '.join(reasons)}; running on the CPU" if reasons else ""
            choice = DeviceChoice(entry.name, note=note)
            if not (why := entry.why_unusable(choice)):
                return choice
            reasons.append(why)
    raise DeviceError(f"no device can be used: {'; '.join(reasons)}")


def glance_at_devices(choice: DeviceChoice) -> dict[str, Target]:
    """Return the targets without opening a device or importing its library. They tell which variants can run."""
    seen = {name: find_entry(name).glance(choice) for name in _backend_names(choice)}
    return {name: target for name, target in seen.items() if target is not None}


def describe_machine(choice: DeviceChoice) -> Machine:
    """Describe the devices of a run without opening them. Raises DeviceError."""
    devices = {name: load_services(name).describe(choice) for name in _backend_names(choice)}
    return Machine(choice, devices, find_entry(choice.primary).default_baseline)


def _backend_names(choice: DeviceChoice) -> tuple[str, ...]:
    """Return the back ends of a run, the primary one last."""
    return (*find_entry(choice.primary).companions, choice.primary)


def make_compilers(machine: Machine, names: Iterable[str], limit: float = TimeLimits.compile) -> dict[str, Compiler]:
    """Return the compilers of the named back ends. `limit` is the time limit for one kernel in seconds."""
    return {name: load_services(name).compiler(machine.choice, limit) for name in names}


def open_backends(
    machine: Machine, names: Iterable[str], gate: bool, launch_limit: float | None = TimeLimits.launch
) -> dict[str, Backend]:
    """Open the named back ends. `launch_limit` is the time limit of a launch in seconds, if the device can end one.

    Raises DeviceError.
    """
    return {name: load_services(name).open(machine.choice, gate, launch_limit) for name in names}


def needs_own_process(machine: Machine) -> bool:
    """Return whether experiments need a separate process because a kernel can break a device's context.

    If a tool watches this process, everything runs in it.
    """
    return load_services(machine.choice.primary).needs_own_process(machine.choice)


def list_library_variants() -> list[Variant]:
    """Return the variants that come from libraries."""
    return [variant for entry in list_entries() for variant in entry.libraries()]


def why_refused(variant: Variant, device: str) -> str:
    """Return why a back end cannot run a variant, whatever the problem; "" if it can."""
    return find_entry(device).why_refused(variant)


def choose_profiled(option: str, purpose: str) -> DeviceChoice:
    """Choose the GPU that NVIDIA's tools will watch for `purpose`.

    Raises DeviceError if `option` does not name such a GPU.
    """
    choice = choose_device(option)
    if not find_entry(choice.primary).profilers:
        missing = choice.note.partition(": ")[2].rpartition("; ")[0]
        why = f"{missing}; gemmbench doctor --quick says more" if missing else f"--device {option} is not a GPU"
        raise DeviceError(f"{purpose} needs an NVIDIA GPU: {why}")
    return choice


def find_inspecting_entry() -> BackendEntry:
    """Return the back end that `inspect` uses."""
    return next(entry for entry in list_entries() if entry.inspects)


def glance_at_inspected_device() -> Target | None:
    """Return what is known about the first device that `inspect` could use; None if there is none.

    The device is not opened.
    """
    entry = find_inspecting_entry()
    return entry.glance(DeviceChoice(entry.name))


def make_inspecting_compiler() -> InspectingCompiler:
    """Return the compiler for `inspect`, which needs no device."""
    return load_services(find_inspecting_entry().name).inspecting_compiler()


class TryingServices(Protocol):
    """Additional services of a back end that can try untrusted kernels safely."""

    def find_manifest(self, text: str, path: Path, home: Path, symbol: str | None) -> FoundManifest:
        """Find a manifest for the kernel `symbol` in the file `path` with this text.

        The manifest will be in folder `home`.

        Raises NotFound, UsageError, DeviceError.
        """

    def expand_kernels(self, text: str, path: Path, home: Path) -> tuple[str, tuple[str, ...]]:
        """Return a text with headers and macros expanded, and the names of its kernels.

        Raises NotFound, DeviceError.
        """

    def make_watcher(self, limit: float) -> Watcher:
        """Return a watcher of kernels. `limit` is the time limit for one compilation in seconds."""


def make_watcher(limit: float) -> Watcher:
    """See TryingServices."""
    return cast(TryingServices, load_services("cpu")).make_watcher(limit)


def expand_kernels(text: str, path: Path, home: Path) -> tuple[str, tuple[str, ...]]:
    """See TryingServices."""
    return cast(TryingServices, load_services("cpu")).expand_kernels(text, path, home)


def find_manifest(text: str, path: Path, home: Path, symbol: str | None) -> FoundManifest:
    """Find a manifest on the CPU, even if there is a GPU, because wrong arguments would corrupt its context.

    See TryingServices.
    """
    return cast(TryingServices, load_services("cpu")).find_manifest(text, path, home, symbol)


def measure_peaks(machine: Machine) -> Peaks | None:
    """Measure the peak rates of the primary device. Returns None for a CPU. Raises DeviceError, PlanError."""
    return load_services(machine.choice.primary).measure_peaks(machine.choice)
