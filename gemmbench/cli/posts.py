"""`gemmbench posts`: repeats the posts' tables here and prints them next to the published ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import click

from gemmbench.backends.devices import Machine
from gemmbench.cli.options import (
    LIMITS,
    MEASURE,
    SCALARS,
    SHAPE,
    PostName,
    argument,
    command,
    dry_run_option,
    group,
    option,
    style_option,
)
from gemmbench.cli.output import TERMINAL, print_line, print_reports, print_warning
from gemmbench.cli.run_options import FleetOptions, JournalOptions
from gemmbench.cli.run_outputs import (
    choose_exit_code,
    complete_options,
    print_next_step,
    print_plans_of_posts,
    refuse_incomplete_file,
    save_csv,
)
from gemmbench.errors import OK, UsageError
from gemmbench.planning.sweeps.run_request import RESULTS, RunRequest
from gemmbench.planning.sweeps.sweep import known_posts
from gemmbench.report.comparison import Comparison, compare_rows
from gemmbench.report.store.reading import read_results
from gemmbench.report.tables.post_tables import report_post
from gemmbench.session.post_runs import plan_posts, repeat_posts


@dataclass(frozen=True, kw_only=True)
class PostsOptions:
    """The options of `gemmbench posts`."""

    names: tuple[str, ...] = argument(nargs=-1, metavar="[POST]...", type=PostName())
    results: tuple[str, ...] = option(
        "--results",
        multiple=True,
        type=click.Path(),
        metavar="FILE",
        heading=RESULTS,
        help="Show saved results instead of measuring.",
    )
    problem: None = group(*SHAPE, *SCALARS)
    where: FleetOptions
    measure: None = group(*MEASURE)
    limits: None = group(*LIMITS)
    journal: JournalOptions
    dry_run: bool = dry_run_option(
        "Show for each post what would run, what is skipped, and an estimate of the time; run nothing."
    )
    style: str | None = style_option()


@command(
    PostsOptions,
    complete=complete_options,
    common=("sizes", "precisions", "device", "rounds", "fleet", "results", "out", "resume", "style", "dry_run"),
)
def posts(request: RunRequest, options: PostsOptions) -> int:
    """Repeat the measurements of blog POSTs next to their tables.

    \b
    gemmbench posts 000 --sizes 1024,4096  one post at two sizes
    gemmbench posts --dry-run              how long all take
    gemmbench posts --resume               continue what stopped

    Without POSTs, repeats all of them: "Matrix Multiplication in CUDA" (000), the demo of the Frugal
    AI PSL week (001), "How can CUDA optimize matrix multiplication with its transpose?" (002),
    "Building a matrix-multiplication kernel from scratch" (003) and "CUDA 007 - GEMM" (004). Each
    table has the post's columns in its order, what was published next to what was measured here,
    and the speed-up of each step: so you see whether the post's conclusions hold on this device.
    The post's kernels are as the post has them; a corrected one is in the row below. Post 003, on a
    neural network, takes no other sizes, layouts or precisions.
    """
    if options.dry_run:
        machines = options.where.list_machines()
        return max(_print_plans(request, options, machine) for machine in machines)
    worst = OK
    comparisons = _read_runs(options.results) if options.results else _measure_runs(request, options)
    for number, (code, comparison) in enumerate(comparisons):
        if number:
            print_line()
        print_reports([report_post(comparison)], options.style)
        worst = max(worst, code)
    return worst


def _print_plans(request: RunRequest, options: PostsOptions, machine: Machine) -> int:
    planned = plan_posts(options.names, request, machine, TERMINAL)
    return print_plans_of_posts(planned, machine, options.style, request.destination.resume)


def _read_runs(files: tuple[str, ...]) -> Iterator[tuple[int, Comparison]]:
    runs = [read_results(Path(file)) for file in files]
    for run in runs:
        if run.environment.post not in known_posts():
            raise UsageError(f"{run.path}: this run does not repeat any of the known posts; use gemmbench show")
        print_warning(run)
    return ((OK, compare_rows(run)) for run in runs)


def _measure_runs(request: RunRequest, options: PostsOptions) -> Iterator[tuple[int, Comparison]]:
    results = (repeat_posts(options.names, request, machine, TERMINAL) for machine in options.where.list_machines())
    for result in chain.from_iterable(results):
        comparison = compare_rows(result.run)
        if not result.fault:
            save_csv(comparison)
        yield choose_exit_code(result.run.full_records, result.interrupted), comparison
        refuse_incomplete_file(result)
        if result.interrupted:
            print_next_step(result.run)
