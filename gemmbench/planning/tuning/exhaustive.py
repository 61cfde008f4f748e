"""Every configuration, in the order of the manifest."""

from __future__ import annotations

from gemmbench.planning.tuning.space import Configuration, SearchSpace


class ExhaustiveSearch:
    """Asks for every configuration; `seed` changes nothing."""

    learns = False

    def __init__(self, space: SearchSpace, seed: int) -> None:
        self._space = space
        self._left = dict(space.by_place)

    def ask(self) -> Configuration | None:
        """The next one that was neither asked for nor told."""
        return self._left.pop(next(iter(self._left))) if self._left else None

    def tell(self, configuration: Configuration, seconds: float | None) -> None:
        """Strike a configuration off the list."""
        self._left.pop(self._space.find_place(configuration), None)
