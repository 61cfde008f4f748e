"""Strategies that ask for allowed configurations, each once; budgets; which one serves a row of `pick`."""

from __future__ import annotations

import importlib
import itertools
import math
import time

import pytest

from gemmbench.errors import UsageError
from gemmbench.planning import search_space
from gemmbench.planning.problems import Problem
from gemmbench.planning.search_space import (
    STRATEGIES,
    Budget,
    SearchSpace,
    choose_candidate,
    choose_held_out,
    choose_strategy,
    find_nearest,
    make_strategy,
    parse_budget,
)


def test_a_budget_is_a_time_or_a_number_of_configurations():
    times = {"90s": 90, "5m": 300, "1.5h": 5400}
    assert [parse_budget(text) for text in times] == [Budget(seconds=each) for each in times.values()]
    assert (parse_budget(None), parse_budget("200")) == (Budget(), Budget(configurations=200))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("soon", "cannot parse --budget 'soon'; write a time such as 90s, 5m or 1h, or a number such as 200"),
        ("1.5", "cannot parse --budget"),
        ("1", "--budget 1: a search compares at least 2 configurations; give at least that many"),
        ("0.1s", "--budget 0.1s: too short for one round of windows; give at least 1s"),
        ("9" * 30, "a number of 30 digits is too long"),
    ],
)
def test_a_budget_that_is_unclear_or_too_small_is_refused(text, message):
    with pytest.raises(UsageError) as fault:
        parse_budget(text)
    assert message in str(fault.value)


def test_searches_share_the_time_and_each_has_its_own_number_of_configurations():
    assert 19 < Budget(seconds=60).share(3) <= 20 and Budget().share(3) == math.inf
    assert Budget(configurations=20).count(105) == 20 and Budget(configurations=200).count(105) == 105


ONE, TWO = Problem(8, 8, 8), Problem(16, 16, 16)
FAST, EVEN, RARE = ("a", (("T", 1),)), ("a", (("T", 2),)), ("b", ())
SCORES = {ONE: {FAST: 0.0, EVEN: math.log(1.1), RARE: -1.0}, TWO: {FAST: math.log(2), EVEN: math.log(1.1)}}


def test_the_highest_geometric_mean_wins_among_those_that_ran_everywhere():
    assert choose_candidate([ONE, TWO], SCORES, lambda name: True) == EVEN
    assert choose_candidate([ONE], SCORES, lambda name: True) == RARE
    assert choose_candidate([ONE], SCORES, lambda name: name == "a") == FAST
    assert choose_candidate([], SCORES, lambda name: True) is None
    assert choose_candidate([TWO], SCORES, lambda name: name == "b") is None


def test_a_share_of_each_row_is_held_out_but_never_all():
    problems = [Problem(size, 8, 8) for size in range(1, 21)]
    held = choose_held_out({0: problems[:10], 1: problems[10:19], 2: problems[19:]}, 0.3, 1)
    assert [sum(each in held for each in part) for part in (problems[:10], problems[10:19], problems[19:])] == [3, 3, 0]
    assert choose_held_out({0: problems}, 0.3, 1) == choose_held_out({0: problems}, 0.3, 1)
    assert choose_held_out({0: problems}, 0.0, 1) == set() and len(choose_held_out({0: problems[:2]}, 0.9, 1)) == 1


ALLOWED = [{"BM": m, "BN": n, "K": 8} for m, n in itertools.product((16, 32, 64, 128, 256), repeat=2) if m * n > 600]
SPACE = SearchSpace(tuple(ALLOWED))


def ask_all(strategy, count=100, seconds=lambda configuration: 1.0):
    asked = []
    while len(asked) < count and (configuration := strategy.ask()) is not None:
        strategy.tell(configuration, seconds(configuration))
        asked.append(configuration)
    return asked


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_allowed_configuration_is_asked_for_once_in_an_order_of_the_seed(name):
    first, again, other = (ask_all(make_strategy(name, SPACE, seed)) for seed in (3, 3, 4))
    assert sorted(map(str, first)) == sorted(map(str, ALLOWED))
    assert first == again and (first != other or name == "exhaustive")


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

    assert all(best_of_fifty("model", seed) < best_of_fifty("random", seed) for seed in (0, 1))


def test_the_nearest_place_differs_on_the_fewest_axes():
    assert find_nearest((0, 0), [(1, 1), (0, 3), (0, 2)]) == (0, 2)


def test_a_budget_asks_for_a_random_order_unless_a_strategy_is_named():
    assert choose_strategy(None, Budget()) == "exhaustive"
    assert choose_strategy(None, Budget(configurations=10)) == choose_strategy(None, Budget(seconds=60.0)) == "random"
    assert choose_strategy("model", Budget(configurations=10)) == "model"


def test_an_unknown_strategy_and_a_space_without_configurations_are_refused():
    with pytest.raises(UsageError, match=r"unknown strategy 'randon' \(did you mean 'random'\?\); choose exhaustive"):
        make_strategy("randon", SPACE, 0)
    with pytest.raises(UsageError, match="no configuration to search"):
        SearchSpace(())


def test_without_optuna_the_model_says_what_to_install(monkeypatch):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(UsageError, match="pip install optuna"):
        search_space.ModelSearch(SPACE, 0)


def test_planning_takes_its_time_from_the_budget():
    now = time.monotonic()
    assert 15 < Budget(seconds=60, started=now - 20).share(2) <= 20
    assert Budget(seconds=60, started=now - 100).share(2) == 0
