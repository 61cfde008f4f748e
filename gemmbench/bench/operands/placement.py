"""The placement of operand sets and workspaces in memory. It is drawn again for every block of rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SLACK = 2 << 20
"""The number of bytes by which sets can be shifted, which is one large GPU page."""
_LARGE_PAGE, _PAGE = 2 << 20, 4 << 10
_FEW_SETS = 8


@dataclass(frozen=True)
class SetPlacement:
    """`count` sets of `nbytes` bytes each. Their arrays are aligned if sets begin at multiples of `alignment`.

    Up to 8 sets all begin at the same offset within a 2 MiB page. More sets begin at the same offset within a page of
    at least 4 KiB.
    """

    count: int
    nbytes: int
    alignment: int

    @property
    def stride(self) -> int:
        """The number of bytes from one set to the next."""
        page = _LARGE_PAGE if self.count <= _FEW_SETS else max(_PAGE, self.alignment)
        return -(-self.nbytes // page) * page

    @property
    def total(self) -> int:
        """The number of bytes in all sets and the slack."""
        return (self.count - 1) * self.stride + self.nbytes + SLACK

    def find_bases(self, shift: int) -> list[int]:
        """Return the offset of each set."""
        return [shift + index * self.stride for index in range(self.count)]

    def draw_shift(self, rng: np.random.Generator) -> int:
        """Return a random multiple of the alignment within the slack."""
        return self.alignment * int(rng.integers(SLACK // self.alignment + 1))
