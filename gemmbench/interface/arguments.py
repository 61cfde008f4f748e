"""Python arguments as the text that the command line takes, so that one parser checks them all."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Literal

from gemmbench.errors import UsageError
from gemmbench.planning.manifests.variant import ALL
from gemmbench.planning.sweeps.overrides import parse_share

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


def format_until(until: float | str | None) -> str | None:
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
