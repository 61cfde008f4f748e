"""When the rounds of a batch may end: when to check the intervals, and how narrow they must be.

An interval that is checked after every block is sooner or later narrow by luck, so the rule here
checks only after 5, 10, 20, ... blocks. Simulated (`benchmarks/noise.py 150`, 150 runs of each kind):
where the clock drifts by 0.8 % and windows have noise of 0.2 to 2 %, identical code was never called
faster or slower. A difference of 2 % was found in every run up to a noise of 1 % (in 97 of 100 where
every tenth window is also disturbed by 5 % and the noise is 0.2 %; in 67 with a noise of 2 %). The
intervals covered the truth in 94 to 97 of 100 runs. Where each kernel has two modes 2 % apart and
keeps one for ten windows, identical code was called faster or slower in 0.7 of 100 runs; with one
sequence of rounds in one placement and a bootstrap of its pairs it was 14.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gemmbench.bench.timing.stats import MIN_BLOCKS, Interval


class StoppingRule(Protocol):
    """Decides when an executable has been measured well enough."""

    def is_due(self, blocks: int) -> bool:
        """Whether to check the intervals after this many blocks."""

    def is_narrow(self, interval: Interval) -> bool:
        """Whether an interval is narrow enough to stop."""


@dataclass(frozen=True)
class DoublingRule:
    """Checks after 5, 10, 20, ... blocks whether the interval is within +- `until` of its value.

    With `until` 0 the rounds never stop early.
    """

    until: float

    def is_due(self, blocks: int) -> bool:
        """As StoppingRule."""
        doublings, rest = divmod(blocks, MIN_BLOCKS)
        return self.until > 0 and doublings > 0 and rest == 0 and doublings & (doublings - 1) == 0

    def is_narrow(self, interval: Interval) -> bool:
        """As StoppingRule; an interval that is not known is not narrow."""
        return interval.spread <= self.until
