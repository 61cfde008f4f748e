"""Strategies ask for allowed configurations, each once, and find good ones."""

from __future__ import annotations

import importlib
import itertools

import pytest

from gemmbench.errors import UsageError
from gemmbench.planning import search_space
from gemmbench.planning.search_space import (
    STRATEGIES,
    Budget,
    SearchSpace,
    choose_strategy,
    find_nearest,
    make_strategy,
)

ALLOWED = [{"BM": m, "BN": n, "K": 8} for m, n in itertools.product((16, 32, 64, 128, 256), repeat=2) if m * n > 600]
SPACE = SearchSpace(tuple(ALLOWED))


def ask_all(strategy, count=100, seconds=lambda configuration: 1.0):
    asked = []
    while len(asked) < count and (configuration := strategy.ask()) is not None:
        strategy.tell(configuration, seconds(configuration))
        asked.append(configuration)
    return asked


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_allowed_configuration_is_asked_for_once(name):
    asked = ask_all(make_strategy(name, SPACE, 1))
    assert sorted(map(str, asked)) == sorted(map(str, ALLOWED))


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_same_seed_asks_in_the_same_order(name):
    assert ask_all(make_strategy(name, SPACE, 3)) == ask_all(make_strategy(name, SPACE, 3))


@pytest.mark.parametrize("name", ["random", "model"])
def test_another_seed_asks_in_another_order(name):
    assert ask_all(make_strategy(name, SPACE, 3)) != ask_all(make_strategy(name, SPACE, 4))


@pytest.mark.parametrize("name", STRATEGIES)
def test_earlier_results_are_not_asked_for_again(name):
    strategy = make_strategy(name, SPACE, 1)
    strategy.tell(ALLOWED[0], 1.0)
    strategy.tell(ALLOWED[1], None)
    asked = ask_all(strategy)
    assert len(asked) == len(ALLOWED) - 2 and ALLOWED[0] not in asked and ALLOWED[1] not in asked


def test_the_model_asks_near_fast_earlier_results():
    large = SearchSpace(tuple({"A": a, "B": b, "C": c} for a, b, c in itertools.product(range(8), repeat=3)))

    def seconds(configuration):
        return 1.0 + sum((value - 5) ** 2 for value in configuration.values())

    def best_of_fifty(name, seed):
        return min(map(seconds, ask_all(make_strategy(name, large, seed), 50, seconds)))

    assert sum(best_of_fifty("model", seed) for seed in range(5)) < sum(best_of_fifty("random", s) for s in range(5))


def test_the_nearest_place_differs_on_the_fewest_axes():
    assert find_nearest((0, 0), [(1, 1), (0, 3), (0, 2)]) == (0, 2)


def test_a_budget_asks_for_a_random_order_unless_a_strategy_is_named():
    assert choose_strategy(None, Budget()) == "exhaustive"
    assert choose_strategy(None, Budget(configurations=10)) == choose_strategy(None, Budget(seconds=60.0)) == "random"
    assert choose_strategy("model", Budget(configurations=10)) == "model"


def test_an_unknown_strategy_is_refused():
    with pytest.raises(UsageError, match=r"unknown strategy 'randon' \(did you mean 'random'\?\); choose exhaustive"):
        make_strategy("randon", SPACE, 0)


def test_a_space_without_configurations_is_refused():
    with pytest.raises(UsageError, match="no configuration to search"):
        SearchSpace(())


def test_without_optuna_the_model_says_what_to_install(monkeypatch):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(UsageError, match=r"pip install 'gemmbench\[tune\]'"):
        search_space.ModelSearch(SPACE, 0)
