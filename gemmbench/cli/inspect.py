"""`gemmbench inspect`: shows what the compiler made of a kernel and what its accesses cost; needs no GPU."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from gemmbench.analysis.accesses import find_broken_access_limits, has_whole_sectors
from gemmbench.cli.options import SHAPE, VariantName, argument, command, group, option, style_option
from gemmbench.cli.output import print_line, print_reports
from gemmbench.errors import BAD_ROW, NO_DEVICE, OK, UsageError
from gemmbench.planning.sweeps.run_request import DEVICE, OUTPUT, RunRequest
from gemmbench.report.diagnostics import inspection_report
from gemmbench.report.diagnostics.access_report import export_accesses, report_accesses
from gemmbench.report.diagnostics.inspection_report import report_inspections
from gemmbench.report.export import encode_json, write_text
from gemmbench.session.access_counts import count_accesses
from gemmbench.session.single_kernel import (
    InspectedKernel,
    LoopReadings,
    choose_architecture,
    inspect_kernel,
    read_hottest_loops,
)


@dataclass(frozen=True, kw_only=True)
class InspectOptions:
    """The options of `gemmbench inspect`."""

    variant: str = argument(type=VariantName())
    arch: str | None = option(
        "--arch",
        metavar="ARCH",
        heading=DEVICE,
        help="Architecture, such as 90, 90a or sm_90a.  [default: that of this GPU, or 90]",
    )
    sms: int | None = option(
        "--sms",
        type=click.IntRange(1),
        metavar="COUNT",
        heading=DEVICE,
        help="Number of multiprocessors, for the waves and the bound of --accesses.  [default: that of a typical GPU]",
    )
    clock: float | None = option(
        "--clock",
        type=click.FloatRange(0, min_open=True),
        metavar="GHZ",
        heading=DEVICE,
        help="Clock in GHz, for the bounds of --sass-mix and --accesses.  [default: like --sms]",
    )
    shape: None = group(*SHAPE)
    text: str | None = option(
        "--text",
        metavar="FILE",
        heading=OUTPUT,
        help="Write the stand-alone .cu file that is compiled to FILE, or to stdout with -.",
    )
    ptx: str | None = option(
        "--ptx", metavar="FILE", heading=OUTPUT, help="Write the PTX to FILE, or to stdout with -."
    )
    sass: str | None = option(
        "--sass", metavar="FILE", heading=OUTPUT, help="Write the machine code to FILE, or to stdout with -."
    )
    mix: bool = option(
        "--sass-mix",
        is_flag=True,
        heading=OUTPUT,
        help="Show the instructions of the hottest loop, and the bound on its speed.",
    )
    accesses: bool = option(
        "--accesses",
        is_flag=True,
        heading=OUTPUT,
        help="Count loads and stores by line instead, using g++: sectors, bank conflicts, and the bound on time.",
    )
    out: str | None = option(
        "--out",
        type=click.Path(),
        metavar="FILE",
        heading=OUTPUT,
        help="Write the counts of --accesses to FILE, as JSON.",
    )
    kernels: None = group("kernels")
    style: str | None = style_option()


@command(InspectOptions)
def inspect(request: RunRequest, options: InspectOptions) -> int:
    """Show registers, occupancy and machine code of KERNEL.

    Registers, spills, shared memory, occupancy, blocks and waves. Needs nvcc but no GPU. The default size
    is 4096, and the default precision and layout are the first that the kernel declares. With
    --sass-mix, exits with 1 if a loop breaks a limit that the manifest sets under `sass`.

    With --accesses, blocks of the kernel run on this CPU instead, and what each load and store costs
    on a GPU is counted by line. That needs g++; nvcc, where it is installed, decides which accesses
    to shared memory are joined. Exits with 1 if a limit under `accesses` of the manifest is broken.
    """
    if options.accesses:
        return _count_accesses(request, options)
    if options.out:
        raise UsageError("--out writes the counts of --accesses; add --accesses, or use --text, --ptx or --sass")
    architecture = choose_architecture(options.arch, options.sms)
    inspected = inspect_kernel(request.selection, architecture)
    for skip in inspected.skips:
        print_line(f"skipped {skip.config}: {skip.reason}", to_stderr=True)
    if not inspected.plans:
        raise UsageError(f"{options.variant} has no configuration left to inspect")
    print_reports([report_inspections(inspected.inspections, _describe_target(inspected))], options.style)
    _write_code(inspected, options)
    return _print_mix(read_hottest_loops(inspected, options.clock), options.style) if options.mix else OK


def _count_accesses(request: RunRequest, options: InspectOptions) -> int:
    """Print and export the counts. The exit code is 3 if nothing was counted, and 1 if a manifest's limit is broken."""
    if options.mix or options.text or options.ptx or options.sass:
        raise UsageError("--accesses replaces the output of nvcc; leave out --sass-mix, --text, --ptx and --sass")
    architecture = choose_architecture(options.arch, options.sms)
    counted = count_accesses(
        request.selection, architecture, options.clock, lambda text: print_line(f"not counted: {text}", to_stderr=True)
    )
    if not counted:
        return NO_DEVICE
    print_reports([report_accesses(counted)], options.style)
    if options.out:
        write_text(Path(options.out), encode_json(export_accesses(counted)))
    for each in counted:
        if each.plan.variant.accesses and not has_whole_sectors(each.plan.problem):
            why = "the rows of its operands begin inside sectors of 32 bytes"
            print_line(f"access limits not checked at {each.plan.problem}: {why}", to_stderr=True)
    broken = [(each.plan, fault) for each in counted for fault in find_broken_access_limits(each.plan, each.counts)]
    for plan, fault in broken:
        print_line(f"access limit exceeded: {plan.variant.name} {plan.config}: {fault}", to_stderr=True)
    return BAD_ROW if broken else OK


def _describe_target(inspected: InspectedKernel) -> str:
    architecture = inspected.architecture
    return f"sm_{architecture.name}, {architecture.sms} SMs, nvcc at {inspected.compiler.path}"


def _write_code(inspected: InspectedKernel, options: InspectOptions) -> None:
    compiler = inspected.compiler
    written = (options.text, compiler.text), (options.ptx, compiler.ptx), (options.sass, compiler.sass)
    for path, write_code in written:
        if path:
            code = write_code(inspected.only_plan())
            write_text(Path(path), code if code.endswith("\n") else f"{code}\n")


def _print_mix(loops: LoopReadings, style: str | None) -> int:
    """Print the hottest loop of every kernel. The exit code is 1 if a loop breaks a limit of its manifest."""
    print_line()
    print_reports([inspection_report.report_loops(loops.readings)], style)
    for limit in loops.broken_limits:
        print_line(f"sass limit exceeded: {limit}", to_stderr=True)
    return BAD_ROW if loops.broken_limits else OK
