"""`gemmbench verify`: checks only correctness, on the problems where kernels often break."""

from __future__ import annotations

from dataclasses import dataclass

import click

from gemmbench.backends.devices import Machine
from gemmbench.cli.options import LIMITS, SHAPE, VariantName, argument, command, group, option, style_option
from gemmbench.cli.output import TERMINAL, print_line, print_reports
from gemmbench.cli.run_options import FleetOptions
from gemmbench.cli.run_outputs import (
    announce_results,
    choose_exit_code,
    print_next_step,
    refuse_incomplete_file,
    save_csv,
)
from gemmbench.errors import BAD_ROW, INTERRUPTED, NO_DEVICE, OK, USAGE, UsageError
from gemmbench.planning.sweeps.run_request import MEASURING, OPTIONS, PROBLEM, RESULTS, STOPPING, RunRequest
from gemmbench.report.comparison import compare_rows
from gemmbench.report.diagnostics import verification_report
from gemmbench.session.sanitizer_runs import sanitize_kernels
from gemmbench.session.verification_runs import verify_kernels


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """The options of `gemmbench verify`."""

    variants: tuple[str, ...] = argument(nargs=-1, type=VariantName())
    every: bool = option(
        "--all",
        is_flag=True,
        heading=PROBLEM,
        help="Verify every configuration, not only one change per parameter; on the CPU, also every precision and "
        "layout.",
    )
    exit_first: bool = option("-x", "--exitfirst", is_flag=True, heading=STOPPING, help="Stop at the first failure.")
    sanitize: str | None = option(
        "--sanitize",
        is_flag=False,
        flag_value="memcheck,racecheck",
        metavar="[TOOLS]",
        heading=MEASURING,
        help="Run under compute-sanitizer: memcheck, racecheck, initcheck, synccheck.",
    )
    sanitize_limit: float = option(
        "--sanitize-limit",
        type=click.FloatRange(1),
        metavar="SECONDS",
        heading=STOPPING,
        default=240,
        show_default=True,
        help="Time limit for each run of a tool.",
    )
    shape: None = group(*SHAPE, "epilogue", "ld", "separate_c")
    where: FleetOptions
    seed: None = group("seed")
    overlap: bool = option(
        "--pdl/--no-pdl",
        default=True,
        show_default=True,
        heading=PROBLEM,
        help="Also let products overlap where a manifest has `pdl`.",
    )
    watch: bool = option(
        "--watch/--no-watch",
        default=True,
        show_default=True,
        heading=MEASURING,
        help="First watch every access on the host, at two small sizes, to find faults that a correct result hides.",
    )
    invariance: bool = option(
        "--invariance",
        is_flag=True,
        heading=MEASURING,
        help="Also ask whether the bits of a row of C depend on M, on its place, or on other rows or groups.",
    )
    limits: None = group(*LIMITS)
    out: str | None = option(
        "--out", type=click.Path(), metavar="FOLDER", heading=RESULTS, help="Keep the checks in a results file there."
    )
    style: str | None = style_option()


@command(
    VerifyOptions,
    common=(
        "every",
        "sizes",
        "precisions",
        "layouts",
        "params",
        "device",
        "kernels",
        "sanitize",
        "exit_first",
        "watch",
    ),
)
def verify(request: RunRequest, options: VerifyOptions) -> int:
    """Verify KERNELs on shapes on which kernels often break.

    \b
    gemmbench verify tiled                      one of gemmbench's kernels
    gemmbench verify ./mine.cu                  yours, with or without a manifest
    gemmbench verify tiled --sizes 33x65x64 -x  one size, to the first failure

    Without KERNELs, every kernel that runs here is verified. Nothing is timed.

    Sizes are 1, primes, one more or less than a tile, and three different dimensions. Each kernel is
    verified in every layout and precision that it declares (on the CPU device in f32 and one layout,
    unless --all or other options name more), with alpha other than 1 and beta other than 0, and small
    problems also with NaN, infinities, subnormals and values near overflow. If the rules of a manifest
    exclude most sizes, the next ones are tried. The `kinds` and the `epilogue` of a manifest are tried
    on one problem each, and all together. Each cause of a failure is reported once. The last line says
    what was left out.

    Before that, every access of a few small launches is watched on the host. An access outside an
    operand or an array, a race, a misaligned vector, an overflowing index or a barrier that some
    threads miss is a failure, even if the result is correct. The message names file, line and thread.

    With --sanitize, each kernel runs under compute-sanitizer in a separate process, with operands in
    allocations of exactly their size: two shapes, in the first precision that it declares. Write
    KERNELs before --sanitize.
    """
    if options.sanitize is not None:
        options.where.refuse_fleet("--sanitize")
        if options.invariance:
            raise UsageError("--sanitize verifies nothing else; leave out --invariance")
        return _sanitize(request, options, tuple(options.sanitize.split(",")))
    if options.invariance:
        options.where.refuse_fleet("--invariance")
        for name in ("epilogue", "ld", "separate_c"):
            if getattr(request.selection, name):
                flag = OPTIONS[name].flag
                raise UsageError(f"--invariance compares the bits of plain products; leave out {flag}")
    return max(_verify(request, options, machine) for machine in options.where.list_machines())


def _verify(request: RunRequest, options: VerifyOptions, machine: Machine) -> int:
    how = {"every": options.every, "exit_first": options.exit_first, "pdl": options.overlap, "watch": options.watch}
    how |= {"invariance": options.invariance, "keep": options.out is not None}
    found = verify_kernels(request, machine, TERMINAL, **how)
    if found.records or not found.interrupted:
        print_reports([verification_report.report_checks(found.records, found.note, found.remarks)], options.style)
    if found.result is not None:
        names = [] if found.result.fault else save_csv(compare_rows(found.result.run))
        announce_results(found.result, names)
        refuse_incomplete_file(found.result)
    for name in found.wrongly_launched:
        print_line(f"{name}: the kernel is correct, but its launch is not: see above", to_stderr=True)
    if found.interrupted:
        print_next_step(
            what="interrupted before the last check" if found.records else "interrupted before the first check"
        )
    failed = BAD_ROW if found.wrongly_launched else USAGE if found.broken else OK
    return choose_exit_code(found.records, found.interrupted) or failed


def _sanitize(request: RunRequest, options: VerifyOptions, tools: tuple[str, ...]) -> int:
    how = {"every": options.every, "exit_first": options.exit_first}
    found = sanitize_kernels(request, tools, options.where.device, options.sanitize_limit, TERMINAL, **how)
    print_reports([verification_report.report_results(found.results)], options.style)
    if found.interrupted:
        print_next_step()
        return INTERRUPTED
    if all(result.verdict is None for result in found.results):
        print_line("nothing ran: every kernel was skipped for the reasons above", to_stderr=True)
        return NO_DEVICE
    if not all(result.clean for result in found.results):
        return BAD_ROW
    return USAGE if found.broken else OK
