"""What the fake back end does."""

from __future__ import annotations

from gemmbench.backends.base import Backend, Device, InspectingCompiler
from gemmbench.backends.devices import DeviceChoice, HealthCheck, Peaks
from gemmbench.backends.fake.backend import FakeBackend, FakeCompiler
from gemmbench.backends.fake.entry import PEAKS, describe_fake
from gemmbench.backends.fake.script import Script, read_script
from gemmbench.backends.registry import BackendServices


class FakeServices:
    """The `BackendServices` of the device on paper."""

    def describe(self, choice: DeviceChoice) -> Device:
        """The round device."""
        return describe_fake()

    def compiler(self, choice: DeviceChoice, limit: float) -> FakeCompiler:
        """Compiles nothing. Raises UsageError for a broken script."""
        return FakeCompiler(_script(choice))

    def inspecting_compiler(self) -> InspectingCompiler:
        """None, because there is no code to show."""
        raise NotImplementedError

    def needs_own_process(self, choice: DeviceChoice) -> bool:
        """As scripted."""
        return _script(choice).isolated

    def open(self, choice: DeviceChoice, gate: bool, launch_limit: float | None) -> Backend:
        """Open the script. Raises UsageError."""
        return FakeBackend(_script(choice))

    def examine(self, choice: DeviceChoice, required: bool) -> list[HealthCheck]:
        """Nothing can be wrong with it."""
        return []

    def measure_peaks(self, choice: DeviceChoice) -> Peaks:
        """As on paper."""
        return PEAKS


def _script(choice: DeviceChoice) -> Script:
    return read_script(choice.script) if choice.script else Script()


SERVICES: BackendServices = FakeServices()
