"""The strategies by name, and what each of them does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.tuning.exhaustive import ExhaustiveSearch
from gemmbench.planning.tuning.model import ModelSearch
from gemmbench.planning.tuning.random_order import RandomSearch
from gemmbench.planning.tuning.space import Configuration, SearchSpace


class Strategy(Protocol):
    """Chooses what to try next.

    `ask` returns an untried configuration, or None if all were asked for or told. `tell` takes the seconds
    of a configuration, asked for or not; None for one that failed.
    """

    def ask(self) -> Configuration | None: ...

    def tell(self, configuration: Configuration, seconds: float | None) -> None: ...


STRATEGIES: dict[str, Callable[[SearchSpace, int], Strategy]] = {
    "exhaustive": ExhaustiveSearch,
    "random": RandomSearch,
    "model": ModelSearch,
}


def make_strategy(name: str, space: SearchSpace, seed: int) -> Strategy:
    """Raises UsageError for an unknown name, or if a strategy's library is missing."""
    return STRATEGIES[check_strategy(name)](space, seed)


def check_strategy(name: str) -> str:
    """Return the name of a strategy. Raises UsageError."""
    if name not in STRATEGIES:
        raise UsageError(f"unknown strategy '{name}'{nearest(name, STRATEGIES)}; choose {', '.join(STRATEGIES)}")
    return name
