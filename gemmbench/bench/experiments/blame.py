"""What the batches of every experiment share: which of their plans brought a process down."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from gemmbench.errors import PlanError

B = TypeVar("B", bound="Blamable")


@dataclass(frozen=True, kw_only=True)
class Blamable:
    """A batch that can go on without some of its plans; `faults` pairs their numbers with what they did."""

    faults: tuple[tuple[int, PlanError], ...] = ()

    def blame(self: B, number: int, fault: PlanError) -> B:
        """The same batch, in which plan `number` has failed already."""
        return replace(self, faults=(*self.faults, (number, fault)))

    def fault(self, number: int) -> PlanError | None:
        """What plan `number` did to an earlier process."""
        return dict(self.faults).get(number)
