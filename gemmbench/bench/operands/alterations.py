"""Alterations: elements of the inputs whose sign changes, so that no launch has seen the same numbers before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gemmbench.bench.operands.layouts import SetLayout

_FEW = 4
_LINES = 16
_MOST_ELEMENTS = 1 << 17
"""The most elements of altered lines in all sets together; altering them takes a few milliseconds."""


@dataclass(frozen=True)
class Altered:
    """What has the other sign in one operand set.

    Elements (`rows`, `inner`) of the first input, and `lines` of the second: rows of the factor.
    """

    rows: np.ndarray
    inner: np.ndarray
    lines: np.ndarray


_NONE = np.zeros(0, np.int64)
UNALTERED = Altered(_NONE, _NONE, _NONE)


@dataclass(frozen=True)
class Alteration:
    """What has the other sign in S sets: E elements of the first input and L rows of the second one.

    The `rows` of the elements (E) are those of every set; `inner` is S x E, and `lines` S x L. No
    element occurs twice in a set.
    """

    sets: np.ndarray
    rows: np.ndarray
    inner: np.ndarray
    lines: np.ndarray

    @classmethod
    def nothing(cls) -> Alteration:
        """No element of any set."""
        return cls(_NONE, _NONE, _NONE.reshape(0, 0), _NONE.reshape(0, 0))

    def find(self, index: int) -> Altered:
        """What is altered in this set."""
        (found,) = np.nonzero(self.sets == index)
        return Altered(self.rows, self.inner[found[0]], self.lines[found[0]]) if len(found) else UNALTERED


def count_altered_sets(layout: SetLayout) -> int:
    """How many sets, at least one, can have altered lines."""
    return max(1, _MOST_ELEMENTS // (_LINES * (layout.rows + layout.columns)))


def draw_elements(rng: np.random.Generator, layout: SetLayout, sets: np.ndarray, rows: np.ndarray) -> Alteration:
    """Four elements of the first input of each set, in rows that are drawn from these: cheap between two windows."""
    chosen = rng.choice(rows, min(_FEW, len(rows)), replace=False)
    inner = rng.integers(layout.inner, size=(len(sets), len(chosen)))
    return Alteration(sets, chosen, inner, np.zeros((len(sets), 0), np.int64))


def draw_lines(
    rng: np.random.Generator, layout: SetLayout, sets: np.ndarray, shared: bool, turn: int = 0
) -> Alteration:
    """Up to 16 columns of the first input, and as many rows of the second, of each set: something of every tile.

    None of these columns meets one of these rows, or the product of the two would be as it was; and at
    most half of all are drawn, or all draws would be alike. From turn to turn there are more or fewer
    columns, so that operands of ones do not have the same result. Sets that have the second input in
    common (`shared`) get the same.
    """
    most = max(1, min(_LINES, layout.inner // 4))
    columns, lines = most - turn % most, min(most, (layout.inner - most) // 2)
    orders = [rng.permutation(layout.inner)[: columns + lines] for _ in range(1 if shared else len(sets))]
    drawn = np.stack(orders * len(sets) if shared else orders)
    rows = np.tile(np.arange(layout.rows), columns)
    return Alteration(sets, rows, np.repeat(drawn[:, :columns], layout.rows, axis=1), drawn[:, columns:])
