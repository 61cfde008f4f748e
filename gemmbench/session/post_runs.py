"""The posts, repeated on this machine: what posts does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from gemmbench.backends.devices import Machine
from gemmbench.errors import UsageError, nearest
from gemmbench.planning.network_sweeps import NetworkOverrides
from gemmbench.planning.sweeps.overrides import SweepOverrides, TimeLimits
from gemmbench.planning.sweeps.planned_sweep import PlannedSweep
from gemmbench.planning.sweeps.sweep import describes_network, known_posts
from gemmbench.report.store.reading import read_environment
from gemmbench.report.store.recorded_run import Destination
from gemmbench.session.network_runs import NetworkRequest, PlannedNetwork, plan_network_rows, run_network
from gemmbench.session.open_run import RunResult
from gemmbench.session.reporter import SILENT, Reporter
from gemmbench.session.sweep_runs import SweepRequest, plan_request, run_sweep


@dataclass(frozen=True)
class PostsRequest:
    """Which posts to repeat (none: all of them) and how; `overrides` change their configs."""

    names: tuple[str, ...] = ()
    overrides: SweepOverrides = field(default_factory=SweepOverrides)
    kernels: str | None = None
    limits: TimeLimits = field(default_factory=TimeLimits)
    destination: Destination = field(default_factory=Destination)


def repeat_posts(request: PostsRequest, machine: Machine, reporter: Reporter = SILENT) -> Iterator[RunResult]:
    """Measure each post in turn, until one is interrupted. Raises GemmbenchError."""
    for name in _leave_out_finished(choose_posts(request, reporter), request.destination):
        if describes_network(name):
            result = run_network(_make_network_request(name, request), machine, reporter)
        else:
            result = run_sweep(_make_sweep_request(name, request), machine, reporter)
        yield result
        if result.interrupted:
            return
        request = replace(request, destination=replace(request.destination, resume=None))


def _leave_out_finished(names: list[str], destination: Destination) -> list[str]:
    """Of posts in turn, the one that the file to resume repeats, and those that follow. Raises UsageError."""
    if destination.resume is None:
        return names
    post = read_environment(destination.resume).post
    if post not in names:
        raise UsageError(
            f"{destination.resume}: not one of the posts that are asked for; start a new run without --resume"
        )
    return names[names.index(post) :]


def plan_posts(
    request: PostsRequest, machine: Machine, reporter: Reporter = SILENT
) -> Iterator[tuple[str, PlannedSweep | PlannedNetwork]]:
    """The name of each post and its rows, planned and not measured. Raises GemmbenchError."""
    for name in choose_posts(request, reporter):
        if describes_network(name):
            yield _shorten(name), plan_network_rows(_make_network_request(name, request), machine)
        else:
            yield _shorten(name), plan_request(_make_sweep_request(name, request), machine)


def choose_posts(request: PostsRequest, reporter: Reporter) -> list[str]:
    """Choose the configs of posts by name or the beginning of one, such as 004. Raises UsageError.

    A network has sizes, a layout and a precision of its own. If an option sets others, a network is an
    error if it was named, and is left out with a message if it was not.
    """
    known = known_posts()
    chosen = [config for name in request.names for config in _match_posts(name, known)] or known
    refused = _list_options_refused(request.overrides)
    networks = [name for name in chosen if refused and describes_network(name)]
    for short in map(_shorten, networks):
        if request.names:
            raise UsageError(
                f"{' and '.join(refused)}: post {short} is a network with its own sizes, layout and precision; "
                "leave the option out, or name other posts"
            )
        reporter.message(f"post {short} is left out: it is a network, which takes no {' or '.join(refused)}")
    return [name for name in chosen if name not in networks]


def _list_options_refused(overrides: SweepOverrides) -> list[str]:
    """The options given that a network cannot obey."""
    values = {
        "--sizes": overrides.sizes,
        "--precision": overrides.precisions,
        "--layout": overrides.layouts,
        "--alpha": overrides.alpha,
        "--beta": overrides.beta,
    }
    return [name for name, value in values.items() if value is not None]


def _match_posts(name: str, known: Sequence[str]) -> list[str]:
    beginning = [config for config in known if _shorten(config).startswith(_shorten(name))]
    matching = [config for config in beginning if _shorten(config) == _shorten(name)] or beginning
    if not matching:
        short = [_shorten(config) for config in known]
        raise UsageError(f"no post '{name}'{nearest(name, short)}; known: {', '.join(short)}")
    return matching


def _shorten(config: str) -> str:
    return config.removeprefix("posts/")


def _make_sweep_request(config: str, request: PostsRequest) -> SweepRequest:
    return SweepRequest(
        request.overrides, config, kernels=request.kernels, limits=request.limits, destination=request.destination
    )


def _make_network_request(config: str, request: PostsRequest) -> NetworkRequest:
    """The network `config` with the parameters, baseline and policy of the request."""
    overrides = NetworkOverrides(**vars(request.overrides))
    return NetworkRequest(overrides, config, request.kernels, request.limits, request.destination)
