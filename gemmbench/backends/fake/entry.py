"""The record of the fake back end, for tests."""

from __future__ import annotations

from gemmbench.backends.entry import BackendEntry
from gemmbench.backends.fake.device import TARGET
from gemmbench.backends.machine import DeviceChoice
from gemmbench.planning.plans.plan import Target


class FakeEntry(BackendEntry):
    """A device that exists on paper; `--device` does not list it."""

    name = "fake"
    default_baseline = "cublas"
    noise_plans = ((("cublas",), 16), (("tiled",), 32))

    def choose(self, option: str) -> DeviceChoice | None:
        """Take `fake` and `fake:SCRIPT`."""
        kind, _, script = option.partition(":")
        return DeviceChoice(self.name, script=script) if kind == self.name else None

    def why_unusable(self, choice: DeviceChoice) -> str:
        """It is always usable."""
        return ""

    def glance(self, choice: DeviceChoice) -> Target:
        """The round device."""
        return TARGET


ENTRY = FakeEntry()
