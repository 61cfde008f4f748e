"""`gemmbench posts`: the tables of the posts, published and measured here, next to each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from gemmbench.cli.completed_names import PostName
from gemmbench.cli.option_fields import RESULTS, argument, command, option
from gemmbench.cli.options import (
    DeviceOptions,
    JournalOptions,
    LimitOptions,
    MeasureOptions,
    ProblemOptions,
    style_option,
)
from gemmbench.cli.output import choose_exit_code, choose_plain_style, save_csv
from gemmbench.cli.terminal import TERMINAL
from gemmbench.errors import OK, UsageError
from gemmbench.planning.networks.network_config import NetworkOverrides, read_network_sweep
from gemmbench.planning.sweeps.overrides import SweepOverrides
from gemmbench.planning.sweeps.sweep_config import read_post
from gemmbench.report import store
from gemmbench.report.comparison import Comparison, compare_rows
from gemmbench.report.posts.story import tell_network_story, tell_story
from gemmbench.session.machine import find_machine
from gemmbench.session.posts import NETWORK_CONFIG, PostsRequest, repeat_posts


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
    problem: ProblemOptions
    where: DeviceOptions
    measure: MeasureOptions
    limit: LimitOptions
    journal: JournalOptions
    style: str | None = style_option()


@command(PostsOptions)
def posts(options: PostsOptions) -> int:
    """Repeat the measurements of POSTs next to their tables.

    Without POSTs, repeats all of them. Each row shows its speed-up over the row above and over the
    first row, published and measured here, so that you see whether the post's conclusions hold on
    this device. The post on a neural network (003) takes no other sizes, layouts or precisions.
    """
    worst = OK
    comparisons = _read_runs(options.results) if options.results else _measure_runs(options)
    for number, (code, comparison) in enumerate(comparisons):
        story = _format_post(comparison, choose_plain_style(options.style))
        click.echo(("\n" if number else "") + story, nl=False)
        worst = max(worst, code)
    return worst


def _format_post(comparison: Comparison, style: str) -> str:
    """The published table and this run's; runs of a network have no post in their header."""
    environment = comparison.environment
    post = read_post(environment.post) if environment.post else None
    return tell_story(post, comparison, style) if post else tell_network_story(comparison, _read_title(), style)


def _read_title() -> str:
    """The title of the post on a network."""
    return read_network_sweep(NETWORK_CONFIG, NetworkOverrides(), on_cpu=False).title


def _read_runs(files: tuple[str, ...]) -> Iterator[tuple[int, Comparison]]:
    runs = [store.read(Path(file)) for file in files]
    for run in runs:
        if not run.environment.post and not any(record.network for record in run.records):
            raise UsageError(f"{run.path}: sweep '{run.environment.sweep}' repeats no post; use gemmbench show")
    return ((OK, compare_rows(run)) for run in runs)


def _measure_runs(options: PostsOptions) -> Iterator[tuple[int, Comparison]]:
    request = PostsRequest(
        options.names,
        SweepOverrides(**vars(options.problem), **vars(options.measure)),
        options.where.kernels,
        options.limit.limits,
        options.journal.destination,
    )
    for result in repeat_posts(request, find_machine(options.where.device, TERMINAL), TERMINAL):
        comparison = compare_rows(result.run)
        save_csv(comparison)
        yield choose_exit_code(result.run.records, result.interrupted), comparison
