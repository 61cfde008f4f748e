"""`gemmbench doctor`: is this machine fit to measure, and what can it show?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gemmbench.cli import options

if TYPE_CHECKING:
    from gemmbench.backends.health import Finding


@click.command()
@options.option("--quick", is_flag=True, help="Look only; measure nothing.")
@options.device
@options.kernels
@options.option("--out", type=click.Path(), default="results", show_default=True, help="Folder for the results.")
@options.limit_options
def doctor(quick: bool, device: str, kernels: str | None, out: str, **settings: float | None) -> int:
    """Check whether this machine is fit to measure.

    Checks the driver, toolkit, compiler, permissions and load: each line is ok, a warning or a
    fault, with the next step. Then measures a GPU's copy bandwidth, arithmetic peak and launch
    time, and a kernel against itself, which gives the noise and the smallest difference that
    `compare` can show here.
    """
    from gemmbench.backends import doctor as checks
    from gemmbench.cli.noise import measure_noise
    from gemmbench.cli.planning import find_machine
    from gemmbench.errors import NO_DEVICE, OK
    from gemmbench.report.doctor import judged

    findings = checks.examine(device, Path(out))
    _show(findings)
    if any(finding.status == "fault" for finding in findings):
        return NO_DEVICE
    if quick:
        return OK
    machine = find_machine(device)
    peaks = checks.measure_peaks(machine)
    _show(judged(peaks, machine.primary) if peaks else [])
    return measure_noise(machine, kernels, options.limits(settings), _show)


def _show(findings: list[Finding]) -> None:
    from gemmbench.report.doctor import lines

    for line in lines(findings):
        click.echo(line)
