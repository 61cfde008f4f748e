"""The budget of a search, as it is typed."""

import math

import pytest

from gemmbench.errors import UsageError
from gemmbench.planning.search_space import Budget, parse_budget


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        (None, Budget()),
        ("90s", Budget(seconds=90)),
        ("5m", Budget(seconds=300)),
        ("1.5h", Budget(seconds=5400)),
        ("200", Budget(configurations=200)),
    ],
)
def test_a_budget_is_a_time_or_a_number_of_configurations(text, budget):
    assert parse_budget(text) == budget


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("soon", "cannot parse --budget 'soon'; write a time such as 90s, 5m or 1h, or a number such as 200"),
        ("1.5", "cannot parse --budget"),
        ("1", "--budget 1: a search compares at least 2 configurations; give more"),
        ("0.1s", "--budget 0.1s: too short for one round of windows; give at least 1s"),
        ("9" * 30, "a number of 30 digits is too long"),
    ],
)
def test_a_budget_that_is_unclear_or_too_small_is_refused(text, message):
    with pytest.raises(UsageError) as fault:
        parse_budget(text)
    assert message in str(fault.value)


def test_searches_share_the_time_and_each_has_its_own_number_of_configurations():
    assert Budget(seconds=60).share(3) == 20 and Budget().share(3) == math.inf
    assert Budget(configurations=20).count(105) == 20 and Budget(configurations=200).count(105) == 105
