"""The problems of a sweep as a grid, each made when it is asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.problems.sizes import Shape


@dataclass(frozen=True)
class ProblemGrid(Sequence[Problem]):
    """Every combination of precision, layout and shape, with one alpha and beta; shapes change fastest."""

    precisions: tuple[str, ...]
    layouts: tuple[str, ...]
    shapes: tuple[Shape, ...]
    alpha: float = 1.0
    beta: float = 0.0

    def __len__(self) -> int:
        return len(self.precisions) * len(self.layouts) * len(self.shapes)

    def __iter__(self) -> Iterator[Problem]:
        return itertools.starmap(self._make, itertools.product(self.precisions, self.layouts, self.shapes))

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Problem, ...]: ...
    def __getitem__(self, index: int | slice) -> Problem | tuple[Problem, ...]:
        if isinstance(index, slice):
            return tuple(self[number] for number in range(len(self))[index])
        rest, shape = divmod(range(len(self))[index], len(self.shapes))
        precision, layout = divmod(rest, len(self.layouts))
        return self._make(self.precisions[precision], self.layouts[layout], self.shapes[shape])

    def _make(self, precision: str, layout: str, shape: Shape) -> Problem:
        return Problem(*shape, layout, precision, self.alpha, self.beta)
