"""Repeats the posts' measurements on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gemmbench.backends.devices import Machine
from gemmbench.errors import UsageError, nearest
from gemmbench.planning.sweeps.planned_sweep import PlannedSweep
from gemmbench.planning.sweeps.run_request import OPTIONS, Destination, RunRequest, Selection
from gemmbench.planning.sweeps.sweep import describes_network, known_posts
from gemmbench.report.store.reading import read_environment
from gemmbench.session.network_runs import PlannedNetwork, plan_network_rows, run_network
from gemmbench.session.open_run import RunResult
from gemmbench.session.reporter import SILENT, Reporter
from gemmbench.session.sweep_runs import plan_request, run_sweep


def repeat_posts(
    names: Sequence[str], request: RunRequest, machine: Machine, reporter: Reporter = SILENT
) -> Iterator[RunResult]:
    """Measure the named posts, or all, one after the other until one is interrupted. The request changes their configs.

    Raises GemmbenchError.
    """
    for name in _leave_out_finished(choose_posts(names, request, reporter), request.destination):
        run = run_network if describes_network(name) else run_sweep
        result = run(replace(request, config=name), machine, reporter)
        yield result
        if result.interrupted:
            return
        request = replace(request, destination=replace(request.destination, resume=None))


def _leave_out_finished(names: list[str], destination: Destination) -> list[str]:
    """Leave out the posts before the one that the resumed file repeats. Raises UsageError."""
    if destination.resume is None:
        return names
    post = read_environment(destination.resume).post
    if post not in names:
        raise UsageError(f"{destination.resume}: not one of the selected posts; start a new run without --resume")
    return names[names.index(post) :]


def plan_posts(
    names: Sequence[str], request: RunRequest, machine: Machine, reporter: Reporter = SILENT
) -> Iterator[tuple[str, PlannedSweep | PlannedNetwork]]:
    """Yield the name and the planned rows of each post without measuring them. Raises GemmbenchError."""
    for name in choose_posts(names, request, reporter):
        plan = plan_network_rows if describes_network(name) else plan_request
        yield _shorten(name), plan(replace(request, config=name), machine)


def choose_posts(names: Sequence[str], request: RunRequest, reporter: Reporter) -> list[str]:
    """Choose the configs of posts by name, or by the beginning of a name, such as 004. Raises UsageError.

    A network has its own sizes, layout and precision. If an option sets others, a network that was named is an error.
    One that was not named is left out with a message.
    """
    known = known_posts()
    chosen = [config for name in names for config in _match_posts(name, known)] or known
    refused = _list_options_refused(request.selection)
    networks = [name for name in chosen if refused and describes_network(name)]
    for short in map(_shorten, networks):
        if names:
            raise UsageError(
                f"{' and '.join(refused)}: post {short} is a network with its own sizes, layout and precision; "
                "leave out the option, or name other posts"
            )
        reporter.message(f"post {short} is left out: it is a network, which does not take {' or '.join(refused)}")
    return [name for name in chosen if name not in networks]


def _list_options_refused(selection: Selection) -> list[str]:
    """List the given options that a network cannot take."""
    names = ("sizes", "precisions", "layouts", "alpha", "beta", "epilogue", "ld", "separate_c")
    given = {name: getattr(selection, name) for name in names}
    return [OPTIONS[name].flag for name, value in given.items() if value not in (None, ()) and value is not False]


def _match_posts(name: str, known: Sequence[str]) -> list[str]:
    beginning = [config for config in known if _shorten(config).startswith(_shorten(name))]
    matching = [config for config in beginning if _shorten(config) == _shorten(name)] or beginning
    if not matching:
        short = [_shorten(config) for config in known]
        raise UsageError(f"no post '{name}'{nearest(name, short)}; known: {', '.join(short)}")
    return matching


def _shorten(config: str) -> str:
    return config.removeprefix("posts/")
