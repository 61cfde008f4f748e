"""What the command line changes in a config file.

This is not part of planning.sweeps.sweep_config, because --help must not load YAML.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

Cache = Literal["cold", "hot"]
Fill = Literal["uniform", "normal", "zeros", "ones", "ints"]
_OPTIONS = {
    "precisions": "--precision",
    "layouts": "--layout",
    "params": "--param",
    "gate": "--no-gate",
    "pdl": "--no-pdl",
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
    pdl: bool = True

    def list_given(self) -> list[str]:
        """The options that change something, as they are typed; variants are no option."""
        usual = SweepOverrides(variants=self.variants)
        names = [each.name for each in fields(self) if getattr(self, each.name) != getattr(usual, each.name)]
        return [_OPTIONS.get(name, "--" + name.replace("_", "-")) for name in names]
