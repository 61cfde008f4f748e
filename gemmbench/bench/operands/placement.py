"""Placement of operand sets and workspaces in memory, redrawn for every block of rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SLACK = 2 << 20
"""Bytes by which sets can be shifted: one large GPU page."""
_LARGE_PAGE, _PAGE = 2 << 20, 4 << 10
_FEW_SETS = 8


@dataclass(frozen=True)
class SetPlacement:
    """`count` sets of `nbytes` each, whose arrays are aligned if a set begins at a multiple of `alignment`.

    Up to 8 sets begin at the same offset in a 2 MiB page, more sets at the same offset in a page of at least 4 KiB.
    """

    count: int
    nbytes: int
    alignment: int

    @property
    def stride(self) -> int:
        """Bytes from one set to the next."""
        page = _LARGE_PAGE if self.count <= _FEW_SETS else max(_PAGE, self.alignment)
        return -(-self.nbytes // page) * page

    @property
    def total(self) -> int:
        """Bytes of all sets and the slack."""
        return (self.count - 1) * self.stride + self.nbytes + SLACK

    def find_bases(self, shift: int) -> list[int]:
        """Return where each set begins."""
        return [shift + index * self.stride for index in range(self.count)]

    def draw_shift(self, rng: np.random.Generator) -> int:
        """Return a random multiple of the alignment within the slack."""
        return self.alignment * int(rng.integers(SLACK // self.alignment + 1))
