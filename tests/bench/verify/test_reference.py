"""Verification on integers: one wrong element anywhere fails and is named."""

import itertools

import numpy as np
import pytest

from gemmbench.bench.operands.fill import make_operands
from gemmbench.bench.verify import reference as verify
from gemmbench.bench.verify.reference import Reference, make_reference
from gemmbench.planning.problems import LAYOUTS, Problem

SMALL = Problem(5, 7, 6)


@pytest.fixture(params=["element by element", "Freivalds"])
def way(request, monkeypatch):
    """Both ways of checking; the second is for large problems, so small ones are called large."""
    if request.param == "Freivalds":
        monkeypatch.setattr(verify, "_FULL_CHECK_LIMIT", 0)
    return request.param


def exact(problem=SMALL, alpha=2.0, beta=0.0, seed=1):
    """A reference on integers, and the right result."""
    data = make_operands(problem, "ints", seed)
    a = data.A.T if problem.trans_a else data.A
    b = data.B.T if problem.trans_b else data.B
    right = (alpha * (a.astype(int) @ b.astype(int)) + beta * data.C).astype(np.float32)
    return Reference(problem, data, alpha, beta), right


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("alpha", "beta"), [(2.0, 0.0), (-1.0, 3.0)])
def test_the_right_integers_pass(way, layout, alpha, beta):
    reference, right = exact(Problem(31, 61, 97, layout), alpha, beta)
    check = reference.check_exact(right)
    assert (check.ok, check.rule, check.error, check.message) == (True, "exact", 0.0, "")


def test_one_wrong_element_anywhere_fails_and_is_named(way):
    reference, right = exact()
    for i, j in itertools.product(range(5), range(7)):
        wrong = right.copy()
        wrong[i, j] += 1
        check = reference.check_exact(wrong)
        assert not check.ok
        assert f"first C[{i}][{j}] = {wrong[i, j]:.9g}, should be {right[i, j]:.9g}" in check.message


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0])
def test_a_nan_an_infinity_and_a_zero_are_wrong(way, value):
    reference, right = exact()
    wrong = right.copy()
    wrong[3, 2] = value
    assert right[3, 2] != value
    assert not reference.check_exact(wrong).ok


def test_a_result_that_is_all_nan_was_never_written():
    reference, right = exact()
    check = reference.check_exact(np.full_like(right, np.nan))
    assert not check.ok
    assert check.message.startswith("35 of 35 elements wrong, first C[0][0] = nan, should be ")
    assert check.message.endswith(": C was never written, or C was read although beta is 0")


def test_a_result_that_is_all_nan_fails_by_freivalds_too(way):
    reference, right = exact()
    assert not reference.check_exact(np.full_like(right, np.nan)).ok


def test_one_unwritten_row_is_not_called_all_of_c(way):
    reference, right = exact()
    right[3] = np.nan
    check = reference.check_exact(right)
    assert not check.ok and "C[3][0]" in check.message
    assert "C was never written" not in check.message


@pytest.mark.parametrize("k", [0, 3, 5])
def test_a_lost_k_is_seen(way, k):
    problem = Problem(40, 30, 6)
    data = make_operands(problem, "ints", 3)
    kept = [index for index in range(6) if index != k]
    assert not Reference(problem, data, 1.0, 0.0).check_exact(data.A[:, kept] @ data.B[kept]).ok


def test_lost_columns_and_rows_point_at_their_guard():
    reference, right = exact(Problem(33, 33, 8))
    columns, rows = right.copy(), right.copy()
    columns[:, 32:] = 0
    rows[32:] = 0
    assert "the last column, 32, holds 0: look at the guard on N" in reference.check_exact(columns).message
    assert "the last row, 32, holds 0: look at the guard on M" in reference.check_exact(rows).message


def test_unwritten_elements_are_distinguished_from_wrong_ones():
    reference, right = exact(Problem(33, 33, 8))
    right[:, 32:] = np.nan
    assert "the last column, 32, was never written" in reference.check_exact(right).message


def test_a_transposed_result_and_a_forgotten_scalar_are_wrong(way):
    reference, right = exact(Problem(8, 8, 8), -1.0, 3.0)
    without_alpha, without_beta = exact(Problem(8, 8, 8), 1.0, 3.0)[1], exact(Problem(8, 8, 8), -1.0, 0.0)[1]
    for wrong in (right.T, without_alpha, without_beta):
        assert not reference.check_exact(wrong).ok


def test_freivalds_is_taken_above_1024_cubed_only():
    data = make_operands(Problem(1, 1, 1), "ints", 0)
    assert Reference(Problem(1024, 1024, 1024), data, 1.0, 0.0).compares_all is True
    assert Reference(Problem(1025, 1024, 1024), data, 1.0, 0.0).compares_all is False


@pytest.mark.parametrize("M", [129, 130, 200, 256, 257, 1000])
def test_a_large_product_is_compared_on_128_different_rows_with_the_first_and_the_last(M):
    data = make_operands(Problem(1, 1, 1), "ints", 0)
    rows = Reference(Problem(M, 4096, 4096), data, 1.0, 0.0).rows.tolist()
    assert len(set(rows)) == len(rows) == 128
    assert (rows[0], rows[-1]) == (0, M - 1)


def test_freivalds_counts_the_wrong_rows(monkeypatch):
    monkeypatch.setattr(verify, "_FULL_CHECK_LIMIT", 0)
    reference, right = exact()
    right[[1, 3]] += 1
    assert reference.check_exact(right).message.startswith("2 of 5 rows wrong; 14 of 14 elements wrong, first C[1][0]")


def test_large_products_are_converted_a_slab_at_a_time(monkeypatch):
    monkeypatch.setattr(verify, "_FULL_CHECK_LIMIT", 0)
    monkeypatch.setattr(verify, "_CHUNK", 10)
    reference, right = exact(Problem(31, 61, 97))
    assert reference.check_exact(right).ok
    right[30, 60] += 1
    assert not reference.check_exact(right).ok


def test_what_is_expected_is_computed_once_for_the_batches_of_a_problem():
    first, right = exact(seed=3)
    kept = make_reference(SMALL, "ints", 3, 2.0, 0.0)
    assert kept.check_exact(right).ok and np.array_equal(kept.expected, first.expected)
    assert make_reference(SMALL, "ints", 3, 2.0, 0.0) is kept
    assert make_reference(SMALL, "ints", 3, 2.0, 1.0) is not kept


def test_what_is_expected_of_a_large_problem_is_not_kept():
    large = Problem(1, 1 << 26, 1)
    assert make_reference(large, "zeros", 0, 1.0, 0.0) is not make_reference(large, "zeros", 0, 1.0, 0.0)
