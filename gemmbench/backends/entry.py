"""What the registry knows of a back end: a record that is cheap to import, and services that are not.

Every back end is a package with two modules. `entry` holds its record, an instance of a
`BackendEntry`, and imports no library of the device. `services` holds an instance of
`BackendServices` and is imported when a device is described, compiled for or opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gemmbench.backends.base import Backend, Compiler, Device, InspectingCompiler
from gemmbench.backends.machine import DeviceChoice
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Target

if TYPE_CHECKING:
    from gemmbench.backends.health import HealthCheck, Peaks

NoisePlans = tuple[tuple[tuple[str, ...], int], ...]


class BackendEntry:
    """The record of one back end.

    `forms` is how `--device` names it. `--device auto` takes the first back end with `automatic`
    that is usable here. `companions` are the back ends opened along with it. `noise_plans` is what
    `doctor` runs against itself: for each plan the variants to try, in order, and the size.
    `no_transfers` is the reason why nothing is copied to and from its device, "" if transfers can
    be measured. `profilers` is True if NVIDIA's tools can watch its device; `inspects` if `inspect`
    can show what its compiler makes. A Dask worker with such a device has one `resource`.
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
    resource: str = "GPU"

    def choose(self, option: str) -> DeviceChoice | None:
        """Read `--device`; None if it does not name this back end."""
        raise NotImplementedError

    def why_unusable(self, choice: DeviceChoice) -> str:
        """One sentence why the chosen device cannot be used, or "" if it can."""
        raise NotImplementedError

    def glance(self, choice: DeviceChoice) -> Target | None:
        """The device as far as it is known without opening it or importing a library.

        None without a device.
        """
        raise NotImplementedError

    def share_devices(self, count: int) -> list[dict[str, str]]:
        """For each of `count` workers of this host, the environment variables that show it one device.

        With 0 there is one for each device, or two where workers can share it. Raises DeviceError for more
        workers than devices.
        """
        return [{} for _ in range(count or 2)]

    def libraries(self) -> tuple[Variant, ...]:
        """The variants that come from libraries."""
        return ()

    def why_refused(self, variant: Variant) -> str:
        """Why this back end cannot run a variant, whatever the problem; "" if it can."""
        return ""

    def architecture(self, sm: int, sms: int) -> Target:
        """A device of compute capability `sm` with `sms` multiprocessors, for `inspect`."""
        raise NotImplementedError


class BackendServices(Protocol):
    """What a back end does.

    Every choice is one that its record made, or that of the back end it accompanies.
    """

    def describe(self, choice: DeviceChoice) -> Device:
        """Describe the device without opening it. Raises DeviceError."""

    def compiler(self, choice: DeviceChoice, limit: float) -> Compiler:
        """Its compiler; `limit` is seconds for one kernel."""

    def inspecting_compiler(self) -> InspectingCompiler:
        """Its compiler for `inspect`; only for a back end that `inspects`."""

    def needs_own_process(self, choice: DeviceChoice) -> bool:
        """Experiments need a process of their own, since a kernel can take the device's context down."""

    def open(self, choice: DeviceChoice, gate: bool, launch_limit: float) -> Backend:
        """Open the device; `launch_limit` is seconds for a launch, where the device can end one.

        Raises DeviceError.
        """

    def examine(self, choice: DeviceChoice, required: bool) -> list[HealthCheck]:
        """The health checks of `doctor`.

        That there is no device is a fault only if it is `required`.
        """

    def measure_peaks(self, choice: DeviceChoice) -> Peaks | None:
        """What the device reaches at best; None where it is not measured.

        Raises DeviceError, PlanError.
        """
