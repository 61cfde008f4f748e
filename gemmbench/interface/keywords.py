"""The keyword arguments of the Python interface, as the text that the command line takes, for one parser."""

from __future__ import annotations

import inspect
import math
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from numbers import Integral
from pathlib import Path
from typing import Literal, ParamSpec, TypedDict, TypeVar

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.manifests.variant import ALL
from gemmbench.planning.problems import PanelCut
from gemmbench.planning.sweeps.overrides import Cache, Fill, SweepOverrides, TimeLimits, parse_share
from gemmbench.session.verification_runs import VerifyRequest

Shape = tuple[int, int, int]
"""M, N, K."""
Sizes = str | int | Sequence[int | Shape]
"""1024 for a cube, a list such as [512, (1024, 768, 512)], or text as for --sizes."""
Name = str | os.PathLike[str]
"""A name, or the path of a file."""
Names = Name | Sequence[Name]
"""One name, or several."""
ParamValues = int | Sequence[int]
Params = Mapping[str, ParamValues] | Literal["all"]
"""Values to try for each parameter, such as {"BM": [64, 128], "BK": 8}, or "all"."""


def list_names(names: Names) -> tuple[str, ...]:
    """The names as a tuple; a string is one name."""
    several = [names] if isinstance(names, str | os.PathLike) else names
    return tuple(os.fspath(name) for name in several)


def join_names(names: Names | None) -> str | None:
    """The names separated by commas; None stays None."""
    return None if names is None else ",".join(list_names(names))


def format_sizes(sizes: Sizes | None) -> str | None:
    """Sizes as --sizes takes them; None stays None. Raises UsageError."""
    if sizes is None or isinstance(sizes, str):
        return sizes
    if isinstance(sizes, int | Integral):
        return str(sizes)
    if isinstance(sizes, tuple) and len(sizes) == 3 and all(isinstance(size, int | Integral) for size in sizes):
        one, three = f"[{sizes}]", list(sizes)
        raise UsageError(f"sizes={sizes} is ambiguous; write {one} for one problem M, N, K or {three} for three cubes")
    listed = ",".join(_format_size(size) for size in sizes)
    if not listed:
        raise UsageError("sizes is empty; leave it out for the sizes of the config")
    return listed


def format_params(params: Params | None) -> tuple[str, ...]:
    """Parameters as --param takes them. Raises UsageError."""
    if params is None:
        return ()
    if isinstance(params, str):
        if params != ALL:
            raise UsageError(f"params '{params}' is neither a mapping nor 'all'; write {{'BM': [64, 128]}}")
        return (ALL,)
    return tuple(f"{name}={_join_values(values)}" for name, values in params.items())


def _format_until(until: float | str | None) -> str | None:
    """The width of the interval to reach, as --until takes it."""
    return None if until is None else str(until)


def parse_margin(margin: float | str) -> float:
    """The share of 1 that a difference may have without mattering. Raises UsageError."""
    share = parse_share(margin)
    if math.isnan(share):
        raise UsageError(f"margin: '{margin}' is not a share; write '3%' or 0.03")
    return share


def _format_size(size: int | Shape) -> str:
    if isinstance(size, int | Integral):
        return str(size)
    if isinstance(size, tuple | list) and len(size) == 3:
        return "x".join(map(str, size))
    raise UsageError(f"{size!r} is not a size; write 1024 or (1024, 768, 512) for M, N, K")


def _join_values(values: ParamValues | str) -> str:
    return str(values) if isinstance(values, int | str | Integral) else ",".join(map(str, values))


P = ParamSpec("P")
R = TypeVar("R")


class VerifyOptions(TypedDict, total=False):
    """Options; None takes awkward sizes, and everything that a variant declares.

    Keyword Args:
        sizes: 1024 for a cube, [512, (1024, 768, 512)] with tuples of M, N, K, or text such as
            "512:4096:512".
        precision, layout: a name or several, such as "f32" or ["nn", "nt"].
        params: values to try, such as {"BM": [64, 128], "BK": 8}, or "all".
        seed: seed of the data.
        pdl: False launches kernels whose manifest says `pdl` without overlap.
        compile_limit, launch_limit, sweep_limit: time limits in seconds.
    """

    sizes: Sizes | None
    precision: Names | None
    layout: Names | None
    params: Params | None
    seed: int | None
    pdl: bool | None
    compile_limit: float | None
    launch_limit: float | None
    sweep_limit: float | None


class SweepOptions(VerifyOptions, total=False):
    """Options; None keeps the value of the config.

    Keyword Args:
        sizes: 1024 for a cube, [512, (1024, 768, 512)] with tuples of M, N, K, or text such as
            "512:4096:512".
        precision, layout: a name or several, such as "f32" or ["nn", "nt"].
        params: values to try, such as {"BM": [64, 128], "BK": 8}, or "all".
        alpha, beta: C = alpha A B + beta C; with beta 0, C is not read.
        baseline: the variant that counts as 100 %.
        cache: "cold" rotates operand sets so that nothing stays in the L2 cache; "hot" reuses two.
        data, seed: contents of A and B ("uniform", "normal", "zeros", "ones", "ints") and their seed.
        rounds: number of rounds (with `until`: the maximum); an interval needs at least 4.
        until: measure until the 95 % interval is within this share of the value: 0.005 or "0.5%".
        max_time: maximum seconds of timing per kernel and problem.
        sustained: seconds of steady load for each row, for its speed, watts and joules on a GPU; 0: none.
        peaks: True also measures the limits of a GPU, for the roofline (about 2 s).
        gate: False launches without the gate that hides the time of the host.
        pdl: False launches kernels whose manifest says `pdl` without overlap.
        with_transfers, panels, streams: also measure whole jobs with their copies, cut into panels.
        compile_limit, launch_limit, sweep_limit: time limits in seconds.
    """

    alpha: float | None
    beta: float | None
    baseline: str | None
    cache: Cache | None
    data: Fill | None
    rounds: int | None
    until: float | str | None
    max_time: float | None
    sustained: float | None
    peaks: bool | None
    gate: bool | None
    with_transfers: bool | None
    panels: int | None
    streams: int | None


def takes(options: type) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Show the keys of a TypedDict in help and signature, and refuse other keywords."""
    names = list(options.__annotations__)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        explicit = [parameter for parameter in signature.parameters.values() if parameter.kind != parameter.VAR_KEYWORD]
        keywords = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in names]
        known = [parameter.name for parameter in explicit] + names

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in known:
                    hint = nearest(name, known)
                    raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{name}'{hint}")
            return function(*args, **kwargs)

        checked.__signature__ = signature.replace(parameters=[*explicit, *keywords])  # type: ignore[attr-defined]
        text, _, examples = (inspect.getdoc(function) or "").partition("\n>>>")
        checked.__doc__ = f"{text}\n{inspect.getdoc(options)}\n\n>>>{examples}"
        return checked

    return decorate


def sweep_overrides(variants: tuple[str, ...], options: SweepOptions) -> SweepOverrides:
    """What the options change in a config, as the session takes it. Raises UsageError."""
    return SweepOverrides(
        variants=variants,
        sizes=format_sizes(options.get("sizes")),
        precisions=join_names(options.get("precision")),
        layouts=join_names(options.get("layout")),
        params=format_params(options.get("params")),
        alpha=options.get("alpha"),
        beta=options.get("beta"),
        baseline=options.get("baseline"),
        cache=options.get("cache"),
        data=options.get("data"),
        seed=options.get("seed"),
        rounds=options.get("rounds"),
        until=_format_until(options.get("until")),
        max_time=options.get("max_time"),
        sustained=options.get("sustained"),
        peaks=options.get("peaks"),
        gate=options.get("gate") is not False,
        pdl=bool(options.get("pdl")),
    )


def verify_request(
    variants: tuple[str, ...], every: bool, kernels: str | Path | None, options: VerifyOptions
) -> VerifyRequest:
    """What to verify, as the session takes it. Raises UsageError."""
    return VerifyRequest(
        variants,
        every,
        format_sizes(options.get("sizes")),
        join_names(options.get("precision")),
        join_names(options.get("layout")),
        format_params(options.get("params")),
        str(kernels) if kernels else None,
        options.get("seed"),
        time_limits(options),
        pdl=options.get("pdl") is not False,
    )


def time_limits(options: VerifyOptions) -> TimeLimits:
    """The time limits in seconds. Raises UsageError."""
    return TimeLimits.make(
        long=True,
        compile=options.get("compile_limit"),
        launch=options.get("launch_limit"),
        sweep=options.get("sweep_limit"),
    )


def transfer_cut(options: SweepOptions) -> PanelCut | None:
    """How to cut the jobs that are measured with their copies; None to measure none."""
    if not options.get("with_transfers"):
        return None
    return PanelCut(options.get("panels") or PanelCut.panels, options.get("streams") or PanelCut.streams)


def shell_command(command: str, variants: Sequence[str], others: Sequence[str], options: SweepOptions) -> str:
    """The command that measures the same in a shell; the results file records it. `others` are more options of it."""
    words = ["gemmbench", command, *variants, *others]
    chosen = sweep_overrides((), options)
    flags: dict[str, object] = {"sizes": chosen.sizes, "precision": chosen.precisions, "layout": chosen.layouts}
    named = (*flags, "params", "peaks", "gate", "pdl", "with_transfers")
    flags |= {name: value for name, value in options.items() if name not in named}
    for name, value in flags.items():
        words += [] if value is None else ["--" + name.replace("_", "-"), str(value)]
    for text in chosen.params:
        words += ["--param", text]
    words += ["--peaks"] if chosen.peaks else []
    words += [] if chosen.gate else ["--no-gate"]
    words += ["--pdl"] if chosen.pdl else []
    words += ["--with-transfers"] if options.get("with_transfers") else []
    return shlex.join(words)
