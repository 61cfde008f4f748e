"""Every configuration, in a seeded order."""

from __future__ import annotations

import random

from gemmbench.planning.tuning.exhaustive import ExhaustiveSearch
from gemmbench.planning.tuning.space import SearchSpace


class RandomSearch(ExhaustiveSearch):
    """Asks for every configuration in an order that depends on the seed only."""

    def __init__(self, space: SearchSpace, seed: int) -> None:
        shuffled = random.Random(seed).sample(space.configurations, len(space.configurations))
        super().__init__(SearchSpace(tuple(shuffled)), seed)
