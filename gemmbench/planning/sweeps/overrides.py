"""What the command line changes in a sweep, and how parameters, precisions, layouts and limits are written."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.manifests.variant import ALL, Params
from gemmbench.planning.precisions import find_precision
from gemmbench.planning.problems import LAYOUTS
from gemmbench.planning.sizes import check_digits


@dataclass(frozen=True)
class TimeLimits:
    """Seconds for compiling one kernel, for one launch (None: by device) and for the whole sweep (inf: no limit).

    The sweep begins when its limits are made, before it is planned; `started` is that time by the monotonic clock.
    With `long` a run on the CPU device may take more than an hour.
    """

    compile: float = 120.0
    launch: float | None = None
    sweep: float = math.inf
    long: bool = False
    started: float = field(default_factory=time.monotonic, compare=False)

    @classmethod
    def make(cls, long: bool = False, **given: float | None) -> TimeLimits:
        """Return the given limits, None for the default. Raises UsageError."""
        for name, seconds in given.items():
            if seconds is not None and not seconds > 0:
                raise UsageError(f"--{name}-limit {seconds:g}: give a positive number of seconds")
        return cls(**{name: seconds for name, seconds in given.items() if seconds is not None}, long=long)


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


Cache = Literal["cold", "hot"]
Fill = Literal["uniform", "normal", "zeros", "ones", "ints"]
_OPTIONS = {
    "precisions": "--precision",
    "layouts": "--layout",
    "params": "--param",
    "gate": "--no-gate",
}


@dataclass
class SweepOverrides:
    """What the command line changes; None or empty leaves the config's value."""

    variants: tuple[str, ...] = ()
    sizes: str | None = None
    precisions: str | None = None
    layouts: str | None = None
    params: tuple[str, ...] = ()
    alpha: float | None = None
    beta: float | None = None
    baseline: str | None = None
    cache: Cache | None = None
    data: Fill | None = None
    seed: int | None = None
    rounds: int | None = None
    until: str | None = None
    max_time: float | None = None
    sustained: float | None = None
    peaks: bool | None = None
    gate: bool = True
    pdl: bool = False

    def list_given(self) -> list[str]:
        """The options that change something, as they are typed; variants are no option."""
        usual = SweepOverrides(variants=self.variants)
        names = [each.name for each in fields(self) if getattr(self, each.name) != getattr(usual, each.name)]
        return [_OPTIONS.get(name, "--" + name.replace("_", "-")) for name in names]
