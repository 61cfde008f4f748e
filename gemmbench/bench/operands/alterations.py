"""Alterations: sign changes of some input elements, which ensure that no launch sees the same numbers twice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gemmbench.bench.operands.layouts import SetLayout

_FEW = 4
_LINES = 16
_MOST_ELEMENTS = 1 << 17
"""The most elements of altered lines in all sets together. Altering that many takes a few milliseconds."""


@dataclass(frozen=True)
class Altered:
    """The elements whose signs are flipped in one operand set.

    These are the elements (`rows`, `inner`) of the first input, and whole `lines` of the second, which are rows of that
    factor.
    """

    rows: np.ndarray
    inner: np.ndarray
    lines: np.ndarray


_NONE = np.zeros(0, np.int64)
UNALTERED = Altered(_NONE, _NONE, _NONE)


@dataclass(frozen=True)
class Alteration:
    """The elements whose signs are flipped in S sets: E elements of the first input and L rows of the second.

    The `rows` of the E elements are the same in every set. `inner` is S x E, and `lines` is S x L. No element occurs
    twice in a set.
    """

    sets: np.ndarray
    rows: np.ndarray
    inner: np.ndarray
    lines: np.ndarray

    @classmethod
    def nothing(cls) -> Alteration:
        """Return an alteration that changes nothing."""
        return cls(_NONE, _NONE, _NONE.reshape(0, 0), _NONE.reshape(0, 0))

    def find(self, index: int) -> Altered:
        """Return what is altered in the set `index`."""
        (found,) = np.nonzero(self.sets == index)
        return Altered(self.rows, self.inner[found[0]], self.lines[found[0]]) if len(found) else UNALTERED


def count_altered_sets(layout: SetLayout) -> int:
    """Return the number of sets that can have altered lines, at least 1."""
    return max(1, _MOST_ELEMENTS // (_LINES * (layout.rows + layout.columns)))


def draw_elements(rng: np.random.Generator, layout: SetLayout, sets: np.ndarray, rows: np.ndarray) -> Alteration:
    """Draw four elements of each set's first input, in some of these rows. This is cheap enough between windows."""
    chosen = rng.choice(rows, min(_FEW, len(rows)), replace=False)
    inner = rng.integers(layout.inner, size=(len(sets), len(chosen)))
    return Alteration(sets, chosen, inner, np.zeros((len(sets), 0), np.int64))


def draw_lines(
    rng: np.random.Generator, layout: SetLayout, sets: np.ndarray, shared: bool, turn: int = 0
) -> Alteration:
    """Draw up to 16 columns of the first input and as many rows of the second for each set, so that every tile changes.

    A drawn column never meets a drawn row, because their product would not change. At most half of all columns and rows
    are drawn, because otherwise all draws would be similar. The number of columns varies from turn to turn, so that
    operands of ones do not give the same result. Sets that share the second input (`shared`) get the same rows.
    """
    most = max(1, min(_LINES, layout.inner // 4))
    columns, lines = most - turn % most, min(most, (layout.inner - most) // 2)
    orders = [rng.permutation(layout.inner)[: columns + lines] for _ in range(1 if shared else len(sets))]
    drawn = np.stack(orders * len(sets) if shared else orders)
    rows = np.tile(np.arange(layout.rows), columns)
    return Alteration(sets, rows, np.repeat(drawn[:, :columns], layout.rows, axis=1), drawn[:, columns:])
