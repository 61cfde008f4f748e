"""Options for one device or many: --device, --kernels and --fleet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gemmbench.backends.devices import Machine
from gemmbench.cli.option_fields import DEVICE, option
from gemmbench.cli.options import DeviceOptions
from gemmbench.cli.terminal import TERMINAL
from gemmbench.errors import UsageError
from gemmbench.session.fleet_machines import open_machines


@dataclass(frozen=True, kw_only=True)
class FleetOptions(DeviceOptions):
    """Where the kernels run, on one device or on many."""

    fleet: str | None = option(
        "--fleet",
        metavar="FLEET",
        heading=DEVICE,
        help="Use many devices: local (all cards here; local:N for N workers), or a Dask scheduler, tcp://HOST:8786.",
    )

    def list_machines(self) -> Iterator[Machine]:
        """The machine to measure on; with --fleet, one for each kind of card. Raises UsageError and DeviceError."""
        with open_machines(self.device, self.fleet, TERMINAL) as machines:
            yield from machines

    def refuse_fleet(self, option: str) -> None:
        """Raise UsageError for an option that uses one device."""
        if self.fleet is not None:
            raise UsageError(f"{option} uses one device; leave out --fleet")
