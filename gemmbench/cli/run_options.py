"""Options of commands that measure: where kernels run, where rows go, and which run to keep or compare with."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from gemmbench.backends.devices import Machine
from gemmbench.bench.timing.stats import MARGIN
from gemmbench.cli.options import DeviceOptions, RunName, option, out_option
from gemmbench.cli.output import TERMINAL, print_line, print_warning
from gemmbench.errors import UsageError
from gemmbench.planning.sweeps.run_request import DEVICE, REFERENCE, RESULTS, parse_share
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.verdicts import INCONCLUSIVE, SLOWER
from gemmbench.session.machine import open_machines
from gemmbench.session.open_run import RunResult
from gemmbench.session.saved_runs import check_name, read_run, refuse_other_device, refuse_renamed, save_run


@dataclass(frozen=True, kw_only=True)
class FleetOptions(DeviceOptions):
    """Where the kernels run: on one device or on many."""

    fleet: str | None = option(
        "--fleet",
        metavar="FLEET",
        heading=DEVICE,
        help="Use many devices: local (all cards here; local:N for N workers), or a Dask scheduler at tcp://HOST:8786.",
    )

    def list_machines(self) -> Iterator[Machine]:
        """Yield the machine to measure on, or one per kind of card in a fleet. Raises UsageError and DeviceError."""
        with open_machines(self.device, self.fleet, TERMINAL) as machines:
            yield from machines

    def refuse_fleet(self, option: str) -> None:
        """Raise UsageError if --fleet is used with an option that uses one device."""
        if self.fleet is not None:
            raise UsageError(f"{option} uses one device; leave out --fleet")


@dataclass(frozen=True, kw_only=True)
class JournalOptions:
    """Where rows are written, and which run to resume."""

    out: str = out_option()
    resume: bool = option(
        "--resume",
        is_flag=True,
        heading=RESULTS,
        help="Continue the newest unfinished run, with the options of its command unless you give others.",
    )
    resume_from: str | None = option(
        "--resume-from",
        type=click.Path(),
        metavar="FILE",
        heading=RESULTS,
        help="Continue the unfinished run in FILE.",
    )


class Share(click.ParamType):  # type: ignore[type-arg]  # generic only in recent releases of click
    """A share from 0 to `most`, written as 3% or 0.03."""

    name = "share"

    def __init__(self, most: float = 1.0):
        self.most = most

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share as a number."""
        share = parse_share(str(value))
        if math.isnan(share):
            self.fail(f"'{value}' is not a share below 100 %; write 3% or 0.03", param, ctx)
        if share > self.most:
            self.fail(f"'{value}' is too large; give at most {self.most:.0%}", param, ctx)
        return share


def margin_option(default: str, text: str) -> Any:
    return option(
        "--margin", type=Share(), metavar="SHARE", default=default, show_default=True, heading=REFERENCE, help=text
    )


def verdict_margin_option() -> Any:
    return margin_option(f"{MARGIN:.0%}", "Ignore differences up to this share.")


def fail_on_option(text: str) -> Any:
    choice = click.Choice([SLOWER, INCONCLUSIVE])
    return option("--fail-on", type=choice, multiple=True, heading=REFERENCE, help=text)


def force_option() -> Any:
    text = "Compare even with a run on a different device."
    return option("--force", is_flag=True, heading=REFERENCE, help=text)


@dataclass(frozen=True, kw_only=True)
class ReferenceOptions:
    """The run to compare with, and the name under which to keep this one."""

    save: str | None = option(
        "--save", metavar="NAME", heading=REFERENCE, help="Keep the run under NAME, for --against, compare and check."
    )
    against: str | None = option(
        "--against",
        type=RunName(),
        metavar="NAME",
        heading=REFERENCE,
        help="Also compare with a saved run or a results file.",
    )
    force: bool = force_option()

    def list_given(self) -> list[str]:
        """List the given options that name a run."""
        return [f"--{name}" for name in ("save", "against") if getattr(self, name) is not None]

    def read(self, folder: str, device: str) -> Run | None:
        """Read the reference run, if one is named. Also checks the name to save under before anything is measured.

        Raises UsageError for an unknown run, an invalid name or another device, and StoreError.
        """
        if self.save is not None:
            check_name(self.save)
        if self.against is None:
            return None
        reference = read_run(self.against, Path(folder))
        refuse_other_device(reference.environment, device, self.force)
        refuse_renamed(reference)
        print_warning(reference)
        return reference

    def keep(self, result: RunResult, folder: str) -> None:
        """Save a finished run under its name, if a name was given. Raises StoreError."""
        if self.save is None:
            return
        if result.interrupted or not result.run.records:
            print_line(f"not saved as {self.save}, because the run is not complete", to_stderr=True)
        else:
            print_line(save_run(result.run, Path(folder), self.save), to_stderr=True)
