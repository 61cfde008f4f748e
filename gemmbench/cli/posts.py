"""`gemmbench posts`: the tables of the posts, published and measured here, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gemmbench.cli import options

if TYPE_CHECKING:
    from gemmbench.report.store import Run


@click.command()
@click.argument("names", nargs=-1, metavar="[POST]...")
@options.option("--results", multiple=True, type=click.Path(), help="Show saved results instead of measuring.")
@options.run_options
def posts(names: tuple[str, ...], results: tuple[str, ...], **settings: Any) -> int:
    """Repeat POSTs (default: all) and print each one's table beside this machine's.

    Row by row, with the speed-up over the row above and over the first, so that one sees
    whether the story of the post holds on this device.
    """
    from gemmbench.errors import OK
    from gemmbench.report.posts import story
    from gemmbench.spec.sweep import read_post

    worst = OK
    for number, (code, run) in enumerate(_saved(results) if results else _measured(names, settings)):
        from gemmbench.cli.session import plain

        post = read_post(run.environment.post)
        if post is not None:
            click.echo(("\n" if number else "") + story(post, run, plain(settings["style"])), nl=False)
        worst = max(worst, code)
    return worst


def _saved(files: tuple[str, ...]) -> list[tuple[int, Run]]:
    from gemmbench.errors import OK, UsageError
    from gemmbench.report import store

    runs = [store.read(Path(file)) for file in files]
    for run in runs:
        if not run.environment.post:
            raise UsageError(f"{run.path}: sweep '{run.environment.sweep}' repeats no post; use gemmbench show")
    return [(OK, run) for run in runs]


def _measured(names: tuple[str, ...], settings: dict[str, Any]) -> Any:
    from gemmbench.cli import session
    from gemmbench.spec.sweep import read_sweep

    machine = session.find_machine(settings["device"])
    for name in _configs(names):
        on_cpu = machine.choice.primary == "cpu"
        sweep = read_sweep(name, options.sweep_options(settings, ()), on_cpu)
        asked = session.plan_sweep(sweep, machine, settings["kernels"], settings["baseline"] is not None)
        run, interrupted = session.measure(asked, settings["out"], settings["resume"])
        session.save_csv(run)
        yield session.code_of(run.records, interrupted), run
        if interrupted:
            return


def _configs(names: tuple[str, ...]) -> list[str]:
    """Configs of the posts named by their whole name, or by its beginning, such as 004."""
    from gemmbench.errors import UsageError, nearest
    from gemmbench.spec.sweep import known_posts

    known = known_posts()
    found = []
    for name in names:
        fitting = [config for config in known if config.removeprefix("posts/").startswith(name.removeprefix("posts/"))]
        if len(fitting) != 1:
            short = [config.removeprefix("posts/") for config in known]
            raise UsageError(f"no post '{name}'{nearest(name, short)}; known: {', '.join(short)}")
        found += fitting
    return found or known
