"""The services of the fake back end."""

from __future__ import annotations

from gemmbench.backends.base import Backend, Device, InspectingCompiler
from gemmbench.backends.devices import DeviceChoice, HealthCheck, Peaks
from gemmbench.backends.fake.backend import FakeBackend, FakeCompiler
from gemmbench.backends.fake.entry import PEAKS, describe_fake
from gemmbench.backends.fake.script import Script, read_script
from gemmbench.backends.registry import BackendServices


class FakeServices:
    """The `BackendServices` of the simulated device."""

    def describe(self, choice: DeviceChoice) -> Device:
        """Describe the device, which has round numbers."""
        return describe_fake()

    def compiler(self, choice: DeviceChoice, limit: float) -> FakeCompiler:
        """Return a compiler that compiles nothing. Raises UsageError for a broken script."""
        return FakeCompiler(_script(choice))

    def inspecting_compiler(self) -> InspectingCompiler:
        """Not available, because there is no code to show."""
        raise NotImplementedError

    def needs_own_process(self, choice: DeviceChoice) -> bool:
        """Return the value in the script."""
        return _script(choice).isolated

    def open(self, choice: DeviceChoice, gate: bool, launch_limit: float | None) -> Backend:
        """Open the device with its script. Raises UsageError."""
        return FakeBackend(_script(choice))

    def examine(self, choice: DeviceChoice, required: bool) -> list[HealthCheck]:
        """Return no checks, because nothing can be wrong with it."""
        return []

    def measure_peaks(self, choice: DeviceChoice) -> Peaks:
        """Return the predefined peaks."""
        return PEAKS


def _script(choice: DeviceChoice) -> Script:
    return read_script(choice.script) if choice.script else Script()


SERVICES: BackendServices = FakeServices()
