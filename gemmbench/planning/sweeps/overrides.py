"""What the command line changes in a config file.

This is not part of planning.sweeps.sweep_config, because --help must not load YAML.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Cache = Literal["cold", "hot"]
Fill = Literal["uniform", "normal", "zeros", "ones", "ints"]


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
    energy: float | None = None
    gate: bool = True
