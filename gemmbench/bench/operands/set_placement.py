"""Where operand sets lie in their memory.

Where a set lies decides which of its lines share sets of a cache and channels of the memory, and so
moves times by up to several percent. Sets that follow one another begin at the same place of a page:
otherwise two sets would be two arbitrary placements. The memory has some slack, so that every block
of a measurement can shift all sets to another placement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gemmbench.backends.base import ALIGN

SLACK = 2 << 20
"""Bytes by which sets can be shifted: a large page of a GPU."""
_LARGE_PAGE, _PAGE = 2 << 20, 4 << 10
_FEW_SETS = 8


@dataclass(frozen=True)
class SetPlacement:
    """`count` sets of `nbytes` each: up to 8 begin at the same place of a 2 MiB page, more of a 4 KiB page."""

    count: int
    nbytes: int

    @property
    def stride(self) -> int:
        """Bytes from one set to the next."""
        page = _LARGE_PAGE if self.count <= _FEW_SETS else _PAGE
        return -(-self.nbytes // page) * page

    @property
    def total(self) -> int:
        """Bytes of all sets and the slack."""
        return (self.count - 1) * self.stride + self.nbytes + SLACK

    def find_bases(self, shift: int) -> list[int]:
        """Where each set begins."""
        return [shift + index * self.stride for index in range(self.count)]


def draw_shift(rng: np.random.Generator) -> int:
    """A random multiple of ALIGN within the slack."""
    return ALIGN * int(rng.integers(SLACK // ALIGN + 1))
