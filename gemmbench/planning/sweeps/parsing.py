"""Parameters, precisions and layouts as they are written on the command line and in config files."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.bounds import check_digits
from gemmbench.planning.manifests.variant import ALL, Params
from gemmbench.planning.problems.precision import find_precision
from gemmbench.planning.problems.problem import LAYOUTS

_PARAM = re.compile(r"\s*\w+\s*=\s*-?[0-9]+\s*(,\s*-?[0-9]+\s*)*")


def parse_params(written: Sequence[str]) -> Params:
    """Parse parameters written as `BM=64,128` or `all`. Raises UsageError."""
    params: dict[str, tuple[int, ...]] = {}
    for text in written:
        name, _, values = text.partition("=")
        if text == ALL:
            params[ALL] = ()
        elif not _PARAM.fullmatch(text) or name == ALL:
            raise UsageError(f"cannot parse --param '{text[:40]}'; write --param BM=64,128 or --param all")
        else:
            parts = values.split(",")
            for part in parts:
                check_digits(f"--param {name.strip()}", part)
            params[name.strip()] = tuple(dict.fromkeys(map(int, parts)))
    return params


def parse_precisions(names: str | Sequence[str] | None) -> list[str]:
    """Parse precisions, a list or separated by commas; [] for None. Raises UsageError."""
    return [find_precision(name).name for name in _split_names("precisions", names)]


def parse_layouts(names: str | Sequence[str] | None) -> list[str]:
    """Parse layouts, a list or separated by commas; [] for None. Raises UsageError."""
    layouts = _split_names("layouts", names)
    for name in layouts:
        if name not in LAYOUTS:
            raise UsageError(f"unknown layout '{name}'{nearest(name, LAYOUTS)}; known: {', '.join(LAYOUTS)}")
    return layouts


def parse_share(written: float | str) -> float:
    """Parse a share of 1, written as `3%` or `0.03`; NaN if it is not one, from 0 up to below 1."""
    text = str(written).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return math.nan
    return share if 0 <= share < 1 else math.nan


def _split_names(what: str, names: str | Sequence[str] | None) -> list[str]:
    if names is None:
        return []
    parts = [part.strip() for part in names.split(",")] if isinstance(names, str) else names
    if not parts:
        raise UsageError(f"{what}: empty; name at least one")
    return list(dict.fromkeys(parts))
