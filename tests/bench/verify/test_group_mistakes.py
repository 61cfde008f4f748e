"""Wrong groups: what is said of them, also of many rows, where only some are compared."""

import numpy as np
import pytest

from gemmbench.bench.operands.products import view_factor
from gemmbench.bench.verify import reference
from gemmbench.bench.verify.reference import make_reference
from gemmbench.planning.problems import Problem

SMALL = Problem(60, 24, 40, "nt", alpha=1.5, groups=(20, 0, 16, 24))
LARGE = Problem(3000, 24, 40, groups=(900, 1100, 0, 1000))


def compute(found, experts=None, first=None, rows=slice(None)):
    """The sums of all rows; group g has the B of group experts[g], and its rows of A begin at first[g]."""
    problem = found.problem
    a, b = found.operands["A"].astype(np.float64), view_factor(problem, found.operands, "B").all.astype(np.float64)
    experts, first = experts or range(len(problem.groups)), first or problem.offsets
    parts = [a[first[group] : first[group] + height] @ b[experts[group]] for group, height in enumerate(problem.groups)]
    return (found.alpha * np.concatenate(parts)).astype(np.float32)


@pytest.fixture(params=[SMALL, LARGE], ids=["small", "large"])
def found(request, monkeypatch):
    """The reference of groups on integers; of the large one only some rows are compared."""
    monkeypatch.setattr(reference, "_FULL_CHECK_LIMIT", 100_000)
    made = make_reference(request.param, "ints", 1, request.param.alpha, 0.0)
    assert made.compares_all == (request.param is SMALL)
    return made


def test_right_groups_are_right_and_one_wrong_element_is_found(found):
    right = compute(found)
    assert found.check_exact(right).ok and found.is_exactly_right(right)
    for group in (0, 3):
        wrong = right.copy()
        wrong[found.problem.offsets[group] + 7, 5] += 1
        check = found.check_exact(wrong)
        assert not check.ok and not found.is_exactly_right(wrong)
        assert check.message.startswith(f"1 of 4 groups wrong; group {group}: ")


def test_the_b_of_another_group_is_named(found):
    check = found.check_exact(compute(found, experts=[0, 1, 2, 1]))
    assert check.diagnosis.cause == "B of other group"
    assert "rows of group 3 were multiplied with the B of group 1" in check.message


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([3, 4, 5], "groups 3, 4 and 5 were multiplied with the B of group 1:"),
        ([0, 3, 4, 5], "every group was multiplied with the B of group 1:"),
    ],
)
def test_groups_with_the_same_wrong_b_are_listed(wrong, words):
    made = make_reference(Problem(60, 24, 40, groups=(9, 10, 0, 11, 14, 16)), "ints", 1, 1.0, 0.0)
    check = made.check_exact(compute(made, experts=[1 if each in wrong else each for each in range(6)]))
    assert check.diagnosis.cause == "B of other group" and words in check.message


def test_a_tile_that_runs_over_a_whole_group_into_the_one_after_it_is_named():
    made = make_reference(Problem(54, 24, 40, groups=(20, 0, 1, 33)), "ints", 1, 1.0, 0.0)
    wrong = compute(made)
    wrong[20:32] = compute(made, experts=[0] * 4)[20:32]
    check = made.check_exact(wrong)
    assert check.diagnosis.cause == "rows of other group"
    assert "as if each group wrote up to 12 rows too many, over the first rows of the next ones" in check.message
    wrong[53] = compute(made, experts=[0] * 4)[53]
    assert made.check_exact(wrong).diagnosis.cause != "rows of other group"


EQUAL = Problem(20, 20, 30, groups=(5, 5, 5, 5))


def compute_rows(made, experts):
    """The sums of all rows, each with the B of a group."""
    a, b = made.operands["A"].astype(np.float64), view_factor(made.problem, made.operands, "B").all.astype(np.float64)
    return (made.alpha * np.einsum("mk,mkn->mn", a, b[experts])).astype(np.float32)


@pytest.mark.parametrize(
    ("experts", "is_overrun"),
    [
        ([0] * 16 + [1] * 4, True),  # the tiles of 16 rows of the first groups are the last to be written
        ([0] * 5 + [1] * 15, True),
        ([0] * 10 + [2] * 5 + [2] * 5, True),
        ([0] * 5 + [0] * 5 + [1] * 5 + [2] * 5, False),  # a tile cannot be both before and after another
        ([0] * 5 + [1] * 5 + [2] * 5 + [1] * 2 + [3] * 3, False),
        ([1] * 5 + [1] * 15, False),
    ],
)
def test_tiles_over_whole_groups_are_offered_if_an_order_of_them_explains_all_rows(experts, is_overrun):
    made = make_reference(EQUAL, "ints", 1, 1.0, 0.0)
    message = made.check_exact(compute_rows(made, experts)).message
    assert "multiplied with the B of group" in message or "of the group before it" in message
    assert ("or as if each group wrote up to" in message) == is_overrun, message


@pytest.mark.parametrize(
    ("groups", "experts", "words"),
    [
        ((0, 5, 7), [0, 0, 2], ""),
        ((5, 0, 7, 0, 9), [0, 1, 1, 3, 2], "as if empty groups had no B"),
        ((5, 0, 7), [0, 1, 1], "; empty groups have a B too"),
        ((5, 0, 0, 7), [0, 1, 2, 1], "as if empty groups had no B"),
        ((4, 5, 7), [2, 1, 2], ""),
        ((4, 5, 7), [2, 1, 0], "in reverse order"),
        ((4, 5, 7, 6), [0, 0, 2, 2], ""),
        ((4, 5, 7, 6), [0, 0, 1, 2], "rows of each group were multiplied with the B of the group before it"),
    ],
)
def test_a_rule_is_only_said_if_it_explains_all_groups(groups, experts, words):
    made = make_reference(Problem(sum(groups), 20, 30, groups=groups), "ints", 1, 1.0, 0.0)
    message = made.check_exact(compute(made, experts=experts)).message
    rules = "empty groups", "reverse", "each group were"
    assert words in message and any(each in message for each in rules) == bool(words), message


@pytest.mark.parametrize("fill", ["ints", "uniform"])
@pytest.mark.parametrize(("N", "K", "name"), [(20, 30, "K * K"), (40, 24, "N * N"), (20, 30, "K")])
def test_another_stride_of_b_is_named(fill, N, K, name):
    made = make_reference(Problem(20, N, K, groups=(5, 5, 0, 10), alpha=1.5), fill, 1, 1.5, 0.0)
    stride = {"K * K": K * K, "N * N": N * N, "K": K}[name]
    at = np.minimum(np.arange(4)[:, None] * stride + np.arange(K * N), 4 * K * N)
    moved = np.append(made.operands["B"].astype(np.float64).reshape(-1), np.nan)[at].reshape(4, K, N)
    group = np.repeat(range(4), made.problem.groups)
    a = made.operands["A"].astype(np.float64)
    wrong = (1.5 * np.einsum("mk,mkn->mn", a, moved[group])).astype(np.float32)
    check = made.check_exact if fill == "ints" else made.check_rounding
    assert f"as if B of a group began at group * {name}: it begins at group * K * N" in check(wrong).message
    wrong[7, 3:] += 50
    assert "began at" not in check(wrong).message


@pytest.mark.parametrize("groups", [(5, 0, 10), (5, 4, 10)])
def test_a_group_with_the_b_of_another_shows_no_stride_of_b_although_one_would_give_it(groups):
    made = make_reference(Problem(sum(groups), 64, 32, groups=groups), "ints", 1, 1.0, 0.0)
    check = made.check_exact(compute(made, experts=[0, 1, 1]))  # where group * K * K would begin too
    assert check.diagnosis.cause == "B of other group"
    assert "rows of group 2 were multiplied with the B of group 1" in check.message


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([23], "the last row of group 3 was"),
        ([5], "row 5 of group 3 was"),
        ([20, 21, 22, 23], "the last 4 rows of group 3 were"),
        ([3, 4, 5], "rows 3 to 5 of group 3 were"),
        ([3, 9, 10], "3 rows of group 3, of which row 3 is the first, were"),
        (range(24), "rows of group 3 were"),
    ],
)
def test_the_rows_that_were_multiplied_with_another_b_are_named(rows, words):
    made = make_reference(SMALL, "ints", 1, 1.5, 0.0)
    wrong, places = compute(made), SMALL.offsets[3] + np.array(rows)
    wrong[places] = compute(made, experts=[0, 1, 2, 0])[places]
    assert f": {words} multiplied with the B of group 0: " in made.check_exact(wrong).message


def test_rows_of_a_that_begin_elsewhere_are_named(found):
    first = list(found.problem.offsets)
    first[3] = first[0]
    check = found.check_exact(compute(found, first=first))
    assert check.diagnosis.cause == "A of other group"
    assert "row 0 of group 3 was computed from row 0 of group 0 of A" in check.message


def test_the_rows_of_another_group_are_named(found):
    wrong = compute(found)
    begin = found.problem.offsets[3]
    wrong[begin : begin + 16] = wrong[:16]
    check = found.check_exact(wrong)
    assert check.diagnosis.cause == "other group"
    assert "row 0 of group 3 holds row 0 of group 0" in check.message


def test_a_group_that_was_never_written_is_named(found):
    wrong = compute(found)
    wrong[found.problem.offsets[3] :] = np.nan
    check = found.check_exact(wrong)
    assert check.diagnosis.cause == "product never written" and "group 3 was never written" in check.message


def test_the_last_rows_of_groups_are_named():
    made = make_reference(SMALL, "ints", 1, SMALL.alpha, 0.0)
    wrong = compute(made)
    for end in SMALL.offsets[1:]:
        wrong[end - 2 : end] = np.nan
    check = made.check_exact(wrong)
    assert check.diagnosis.cause == "last rows of groups"
    assert "the last 2 rows of each group were never written" in check.message


@pytest.mark.parametrize("beta", [0.0, -0.5])
@pytest.mark.parametrize(
    ("left", "words", "places"),
    [
        ((16, 0, 16, 16), "in groups of more than 16 rows, those from row 16 on were never written", {"grid"}),
        ((20, 0, 13, 0), "row 13 of group 2 and all rows after it were never written", {"grid"}),
        ((20, 0, 16, 21), "the last 3 rows of group 3 were never written", {"grid"}),
        ((20, 0, 13, 24), "the last 3 rows of group 2 were never written", {"grid", "guard"}),
        ((19, 0, 15, 23), "the last row of each group was never written", {"guard"}),
        ((18, 0, 13, 24), "the last rows of groups 0 and 2 were never written", {"grid", "guard"}),
    ],
)
def test_rows_for_which_the_grid_has_no_tiles_are_not_blamed_on_a_guard(beta, left, words, places):
    made = make_reference(SMALL, "ints", 1, SMALL.alpha, beta)
    before = made.operands["C"] if beta else np.full((60, 24), np.nan, np.float32)
    wrong = made.expected.astype(np.float32)
    for first, end, rows in zip(SMALL.offsets, SMALL.offsets[1:], left, strict=False):
        wrong[first + rows : end] = before[first + rows : end]
    check = made.check_exact(wrong)
    assert words in check.message and "outside" not in check.message
    assert {each for each in ("grid", "guard") if f"at the {each}" in check.message} == places


def test_real_numbers_have_the_same_causes():
    made = make_reference(SMALL, "uniform", 1, SMALL.alpha, 0.0)
    assert made.check_rounding(compute(made)).ok
    check = made.check_rounding(compute(made, experts=[0, 1, 0, 3]))
    assert "rows of group 2 were multiplied with the B of group 0" in check.message
