"""Verification on real data: rounding in any order passes, a lower precision or a lost product does not."""

import numpy as np
import pytest

from gemmbench.bench.operands.fill import make_operands, round_factor
from gemmbench.bench.verify import reference as verify
from gemmbench.bench.verify.reference import Reference
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.problems import Problem


def real(problem, alpha=1.0, beta=0.0):
    return Reference(problem, make_operands(problem, "uniform", 2), alpha, beta)


def summed(data, order, width=1):
    """A B in float32, adding slabs of k in this order, one after another."""
    total = np.zeros((data.A.shape[0], data.B.shape[1]), np.float32)
    for k in order:
        total += data.A[:, k : k + width] @ data.B[k : k + width]
    return total


@pytest.mark.parametrize("depth", [64, 512, 4096])
@pytest.mark.parametrize("order", ["forward", "backward", "slabs of 16", "even then odd", "numpy"])
def test_correct_float32_passes_in_any_order_of_summation(depth, order):
    reference = real(Problem(24, 20, depth))
    data, every = reference.operands, range(depth)
    result = {
        "forward": lambda: summed(data, every),
        "backward": lambda: summed(data, reversed(every)),
        "slabs of 16": lambda: summed(data, range(0, depth, 16), 16),
        "even then odd": lambda: summed(data, [*every[::2], *every[1::2]]),
        "numpy": lambda: data.A @ data.B,
    }[order]()
    check = reference.check_rounding(result)
    assert check.ok and check.message == ""
    assert 0 < check.error < 8


def test_alpha_and_beta_belong_to_the_rounding_reference():
    reference = real(Problem(17, 19, 23), 1.5, -0.5)
    data = reference.operands
    right = np.float32(1.5) * (data.A @ data.B) + np.float32(-0.5) * data.C
    assert reference.check_rounding(right).ok
    for wrong in (right + np.float32(0.5) * data.C, data.A @ data.B, right / np.float32(1.5)):
        assert not reference.check_rounding(wrong).ok


def test_the_error_is_in_units_of_the_roundoff_times_the_magnitudes():
    reference = real(Problem(1, 1, 2))
    a, b = reference.operands.A.astype(float), reference.operands.B.astype(float)
    unit = 2.0**-24 * (np.abs(a) @ np.abs(b))
    check = reference.check_rounding((a @ b + 100 * unit).astype(np.float32))
    assert not check.ok
    assert check.error == pytest.approx(100, abs=2)


@pytest.mark.parametrize("depth", [64, 256, 2048])
def test_tf32_under_an_f32_label_is_a_lower_precision_inside(depth):
    reference = real(Problem(64, 64, depth))
    factors = (round_factor(values, PRECISIONS["tf32"]) for values in (reference.operands.A, reference.operands.B))
    a, b = factors
    check = reference.check_rounding(a @ b)
    assert not check.ok and check.error > 100
    assert "as if A and B were rounded to tf32: computed in a lower precision" in check.message
    assert check.message.endswith(f"{check.error:.0f} units of rounding, 16 are allowed")


def test_half_precision_under_an_f32_label_fails():
    reference = real(Problem(64, 64, 256))
    a, b = (values.astype(np.float16).astype(np.float32) for values in (reference.operands.A, reference.operands.B))
    assert not reference.check_rounding(a @ b).ok
    assert not reference.check_rounding((reference.operands.A @ reference.operands.B).astype(np.float16)).ok


def test_a_tf32_problem_accepts_products_of_rounded_factors():
    reference = real(Problem(64, 64, 512, precision_name="tf32"))
    assert reference.check_rounding(reference.operands.A @ reference.operands.B).ok


@pytest.mark.parametrize("depth", [16, 1024])
def test_one_lost_product_of_one_element_is_beyond_rounding(depth):
    reference = real(Problem(9, 9, depth))
    data = reference.operands
    wrong = data.A @ data.B
    wrong[4, 5] -= data.A[4, 7] * data.B[7, 5]
    check = reference.check_rounding(wrong)
    assert not check.ok and "first C[4][5]" in check.message


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_has_no_finite_error(value):
    reference = real(Problem(9, 9, 16))
    wrong = reference.operands.A @ reference.operands.B
    wrong[2, 3] = value
    check = reference.check_rounding(wrong)
    assert not check.ok and check.error == np.inf


def test_zeros_must_come_out_as_zeros():
    problem = Problem(3, 3, 3)
    reference = Reference(problem, make_operands(problem, "zeros", 0), 1.0, 0.0)
    assert reference.check_rounding(np.zeros((3, 3), np.float32)).ok
    assert not reference.check_rounding(np.full((3, 3), 1e-30, np.float32)).ok


def test_of_a_large_problem_128_rows_are_compared_with_the_edges_among_them(monkeypatch):
    monkeypatch.setattr(verify, "_FULL_CHECK_LIMIT", 0)
    reference = real(Problem(1000, 3, 2))
    rows = reference.rows.tolist()
    assert len(rows) == len(set(rows)) == 128 and rows == sorted(rows)
    assert {0, 7, 8, 15, 16, 127, 128, 255, 256, 959, 960, 999} <= set(rows)
    right = reference.operands.A @ reference.operands.B
    assert reference.check_rounding(right).ok
    right[999, 1] += 1
    assert "first C[999][1]" in reference.check_rounding(right).message


def test_few_rows_are_all_compared(monkeypatch):
    monkeypatch.setattr(verify, "_FULL_CHECK_LIMIT", 0)
    assert real(Problem(100, 3, 2)).rows.tolist() == list(range(100))
