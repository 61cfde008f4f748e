"""The back ends, by name. No other module compares these names.

A back end is a package in this folder with two modules: `entry` is a record that is cheap to import,
`services` does the work. Both are imported only when needed, so a machine without a GPU needs no CUDA
library.
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
    """The record of one back end.

    `forms` are its names for `--device`. `--device auto` takes the first back end with `automatic`
    that is usable here. `companions` are the back ends opened along with it. `noise_plans` is what
    `doctor` runs against itself: for each plan the variants to try, in order, and the size.
    `no_transfers` is the reason why transfers to and from its device cannot be measured, "" if they
    can. `profilers` is True if NVIDIA's tools can watch its device; `inspects` if `inspect` can show
    its compiler's output. If `is_watched`, accesses of its kernels are watched on the host before
    `verify` launches them. A Dask worker with such a device has one `resource`.
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
        """Parse `--device`; None if it does not name this back end."""
        raise NotImplementedError

    def why_unusable(self, choice: DeviceChoice) -> str:
        """Return one sentence why the chosen device cannot be used, or "" if it can."""
        raise NotImplementedError

    def glance(self, choice: DeviceChoice) -> Target | None:
        """Return what is known about the device without opening it or importing a library; None without a device."""
        raise NotImplementedError

    def share_devices(self, count: int) -> list[dict[str, str]]:
        """Return for each of `count` workers on this host the environment variables that show it one device.

        With `count` 0 there is one worker per device, or two if workers can share it. Raises DeviceError for more
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
        """Return a device of compute capability `sm` with `sms` multiprocessors, for `inspect`."""
        raise NotImplementedError


class BackendServices(Protocol):
    """What a back end does.

    Every `choice` was made by its own record or by that of the back end that it accompanies.
    """

    def describe(self, choice: DeviceChoice) -> Device:
        """Describe the device without opening it. Raises DeviceError."""

    def compiler(self, choice: DeviceChoice, limit: float) -> Compiler:
        """Return its compiler; `limit` is seconds for one kernel."""

    def inspecting_compiler(self) -> InspectingCompiler:
        """Return its compiler for `inspect`; only for a back end that `inspects`."""

    def needs_own_process(self, choice: DeviceChoice) -> bool:
        """Return whether experiments need a separate process, because a kernel can break the device's context."""

    def open(self, choice: DeviceChoice, gate: bool, launch_limit: float | None) -> Backend:
        """Open the device; `launch_limit` is seconds for a launch, where the device can end one (None: its own).

        Raises DeviceError.
        """

    def examine(self, choice: DeviceChoice, required: bool) -> list[HealthCheck]:
        """Make the health checks of `doctor`; a missing device is a fault only if it is `required`."""

    def measure_peaks(self, choice: DeviceChoice) -> Peaks | None:
        """Measure the device's peak rates; None if that is not possible.

        Raises DeviceError, PlanError.
        """


NAMES = ("cuda", "cpu", "fake")
"""The packages; `--device auto` takes the first that is usable."""
AUTO = "auto"
ALL = ":all"
"""The suffix of a back end's name in `--device` that means all its devices on this host."""


@cache
def find_entry(name: str) -> BackendEntry:
    """Return the record of a back end."""
    return cast(BackendEntry, import_module(f"gemmbench.backends.{name}.entry").ENTRY)


@cache
def load_services(name: str) -> BackendServices:
    """Return a back end's services; imports its package."""
    return cast(BackendServices, import_module(f"gemmbench.backends.{name}.services").SERVICES)


def list_entries() -> list[BackendEntry]:
    """Return every record, in the order of NAMES."""
    return [find_entry(name) for name in NAMES]


def parse_device(option: str) -> DeviceChoice:
    """Parse `--device`, whether or not the device is usable. Raises UsageError."""
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
        raise DeviceError(f"device {option} cannot be used: {why}; or take --device cpu")
    return choice


def choose_fleet_device(option: str) -> DeviceChoice:
    """Parse `--device` for workers elsewhere, each with one device; `auto` means the first back end.

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
    """Return the targets without opening a device or importing its library: enough to see which variants can run."""
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
    """Return the compilers of the named back ends; `limit` is seconds for one kernel."""
    return {name: load_services(name).compiler(machine.choice, limit) for name in names}


def open_backends(
    machine: Machine, names: Iterable[str], gate: bool, launch_limit: float | None = TimeLimits.launch
) -> dict[str, Backend]:
    """Open the named back ends; `launch_limit` is seconds for a launch, where the device can end one.

    Raises DeviceError.
    """
    return {name: load_services(name).open(machine.choice, gate, launch_limit) for name in names}


def needs_own_process(machine: Machine) -> bool:
    """Return whether experiments need a separate process, because a kernel can break a device's context.

    Under a tool that watches this process, everything runs in it.
    """
    return load_services(machine.choice.primary).needs_own_process(machine.choice)


def list_library_variants() -> list[Variant]:
    """Return the variants that come from libraries."""
    return [variant for entry in list_entries() for variant in entry.libraries()]


def why_refused(variant: Variant, device: str) -> str:
    """Return why a back end cannot run a variant, whatever the problem; "" if it can."""
    return find_entry(device).why_refused(variant)


def choose_profiled(option: str, purpose: str) -> DeviceChoice:
    """Choose the GPU that NVIDIA's tools are to watch for `purpose`.

    Raises DeviceError if `option` names no such GPU.
    """
    choice = choose_device(option)
    if not find_entry(choice.primary).profilers:
        why = choice.note.partition(": ")[2].rpartition("; ")[0] or f"--device {option} is not a GPU"
        raise DeviceError(f"{purpose} needs an NVIDIA GPU: {why}")
    return choice


def find_inspecting_entry() -> BackendEntry:
    """Return the back end whose compiler `inspect` shows."""
    return next(entry for entry in list_entries() if entry.inspects)


def glance_at_inspected_device() -> Target | None:
    """Return what is known about the first device of that back end without opening it; None without a device."""
    entry = find_inspecting_entry()
    return entry.glance(DeviceChoice(entry.name))


def make_inspecting_compiler() -> InspectingCompiler:
    """Return the compiler for `inspect`; needs no device."""
    return load_services(find_inspecting_entry().name).inspecting_compiler()


class TryingServices(Protocol):
    """The additional services of a back end that can safely try kernels that may do anything."""

    def find_manifest(self, text: str, path: Path, home: Path, symbol: str | None) -> FoundManifest:
        """Find the manifest, in folder `home`, of the kernel `symbol` in the file `path` with this text.

        Raises NotFound, UsageError, DeviceError.
        """

    def expand_kernels(self, text: str, path: Path, home: Path) -> tuple[str, tuple[str, ...]]:
        """A text with its headers and without macros, and the names of its kernels. Raises NotFound, DeviceError."""

    def make_watcher(self, limit: float) -> Watcher:
        """Return a watcher of kernels; `limit` is seconds for one compilation."""


def make_watcher(limit: float) -> Watcher:
    """See TryingServices."""
    return cast(TryingServices, load_services("cpu")).make_watcher(limit)


def expand_kernels(text: str, path: Path, home: Path) -> tuple[str, tuple[str, ...]]:
    """See TryingServices."""
    return cast(TryingServices, load_services("cpu")).expand_kernels(text, path, home)


def find_manifest(text: str, path: Path, home: Path, symbol: str | None) -> FoundManifest:
    """Find a manifest on the CPU, whatever the device: wrong arguments would corrupt the context of a GPU.

    See TryingServices.
    """
    return cast(TryingServices, load_services("cpu")).find_manifest(text, path, home, symbol)


def measure_peaks(machine: Machine) -> Peaks | None:
    """Measure the peak rates of the primary device; None for a CPU. Raises DeviceError, PlanError."""
    return load_services(machine.choice.primary).measure_peaks(machine.choice)
