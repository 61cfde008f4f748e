"""Blocks of rounds: the windows of one executable, and what happens between blocks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from gemmbench.backends.base import Window
from gemmbench.bench.timing.stats import Round
from gemmbench.errors import PlanError


@dataclass
class Measurement:
    """The windows of one executable by their rounds, of `launches` launches each.

    `stopped` is why there are no more: "until" (its interval is narrow enough), "beaten" (it is clearly
    slower than the best of a contest), "rounds", "max-time", "interrupted", or "failed", with `fault` if a
    window raised it.
    """

    launches: int = 1
    windows: dict[Round, Window] = field(default_factory=dict)
    stopped: str = "rounds"
    fault: PlanError | None = None

    def has_block(self, block: int) -> bool:
        """Whether it has a window in this block."""
        return any(round_.block == block for round_ in self.windows)

    def drop_block(self, block: int) -> None:
        """Forget the windows of this block."""
        self.windows = {round_: window for round_, window in self.windows.items() if round_.block != block}

    @property
    def samples(self) -> dict[Round, float]:
        """Seconds per launch."""
        return {round_: window.seconds / window.launches for round_, window in self.windows.items()}

    @property
    def clocks(self) -> list[float]:
        """The SM clock of each window in which it is known."""
        return [window.clock_hz for window in self.windows.values() if window.clock_hz]

    @property
    def competitors(self) -> list[float]:
        """The competitors of each window in which they were counted."""
        counts = (window.competitors for window in self.windows.values())
        return [count for count in counts if count is not None]

    @property
    def gated(self) -> bool:
        """No window may contain host time."""
        return all(window.gated for window in self.windows.values())


class BlockSteps(Protocol):
    """What happens between blocks; executables are named by their indices."""

    def begin(self, block: int, launches: Mapping[int, int]) -> Collection[int]:
        """Make these executables ready for a block, given the launches of their windows; returns those that are."""

    def record_if_short(self, index: int) -> bool:
        """Record the launches of an executable that has been timed as graphs if they are short; whether it did."""

    def end(self, block: int, active: Collection[int]) -> Collection[int]:
        """Check these executables after a block; returns those that passed."""


class NoSteps:
    """`BlockSteps` for executables that stay as they are: nothing happens."""

    def begin(self, block: int, launches: Mapping[int, int]) -> Collection[int]:
        """As BlockSteps."""
        return launches

    def record_if_short(self, index: int) -> bool:
        """As BlockSteps."""
        return False

    def end(self, block: int, active: Collection[int]) -> Collection[int]:
        """As BlockSteps."""
        return active
