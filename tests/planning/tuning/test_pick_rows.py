"""Which configuration serves a row of `pick`."""

import math

from gemmbench.planning.problems import Problem
from gemmbench.planning.search_space import choose_candidate, choose_held_out

ONE, TWO = Problem(8, 8, 8), Problem(16, 16, 16)
FAST, EVEN, RARE = ("a", (("T", 1),)), ("a", (("T", 2),)), ("b", ())
SCORES = {ONE: {FAST: 0.0, EVEN: math.log(1.1), RARE: -1.0}, TWO: {FAST: math.log(2), EVEN: math.log(1.1)}}


def test_the_highest_geometric_mean_wins_among_those_that_ran_everywhere():
    assert choose_candidate([ONE, TWO], SCORES, lambda name: True) == EVEN
    assert choose_candidate([ONE], SCORES, lambda name: True) == RARE
    assert choose_candidate([ONE], SCORES, lambda name: name == "a") == FAST


def test_there_may_be_none():
    assert choose_candidate([], SCORES, lambda name: True) is None
    assert choose_candidate([TWO], SCORES, lambda name: name == "b") is None


def test_a_share_of_each_row_is_held_out_but_never_all():
    problems = [Problem(size, 8, 8) for size in range(1, 21)]
    held = choose_held_out({0: problems[:10], 1: problems[10:19], 2: problems[19:]}, 0.3, 1)
    assert [sum(each in held for each in part) for part in (problems[:10], problems[10:19], problems[19:])] == [3, 3, 0]
    assert choose_held_out({0: problems}, 0.3, 1) == choose_held_out({0: problems}, 0.3, 1)
    assert choose_held_out({0: problems}, 0.0, 1) == set() and len(choose_held_out({0: problems[:2]}, 0.9, 1)) == 1
