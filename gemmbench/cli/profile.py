"""`gemmbench profile`: shows what Nsight Compute counts in one launch, and what bounds it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from gemmbench.cli.options import DeviceOptions, VariantName, argument, command, group, option, style_option
from gemmbench.cli.output import print_line, print_reports
from gemmbench.errors import OK
from gemmbench.planning.sweeps.run_request import OUTPUT, PROBLEM, RunRequest
from gemmbench.report.diagnostics.profile_report import export_counters, report_counters
from gemmbench.report.export import encode_json, write_text
from gemmbench.session.machine import find_gpu
from gemmbench.session.single_kernel import launch_kernel_once, profile_kernel


@dataclass(frozen=True, kw_only=True)
class OneLaunchOptions:
    """The options of the hidden `gemmbench one-launch`."""

    variant: str = argument(type=VariantName())
    sizes: str = option(
        "--sizes",
        metavar="SIZE",
        default="4096",
        show_default=True,
        heading=PROBLEM,
        help="One size, such as 4096 or 1024x768x1024 (M x N x K).",
    )
    shape: None = group("precisions", "layouts", "params")
    where: DeviceOptions
    seed: None = group("seed")


@dataclass(frozen=True, kw_only=True)
class ProfileOptions:
    """The options of `gemmbench profile`."""

    launch: OneLaunchOptions
    out: str | None = option(
        "--out",
        type=click.Path(),
        metavar="FILE",
        heading=OUTPUT,
        help="Write all counters to FILE, as JSON. `gemmbench posts` reads NAME.profile.json next to its results.",
    )
    style: str | None = style_option()


@command(ProfileOptions)
def profile(request: RunRequest, options: ProfileOptions) -> int:
    """Profile one launch of KERNEL with Nsight Compute.

    Names what bounds the kernel, and shows how busy the FMA and tensor pipes, issue slots, DRAM,
    L2, L1 and shared memory are, bank conflicts, occupancy and stalls. Clocks stay as they are;
    ncu empties the caches before each of its passes. Name one precision, one layout and one value per
    parameter; the default is the first of each that the kernel declares.
    """
    launch = options.launch
    machine = find_gpu(launch.where.device, "profile")
    plan, counted = profile_kernel(request.selection, request.measuring.seed, machine)
    print_line(f"{launch.variant} {plan.config}".strip() + f", {plan.problem}\n")
    print_reports([report_counters(counted)], options.style)
    if options.out:
        write_text(Path(options.out), encode_json(export_counters(plan, counted, machine.primary.name)))
    return OK


@command(OneLaunchOptions, "one-launch", hidden=True)
def one_launch(request: RunRequest, options: OneLaunchOptions) -> int:
    """Launch KERNEL once, inside the range that a profiler records.

    A warm-up launch precedes it.
    """
    launch_kernel_once(request.selection, request.measuring.seed, find_gpu(options.where.device, "one-launch"))
    return OK
