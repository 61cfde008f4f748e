"""The devices of a run: which one `--device` chose, and what it and the host are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gemmbench.backends.base import Device
from gemmbench.planning.plans.plan import Target


@dataclass(frozen=True)
class DeviceChoice:
    """The back end that runs the kernels, its device's index or script, and a note for the user."""

    primary: str
    index: int = 0
    script: str = ""
    note: str = ""

    @property
    def option(self) -> str:
        """The words of `--device` that choose it again."""
        detail = self.script or (str(self.index) if self.index else "")
        return f"{self.primary}:{detail}" if detail else self.primary


@dataclass(frozen=True)
class Machine:
    """The devices of a run by back end: the primary one, and the host if it can run rows too."""

    choice: DeviceChoice
    devices: Mapping[str, Device]
    default_baseline: str = "cublas"

    @property
    def primary(self) -> Device:
        """The device that kernels run on."""
        return self.devices[self.choice.primary]

    @property
    def host(self) -> Device | None:
        """The CPU, if rows can run on it."""
        return next((device for device in self.devices.values() if not device.target.is_gpu), None)

    @property
    def on_cpu(self) -> bool:
        """Kernels run on the CPU."""
        return not self.primary.target.is_gpu

    @property
    def targets(self) -> dict[str, Target]:
        """What planning must know, by back end."""
        return {name: device.target for name, device in self.devices.items()}
