"""`gemmbench doctor`: checks whether this machine is fit to measure, and how small a difference it can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gemmbench.backends import registry
from gemmbench.backends.devices import HealthCheck
from gemmbench.cli.options import LIMITS, command, group, option, out_option, style_option
from gemmbench.cli.output import TERMINAL, print_line, print_reports
from gemmbench.cli.run_options import FleetOptions
from gemmbench.cli.run_outputs import print_next_step
from gemmbench.errors import INTERRUPTED, NO_DEVICE, OK
from gemmbench.planning.sweeps.run_request import RunRequest
from gemmbench.report.diagnostics.doctor_report import (
    judge_noise,
    judge_peaks,
    report_checks,
    report_fleet,
    summarize_noise,
)
from gemmbench.session.doctor_runs import examine_fleet, examine_machine, measure_noise
from gemmbench.session.machine import find_machine


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """The options of `gemmbench doctor`."""

    quick: bool = option("--quick", is_flag=True, help="Only check; measure nothing.")
    where: FleetOptions
    out: str = out_option()
    limits: None = group(*LIMITS)
    style: str | None = style_option()


@command(DoctorOptions)
def doctor(request: RunRequest, options: DoctorOptions) -> int:
    """Check whether this machine is ready to measure.

    Checks the driver, toolkit, compiler, permissions and load: each line is ok, a warning or a
    fault, with the next step. Then measures a GPU's copy bandwidth, arithmetic peak and launch
    time, and a kernel against itself, which gives the noise and the smallest difference that
    `compare` can show here. With --fleet, shows card, driver, noise and load of each worker instead.
    """
    if options.where.fleet is not None:
        return _examine_fleet(request, options, options.where.fleet)
    device = options.where.device
    findings = examine_machine(device, Path(options.out))
    _print("Machine", findings, options)
    if any(finding.status == "fault" for finding in findings):
        return NO_DEVICE
    if options.quick:
        return OK
    machine = find_machine(device, TERMINAL)
    print_line()
    with TERMINAL.progress_bar() as progress:
        progress("peaks of the device", 0, 0)
        peaks = registry.measure_peaks(machine)
    if peaks:
        _print("Peaks", judge_peaks(peaks, machine.primary), options)
        print_line()
    noises, interrupted = measure_noise(machine, request.selection.kernels, request.limits, TERMINAL)
    if interrupted:
        print_next_step()
        return INTERRUPTED
    if noises:
        _print("Noise", [judge_noise(noise) for noise in noises], options, [summarize_noise(noises)])
    return OK


def _examine_fleet(request: RunRequest, options: DoctorOptions, fleet: str) -> int:
    where, limits = options.where, request.limits
    workers = list(examine_fleet(where.device, fleet, request.selection.kernels, limits, TERMINAL, options.quick))
    print_reports([report_fleet(workers)], options.style)
    return NO_DEVICE if any(worker.fault for worker in workers) else OK


def _print(title: str, findings: Sequence[HealthCheck], options: DoctorOptions, footer: Sequence[str] = ()) -> None:
    print_reports([report_checks(title, findings, footer)], options.style)
