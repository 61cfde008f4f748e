"""`gemmbench posts`: the tables of the posts, published and measured here, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gemmbench.cli import options

if TYPE_CHECKING:
    from gemmbench.backends.machine import Machine
    from gemmbench.report.store import Run

NETWORK = "posts/003-neural-network"
"""The post whose table is that of `gemmbench mlp`."""


@click.command()
@click.argument("names", nargs=-1, metavar="[POST]...")
@options.option("--results", multiple=True, type=click.Path(), help="Show saved results instead of measuring.")
@options.problem_options
@options.measure_options
@options.limit_options
@options.journal_options
@options.style
def posts(names: tuple[str, ...], results: tuple[str, ...], **settings: Any) -> int:
    """Repeat the measurements of POSTs next to their published tables.

    Without POSTs, repeats all of them. Each row shows its speed-up over the row above and over the first
    row, published and measured here, so that you see whether the post's conclusions hold on this
    device.
    """
    from gemmbench.errors import OK

    worst = OK
    for number, (code, run) in enumerate(_saved(results) if results else _measured(names, settings)):
        click.echo(("\n" if number else "") + _story(run, settings["style"]), nl=False)
        worst = max(worst, code)
    return worst


def _story(run: Run, style: str | None) -> str:
    from gemmbench.cli.output import plain
    from gemmbench.planning.sweeps.sweep_config import read_post
    from gemmbench.report.posts import network_story, story

    post = read_post(run.environment.post) if run.environment.post else None
    return story(post, run, plain(style)) if post else network_story(run, plain(style))


def _saved(files: tuple[str, ...]) -> list[tuple[int, Run]]:
    from gemmbench.errors import OK, UsageError
    from gemmbench.report import store

    runs = [store.read(Path(file)) for file in files]
    for run in runs:
        if not run.environment.post and not any(record.network for record in run.records):
            raise UsageError(f"{run.path}: sweep '{run.environment.sweep}' repeats no post; use gemmbench show")
    return [(OK, run) for run in runs]


def _measured(names: tuple[str, ...], settings: dict[str, Any]) -> Any:
    from gemmbench.cli import output, planning
    from gemmbench.cli.mlp import repeat as repeat_network

    machine = planning.find_machine(settings["device"])
    for name in _configs(names):
        repeat = repeat_network if name == NETWORK else _repeat
        run, interrupted = repeat(name, machine, settings)
        output.save_csv(run)
        yield output.code_of(run.records, interrupted), run
        if interrupted:
            return


def _repeat(name: str, machine: Machine, settings: dict[str, Any]) -> tuple[Run, bool]:
    from gemmbench.cli import measuring, planning
    from gemmbench.planning.sweeps.sweep_config import read_sweep

    sweep = read_sweep(name, options.sweep_options(settings, ()), machine.on_cpu)
    asked = planning.plan_sweep(sweep, machine, settings["kernels"], settings["baseline"] is not None)
    return measuring.measure(asked, settings["out"], settings["resume"], options.limits(settings))


def _configs(names: tuple[str, ...]) -> list[str]:
    """Configs of the posts named by their whole name, or by its beginning, such as 004."""
    from gemmbench.errors import UsageError, nearest
    from gemmbench.planning.sweeps.sweep_config import known_posts

    known = sorted([*known_posts(), NETWORK])
    found = []
    for name in names:
        fitting = [config for config in known if config.removeprefix("posts/").startswith(name.removeprefix("posts/"))]
        if not fitting:
            short = [config.removeprefix("posts/") for config in known]
            raise UsageError(f"no post '{name}'{nearest(name, short)}; known: {', '.join(short)}")
        found += fitting
    return found or known
