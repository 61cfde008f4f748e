"""Parameters, precisions and layouts as they are chosen on the command line and in configs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.manifests.variant import ALL, Params
from gemmbench.planning.problems.precision import find_precision
from gemmbench.planning.problems.problem import LAYOUTS

_PARAM = re.compile(r"\s*\w+\s*=\s*-?[0-9]+\s*(,\s*-?[0-9]+\s*)*")


def parse_params(written: Sequence[str]) -> Params:
    """Parameters as the command line writes them, `BM=64,128` or `all`. Raises UsageError."""
    found: dict[str, tuple[int, ...]] = {}
    for text in written:
        name, _, values = text.partition("=")
        if text == ALL:
            found[ALL] = ()
        elif not _PARAM.fullmatch(text) or name == ALL:
            raise UsageError(f"--param '{text}' is not one; write --param BM=64,128 or --param all")
        else:
            found[name.strip()] = tuple(dict.fromkeys(int(part) for part in values.split(",")))
    return found


def parse_precisions(names: str | Sequence[str] | None) -> list[str]:
    """Precisions, listed or separated by commas; [] for None. Raises UsageError."""
    return [find_precision(name).name for name in _listed("precisions", names)]


def parse_layouts(names: str | Sequence[str] | None) -> list[str]:
    """Layouts, listed or separated by commas; [] for None. Raises UsageError."""
    listed = _listed("layouts", names)
    for name in listed:
        if name not in LAYOUTS:
            raise UsageError(f"unknown layout '{name}'{nearest(name, LAYOUTS)}; known: {', '.join(LAYOUTS)}")
    return listed


def _listed(what: str, names: str | Sequence[str] | None) -> list[str]:
    if names is None:
        return []
    found = [part.strip() for part in names.split(",")] if isinstance(names, str) else names
    if not found:
        raise UsageError(f"{what}: empty; name at least one")
    return list(dict.fromkeys(found))
