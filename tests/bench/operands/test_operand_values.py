"""The numbers in A, B and C."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gemmbench.bench.operands import operand_values as module
from gemmbench.bench.operands.operand_values import make_operands, make_scaled_operands, round_factor
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.problems import Problem

ODD = Problem(33, 17, 65)


@pytest.mark.parametrize("kind", ["uniform", "ints"])
def test_a_matrix_of_many_pieces_repeats_none_and_is_the_same_on_any_number_of_cores(monkeypatch, kind):
    monkeypatch.setattr(module, "_PIECE", 64)
    whole = make_operands(ODD, kind, 1)["A"]
    monkeypatch.setattr(module, "ThreadPoolExecutor", lambda: ThreadPoolExecutor(1))
    assert (whole == make_operands(ODD, kind, 1)["A"]).all()
    pieces = whole.reshape(-1)[: whole.size // 64 * 64].reshape(-1, 64)
    assert len(np.unique(pieces, axis=0)) == len(pieces) > 30


@pytest.mark.parametrize("fill", ["uniform", "normal", "ints"])
def test_a_seed_gives_the_same_data_again_and_another_seed_other_data(fill):
    one, same, other = (make_operands(ODD, fill, seed) for seed in (1, 1, 2))
    assert (one["A"] == same["A"]).all() and (one["B"] == same["B"]).all() and (one["C"] == same["C"]).all()
    assert (one["A"] != other["A"]).any()


@pytest.mark.parametrize("layout", ["nn", "nt"])
def test_large_groups_have_the_elements_of_the_first_b_in_other_places(layout):
    problem = Problem(40, 256, 257, layout, groups=(3, 0, 30, 7))
    B = make_operands(problem, "uniform", 0)["B"].reshape(4, -1)
    assert all((np.sort(each) == np.sort(B[0])).all() for each in B)
    for one in range(4):
        assert [(B[one] == B[other]).mean() > 0.01 for other in range(4)] == [one == other for other in range(4)]


@pytest.mark.parametrize("name", ["f32", "tf32", "f64"])
def test_integers_of_32_bits_are_small_and_never_0_so_that_no_product_can_hide(name):
    data = make_operands(Problem(200, 200, 200, precision_name=name), "ints", 0)
    for values in (data["A"], data["B"], data["C"]):
        assert set(np.unique(values)) == {-2.0, -1.0, 1.0, 2.0}


@pytest.mark.parametrize("name", PRECISIONS)
def test_integer_products_doubled_stay_exact_in_c_at_the_largest_size_of_the_posts(name):
    problem = Problem(48, 48, 16384, precision_name=name)
    ints = make_operands(problem, "ints", 3)
    product = ints["A"].astype(np.float64) @ ints["B"].astype(np.float64)
    assert np.abs(2 * product).max() <= 2**problem.precision.exact_bits
    assert product.any(axis=1).all()
    assert problem.precision.is_exact or set(np.unique(np.abs(ints["A"].astype(float)))) <= {0, 1, 2}


def test_the_fills_are_what_they_are_called():
    cube = Problem(200, 200, 200)
    uniform, normal = make_operands(cube, "uniform", 0)["A"], make_operands(cube, "normal", 0)["A"]
    assert uniform.min() >= -1 and uniform.max() <= 1
    assert abs(uniform.mean()) < 0.02 and abs(uniform.var() - 1 / 3) < 0.02
    assert abs(normal.mean()) < 0.03 and abs(normal.var() - 1) < 0.05
    assert (make_operands(cube, "zeros", 0)["A"] == 0).all() and (make_operands(cube, "ones", 0)["B"] == 1).all()


@pytest.mark.parametrize("fill", ["uniform", "normal", "zeros", "ones", "ints"])
def test_arrays_have_the_stored_shape_and_type(fill):
    problem = Problem(5, 7, 3, "tn", "tf32")
    data = make_operands(problem, fill, 0)
    assert (data["A"].shape, data["B"].shape, data["C"].shape) == ((3, 5), (3, 7), (5, 7))
    assert {values.dtype.name for values in (data["A"], data["B"], data["C"])} == {"float32"}


def test_rounding_to_tf32_keeps_eleven_bits_to_nearest_and_factors_of_its_problems_are_rounded():
    ulp = 2.0**-10
    given = np.array([1, 1 + ulp, 1 + 0.4 * ulp, 1 + 0.6 * ulp, -1 - 0.6 * ulp, 2 - 0.2 * ulp, 3e-20], np.float32)
    found = round_factor(given, PRECISIONS["tf32"])
    assert found[:6].tolist() == [1, 1 + ulp, 1, 1 + ulp, -1 - ulp, 2]
    assert abs(found[6] / 3e-20 - 1) <= 2.0**-11
    assert (round_factor(given, PRECISIONS["f32"]) == given).all()
    data = make_operands(Problem(50, 50, 50, precision_name="tf32"), "uniform", 0)
    for values in (data["A"], data["B"]):
        assert not (values.view(np.uint32) & 0x1FFF).any()
    assert (data["C"].view(np.uint32) & 0x1FFF).any()


@pytest.mark.parametrize("name", ["e4m3_tensor_fast", "e4m3_rows", "e4m3_blocks"])
@pytest.mark.parametrize("K", [128, 300, 8192])
def test_sums_fill_the_bits_of_the_accumulator_where_only_scales_are_rounded(name, K):
    problem = Problem(64, 64, K, "nt", name)
    operands = make_scaled_operands(problem, 1)
    a, b = (operands[factor].astype(np.float64) for factor in "AB")
    depth = problem.precision.scales.depth or K
    sums = np.stack([a[:, k : k + depth] @ b[:, k : k + depth].T for k in range(0, K // depth * depth, depth)])
    assert 2**problem.precision.c.significand < np.abs(sums).max() < 2**problem.precision.accumulator.exact_bits
    for scales, least, most in ((operands["scale_a"], 16, 64), (operands["scale_b"], 1 / 8, 1 / 2)):
        assert (scales.astype(np.float16) != scales).mean() > 0.9 and scales.min() >= least and scales.max() < most


def test_scales_are_small_powers_of_two_where_results_are_exact_and_1_where_all_numbers_are_alike():
    problem = Problem(33, 65, 300, "nt", "e4m3_blocks")
    assert set(np.unique(make_operands(problem, "ints", 1)["scale_a"])) == {1, 2}
    assert set(np.unique(make_operands(problem, "ones", 1)["scale_b"])) == {1}
