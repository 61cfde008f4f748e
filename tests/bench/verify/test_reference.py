"""What a GEMM's result must be: exactly on integers, within rounding on real data."""

import itertools

import numpy as np
import pytest

from gemmbench.bench.operands import operand_values
from gemmbench.bench.operands.alterations import UNALTERED, draw_elements, draw_lines
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.bench.operands.operand_values import make_operands, round_factor
from gemmbench.bench.verify import reference as verify
from gemmbench.bench.verify.reference import Reference, make_reference
from gemmbench.planning.manifests.variant import Exactness
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.problems import LAYOUTS, Problem

SMALL = Problem(5, 7, 6)


@pytest.fixture(params=["element by element", "Freivalds"])
def way(request):
    """Both ways of checking; the second is for large problems."""
    if request.param == "Freivalds":
        request.getfixturevalue("large")


@pytest.fixture
def large(monkeypatch):
    """Small problems are called large: by Freivalds, and in 128 rows."""
    monkeypatch.setattr(verify, "_FULL_CHECK_LIMIT", 0)


def exact(problem=SMALL, alpha=2.0, beta=0.0, seed=1):
    """A reference on integers, and the right result."""
    data = make_operands(problem, "ints", seed)
    a = data["A"].T if problem.trans_a else data["A"]
    b = data["B"].T if problem.trans_b else data["B"]
    right = (alpha * (a.astype(int) @ b.astype(int)) + beta * data["C"]).astype(np.float32)
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


@pytest.mark.parametrize(
    ("place", "value"), [*((np.s_[3, 2], value) for value in (np.nan, np.inf, -np.inf, 0.0)), (np.s_[:], np.nan)]
)
def test_a_nan_an_infinity_and_a_zero_are_wrong(way, place, value):
    reference, right = exact()
    assert right[3, 2] != value
    right[place] = value
    assert not reference.check_exact(right).ok


def test_a_result_that_is_all_nan_was_never_written_and_one_row_is_not_called_all_of_c(way):
    reference, right = exact()
    message = reference.check_exact(np.full_like(right, np.nan)).message
    assert "35 of 35 elements wrong, first C[0][0] = nan, should be " in message
    assert message.endswith(": C was never written, or C was read although beta is 0")
    right[3] = np.nan
    check = reference.check_exact(right)
    assert not check.ok and "C[3][0]" in check.message
    assert "C was never written" not in check.message


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (np.s_[:, 32:], 0, "the last column, 32, holds 0: look at the guard on N"),
        (np.s_[32:], 0, "the last row, 32, holds 0: look at the guard on M"),
        (np.s_[:, 32:], np.nan, "the last column, 32, was never written"),
    ],
)
def test_lost_columns_and_rows_point_at_their_guard(place, value, words):
    reference, right = exact(Problem(33, 33, 8))
    right[place] = value
    assert words in reference.check_exact(right).message


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


def test_freivalds_counts_the_wrong_rows(large):
    reference, right = exact()
    right[[1, 3]] += 1
    assert reference.check_exact(right).message.startswith("2 of 5 rows wrong; 14 of 14 elements wrong, first C[1][0]")


def test_large_products_are_converted_a_slab_at_a_time(large, monkeypatch):
    monkeypatch.setattr(verify, "_CHUNK", 10)
    reference, right = exact(Problem(31, 61, 97))
    assert reference.check_exact(right).ok
    right[30, 60] += 1
    assert not reference.check_exact(right).ok


def test_what_is_expected_is_computed_once_for_the_batches_of_a_problem_unless_it_is_large(monkeypatch):
    first, right = exact(seed=3)
    kept = make_reference(SMALL, "ints", 3, 2.0, 0.0)
    assert kept.check_exact(right).ok and np.array_equal(kept.expected, first.expected)
    assert make_reference(SMALL, "ints", 3, 2.0, 0.0) is kept
    assert make_reference(SMALL, "ints", 3, 2.0, 1.0) is not kept
    assert not operand_values.is_cached(Problem(1, 1 << 26, 1))
    monkeypatch.setattr(operand_values, "_CACHED_BYTES", 1)
    assert make_reference(SMALL, "ints", 3, 2.0, 0.0) is not kept


def real(problem, alpha=1.0, beta=0.0):
    return Reference(problem, make_operands(problem, "uniform", 2), alpha, beta)


def summed(data, order, width=1):
    """A B in float32, adding slabs of k in this order, one after another."""
    total = np.zeros((data["A"].shape[0], data["B"].shape[1]), np.float32)
    for k in order:
        total += data["A"][:, k : k + width] @ data["B"][k : k + width]
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
        "numpy": lambda: data["A"] @ data["B"],
    }[order]()
    check = reference.check_rounding(result)
    assert check.ok and check.message == ""
    assert 0 < check.error < 8


def test_alpha_and_beta_belong_to_the_rounding_reference():
    reference = real(Problem(17, 19, 23), 1.5, -0.5)
    data = reference.operands
    right = np.float32(1.5) * (data["A"] @ data["B"]) + np.float32(-0.5) * data["C"]
    assert reference.check_rounding(right).ok
    for wrong in (right + np.float32(0.5) * data["C"], data["A"] @ data["B"], right / np.float32(1.5)):
        assert not reference.check_rounding(wrong).ok


def test_the_error_is_in_units_of_the_roundoff_times_the_magnitudes():
    reference = real(Problem(1, 1, 2))
    a, b = reference.operands["A"].astype(float), reference.operands["B"].astype(float)
    unit = 2.0**-24 * (np.abs(a) @ np.abs(b))
    check = reference.check_rounding((a @ b + 100 * unit).astype(np.float32))
    assert not check.ok
    assert check.error == pytest.approx(100, abs=2)


@pytest.mark.parametrize("depth", [64, 256, 2048])
def test_tf32_under_an_f32_label_is_a_lower_precision_inside(depth):
    reference = real(Problem(64, 64, depth))
    a, b = (round_factor(values, PRECISIONS["tf32"]) for values in (reference.operands["A"], reference.operands["B"]))
    check = reference.check_rounding(a @ b)
    assert not check.ok and check.error > 100
    assert "as if A and B were rounded to tf32: computed in a lower precision" in check.message
    assert check.message.endswith(f"{check.error:.0f} units of rounding, 16 are allowed")


def test_a_tf32_problem_accepts_products_of_rounded_factors():
    reference = real(Problem(64, 64, 512, precision_name="tf32"))
    assert reference.check_rounding(reference.operands["A"] @ reference.operands["B"]).ok


@pytest.mark.parametrize("depth", [16, 1024])
def test_one_lost_product_of_one_element_is_beyond_rounding(depth):
    reference = real(Problem(9, 9, depth))
    data = reference.operands
    wrong = data["A"] @ data["B"]
    wrong[4, 5] -= data["A"][4, 7] * data["B"][7, 5]
    check = reference.check_rounding(wrong)
    assert not check.ok and "first C[4][5]" in check.message


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_has_no_finite_error(value):
    reference = real(Problem(9, 9, 16))
    wrong = reference.operands["A"] @ reference.operands["B"]
    wrong[2, 3] = value
    check = reference.check_rounding(wrong)
    assert not check.ok and check.error == np.inf


def test_a_result_below_the_smallest_normal_f16_is_right_to_a_step_and_no_farther():
    problem = Problem(40, 48, 1, precision_name="f16")
    data = make_operands(problem, "uniform", 3)
    data["A"] = (data["A"] * np.float32(2.0**-14)).astype(data["A"].dtype)
    reference = Reference(problem, data, 1.0, 0.0)
    right = (data["A"].astype(np.float64) @ data["B"].astype(np.float64)).astype(np.float16)
    assert (np.abs(right[right != 0]) < 2.0**-14).all()
    assert reference.check_rounding(right).ok
    right[3, 5] += np.float16(2.0**-23)
    assert not reference.check_rounding(right).ok


def test_zeros_must_come_out_as_zeros():
    problem = Problem(3, 3, 3)
    reference = Reference(problem, make_operands(problem, "zeros", 0), 1.0, 0.0)
    assert reference.check_rounding(np.zeros((3, 3), np.float32)).ok
    assert not reference.check_rounding(np.full((3, 3), 1e-30, np.float32)).ok


def test_of_a_large_problem_128_rows_are_compared_with_the_edges_among_them_and_of_few_rows_all(large):
    reference = real(Problem(1000, 3, 2))
    rows = reference.rows.tolist()
    assert len(rows) == len(set(rows)) == 128 and rows == sorted(rows)
    assert {0, 7, 8, 15, 16, 127, 128, 255, 256, 959, 960, 999} <= set(rows)
    right = reference.operands["A"] @ reference.operands["B"]
    assert reference.check_rounding(right).ok
    right[999, 1] += 1
    assert "first C[999][1]" in reference.check_rounding(right).message
    assert real(Problem(100, 3, 2)).rows.tolist() == list(range(100))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("draw", [draw_elements, draw_lines])
def test_the_rows_of_altered_operands_are_known_without_another_product(large, layout, draw):
    problem, rng = Problem(200, 40, 60, layout), np.random.default_rng(0)
    reference = make_reference(problem, "uniform", 0, 1.5, 0.0)
    rows = reference.rows
    altered = draw(rng, GemmLayout(problem), np.array([7]), rows if draw is draw_elements else False).find(7)
    a, b = (each[0].astype(np.float64) for each in (reference._a, reference._b))
    a[altered.rows, altered.inner] *= -1
    b[altered.lines] *= -1
    places = np.union1d(np.searchsorted(rows, altered.rows[:4]), [0, 1, 90])
    result = (-2 * 1.5 * a @ b)[rows[places]].astype(np.float32)
    check = reference.alter(places, altered).check_rows(result, -2.0)
    assert check.ok and check.error < 4
    assert not reference.alter(places, UNALTERED).check_rows(result, -2.0).ok
    result[-1, -1] += 1e-3
    assert not reference.alter(places, altered).check_rows(result, -2.0).ok


@pytest.mark.parametrize("bits", [14, 9])
def test_an_activation_may_be_off_by_what_is_declared(bits):
    reference, sums = exact(Problem(31, 61, 97, epilogue=("silu",)))
    sums = sums.astype(np.float64)
    right = sums / (1 + np.exp(-np.clip(sums, -700, 700)))
    result = (right - 2.0**-10 * np.abs(sums)).astype(np.float32)
    declared = Exactness(approx=2.0**-bits)
    assert reference.is_exactly_right(right.astype(np.float32)) and not reference.is_exactly_right(result)
    assert reference.is_exactly_right(result, declared) == reference.check_exact(result, declared).ok == (bits == 9)
