"""The record of the fake back end for tests: a device with round numbers."""

from __future__ import annotations

from gemmbench.backends.base import Device
from gemmbench.backends.devices import DeviceChoice, Peaks
from gemmbench.backends.registry import BackendEntry
from gemmbench.planning.plans.plan import Target

_TARGET = Target(
    kind="fake",
    sm=90,
    sms=10,
    smem=100 << 10,
    l2=1 << 20,
    memory=1 << 30,
    runs_every_variant=True,
    name="Fake GPU",
    clock_hz=1e9,
    bandwidth=1e12,
)
"""The target has 10 multiprocessors and 1 MiB of cache."""

UUID = "GPU-fa4e0000-0000-0000-0000-000000000000"

PEAKS = Peaks(copy=9e11, fma=9.5e11, clock_hz=1e9, launch=1.5e-6, ungated=5e-6)
"""The device's peaks: 90 % of its bandwidth and 95 % of its arithmetic."""


def describe_fake() -> Device:
    """Describe a device with 1 GHz, 1000 operations per cycle and 1 TB/s."""
    clock, bandwidth = _TARGET.clock_hz, _TARGET.bandwidth
    peaks, software = {"f32": 1000.0}, {"driver": "1.0"}
    return Device(_TARGET.name, 0, _TARGET, clock, peaks, bandwidth, software, uuid=UUID, vbios="1.0")


class FakeEntry(BackendEntry):
    """A simulated device that `--device` does not list."""

    name = "fake"
    default_baseline = "cublas"
    is_watched = False
    noise_plans = ((("cublas",), 16), (("tiled",), 32))

    def choose(self, option: str) -> DeviceChoice | None:
        """Accept `fake` and `fake:SCRIPT`."""
        kind, _, script = option.partition(":")
        return DeviceChoice(self.name, script=script) if kind == self.name else None

    def why_unusable(self, choice: DeviceChoice) -> str:
        """Return "", because it is always usable."""
        return ""

    def glance(self, choice: DeviceChoice) -> Target:
        """Return the target with round numbers."""
        return _TARGET


ENTRY = FakeEntry()
