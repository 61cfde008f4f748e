"""The keyword arguments of the Python interface, made from the table of options."""

from __future__ import annotations

import inspect
import math
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypedDict, TypeVar

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.problems import PanelCut
from gemmbench.planning.sweeps.run_request import (
    OPTIONS,
    Cache,
    Destination,
    Fill,
    Option,
    RunRequest,
    TransferOptions,
    list_options,
    make_request,
    parse_share,
)

Name = str | os.PathLike[str]
"""A name or the path of a file."""
Names = Name | Sequence[Name]
"""One name or several."""

_TRANSFER = tuple(list_options(TransferOptions))
_EXPLICIT = ("kernels", "yes")
SWEEP: Mapping[str, Option] = {each.keyword: each for each in OPTIONS.values() if each.name not in _EXPLICIT}
"""The options of run, compare and tune by their Python keywords."""


class VerifyOptions(TypedDict, total=False):
    """The options of verify, for editors and type checkers."""

    sizes: int | str | Sequence[int | str | tuple[int, int, int]] | None
    precision: str | Sequence[str] | None
    layout: str | Sequence[str] | None
    params: str | Mapping[str, int | str | Sequence[int]] | None
    epilogue: str | Sequence[str] | None
    ld: str | Sequence[str] | None
    separate_c: bool | None
    seed: int | None
    pdl: bool | None
    compile_limit: float | None
    launch_limit: float | None
    sweep_limit: float | None


class SweepOptions(VerifyOptions, total=False):
    """The options of run, compare and tune, for editors and type checkers."""

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


VERIFY: Mapping[str, Option] = {keyword: SWEEP[keyword] for keyword in VerifyOptions.__annotations__}
"""The options of verify by their Python keywords."""


def list_names(names: Names) -> tuple[str, ...]:
    """Return the names as a tuple. A string counts as one name."""
    several = [names] if isinstance(names, str | os.PathLike) else names
    return tuple(os.fspath(name) for name in several)


def parse_margin(margin: float | str) -> float:
    """Return the share of a difference that does not matter. Raises UsageError."""
    share = parse_share(margin)
    if math.isnan(share):
        raise UsageError(f"margin: '{margin}' is not a share below 100 %; write '3%' or 0.03")
    return share


P = ParamSpec("P")
R = TypeVar("R")


def takes(options: Mapping[str, Option]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a decorator that lists options in a function's help and signature, and rejects other keywords."""
    names = list(options)

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
        checked.__doc__ = f"{text}\n{_explain(options)}\n\n>>>{examples}"
        return checked

    return decorate


def _explain(options: Mapping[str, Option]) -> str:
    lines = [f"    {keyword}: {each.in_python or _adapt(each.help)}" for keyword, each in options.items()]
    return "\n".join(["Options; None leaves the choice to `config` or the variant.", "", "Keyword Args:", *lines])


def _adapt(text: str) -> str:
    """Adapt an option's help to Python: other options become keywords, and the first letter becomes lowercase."""
    named = re.sub(r"--([a-z]+(?:-[a-z]+)*)", lambda found: f"`{found[1].replace('-', '_')}`", text)
    return named if named[:2].isupper() or named.startswith("C =") else named[:1].lower() + named[1:]


def read_keywords(
    variants: Sequence[str],
    options: Mapping[str, Any],
    kernels: str | Path | None = None,
    config: str | Path = RunRequest.config,
    destination: Destination | None = None,
) -> RunRequest:
    """Turn keyword arguments into a request. Raises UsageError."""
    given = {SWEEP[keyword].name: value for keyword, value in options.items()}
    plain = {name: value for name, value in given.items() if name not in _TRANSFER}
    return make_request(str(config), destination, variants, kernels=kernels or None, yes=True, **plain)


def read_cut(options: Mapping[str, Any]) -> PanelCut | None:
    """Return how to cut jobs that are measured with their copies; None to measure none."""
    return TransferOptions(**{name: options[name] for name in _TRANSFER if options.get(name) is not None}).cut


_FIRST, _LAST = ("sizes", "precision", "layout"), ("params", "peaks", "gate", "pdl", "with_transfers")


def shell_command(command: str, variants: Sequence[str], others: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return the shell command that measures the same, which the results file records. `others` are further options."""
    between = [keyword for keyword in options if keyword not in (*_FIRST, *_LAST)]
    words = [word for keyword in (*_FIRST, *between, *_LAST) for word in SWEEP[keyword].write(options.get(keyword))]
    return shlex.join(["gemmbench", command, *variants, *others, *words])
