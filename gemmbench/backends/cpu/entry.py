"""The record of the CPU back end."""

from __future__ import annotations

from gemmbench.backends.cpu.device import find_target
from gemmbench.backends.cpu.library import OPENBLAS
from gemmbench.backends.cpu.support import why_unsupported
from gemmbench.backends.entry import BackendEntry
from gemmbench.backends.machine import DeviceChoice
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Target


class CpuEntry(BackendEntry):
    """This machine's processor."""

    name = "cpu"
    forms = ("cpu",)
    automatic = True
    default_baseline = OPENBLAS.name
    noise_plans = (((OPENBLAS.name,), 1024), (("tiled",), 128))
    resource = "CPU"
    no_transfers = "the CPU device uses the matrices where they are, so nothing is copied"

    def choose(self, option: str) -> DeviceChoice | None:
        """Take `cpu`."""
        return DeviceChoice(self.name) if option == self.name else None

    def why_unusable(self, choice: DeviceChoice) -> str:
        """Every machine has a CPU."""
        return ""

    def glance(self, choice: DeviceChoice) -> Target:
        """The processor as the system describes it."""
        return find_target()

    def libraries(self) -> tuple[Variant, ...]:
        """NumPy's matrix product."""
        return (OPENBLAS,)

    def why_refused(self, variant: Variant) -> str:
        """A kernel may use what only a GPU has."""
        return why_unsupported(variant)


ENTRY = CpuEntry()
