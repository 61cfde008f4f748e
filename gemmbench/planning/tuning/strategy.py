"""The strategies by name, and what each of them does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.tuning.budget import Budget
from gemmbench.planning.tuning.exhaustive import ExhaustiveSearch
from gemmbench.planning.tuning.model import ModelSearch
from gemmbench.planning.tuning.random_order import RandomSearch
from gemmbench.planning.tuning.space import Configuration, SearchSpace


class Strategy(Protocol):
    """Chooses what to try next.

    `ask` returns an untried configuration, or None if all were asked for or told. `tell` takes the seconds
    of a configuration, asked for or not; None for one that failed. If it `learns`, what it asks for
    depends on what it was told.
    """

    learns: bool

    def ask(self) -> Configuration | None: ...

    def tell(self, configuration: Configuration, seconds: float | None) -> None: ...


STRATEGIES: dict[str, Callable[[SearchSpace, int], Strategy]] = {
    "exhaustive": ExhaustiveSearch,
    "random": RandomSearch,
    "model": ModelSearch,
}


def choose_strategy(name: str | None, budget: Budget) -> str:
    """The strategy of this name; without one `random` if there is a budget, which may end before all were tried."""
    return name or ("exhaustive" if budget == Budget() else "random")


def make_strategy(name: str, space: SearchSpace, seed: int) -> Strategy:
    """Raises UsageError for an unknown name, or if a strategy's library is missing."""
    if name not in STRATEGIES:
        raise UsageError(f"unknown strategy '{name}'{nearest(name, STRATEGIES)}; choose {', '.join(STRATEGIES)}")
    return STRATEGIES[name](space, seed)
