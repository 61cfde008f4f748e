"""NaN, infinities, subnormals and values near overflow: what a correct kernel does passes, what loses them does not."""

from dataclasses import replace

import numpy as np
import pytest

from gemmbench.bench.verify.special_values import (
    NOT_FINITE,
    OVERFLOW,
    SUBNORMAL,
    has_special_values,
    make_special_values,
)
from gemmbench.planning.epilogues import EPILOGUE_STEPS
from gemmbench.planning.manifests.variant import Exactness
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.problems import LAYOUTS, Problem

PROBLEM = Problem(31, 61, 97, alpha=1.5, beta=-0.5)


def compute(case, change=lambda a, b: (a, b), order=1):
    """C by float sums over k, forwards or backwards, of op(A) and op(B) after a change."""
    problem, data = case.problem, case.operands
    a, b = (data["A"].T if problem.trans_a else data["A"]), (data["B"].T if problem.trans_b else data["B"])
    kind = problem.precision.accumulator.type.numpy_type()
    with np.errstate(all="ignore"):
        a, b = change(a.astype(kind), b.astype(kind))
        total = np.zeros(problem.stored_shape("C"), kind)
        for k in range(problem.K)[::order]:
            total += a[:, k : k + 1] * b[k : k + 1]
        total = kind.type(case.alpha) * total
        if case.beta:
            total += kind.type(case.beta) * data["C"].astype(kind)
        for name in problem.epilogue:
            total = EPILOGUE_STEPS[name].apply(total, data.get(name, np.zeros(1)).astype(kind))
        return total.astype(problem.storage("C").numpy_type())


def find(rule, problem=PROBLEM):
    return next(case for case in make_special_values(problem, 0) if case.rule == rule)


@pytest.mark.parametrize("name", [name for name, precision in PRECISIONS.items() if not precision.is_exact])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", [1, -1])
def test_a_correct_kernel_passes_in_any_order_of_summation(name, layout, order):
    problem = replace(PROBLEM, layout=layout, precision_name=name)
    checks = {case.rule: case.judge(compute(case, order=order)) for case in make_special_values(problem, 0)}
    assert all(check.ok for check in checks.values()), checks
    assert (SUBNORMAL in checks) == (name in ("f32", "f64"))
    assert {NOT_FINITE, OVERFLOW} <= set(checks)


@pytest.mark.parametrize("name", [name for name, precision in PRECISIONS.items() if not precision.is_exact])
@pytest.mark.parametrize("steps", [("bias", "relu"), ("residual", "scale", "gelu_tanh"), ("silu",), ("gelu", "bias")])
def test_what_the_formulas_of_an_epilogue_give_passes(name, steps):
    problem = replace(PROBLEM, precision_name=name, epilogue=steps)
    checks = {case.rule: case.judge(compute(case)) for case in make_special_values(problem, 0)}
    assert all(check.ok for check in checks.values()), checks


def test_relu_of_nan_may_be_0_and_so_may_gelu_of_minus_infinity_but_no_other_value_may_change():
    relu, gelu = (find(NOT_FINITE, replace(PROBLEM, epilogue=("bias", name))) for name in ("relu", "gelu"))
    result = compute(relu)
    assert np.isnan(result).any() and relu.judge(np.nan_to_num(result, nan=0, posinf=np.inf)).ok
    assert not relu.judge(np.nan_to_num(result, nan=1, posinf=np.inf)).ok
    masked = compute(replace(relu, problem=replace(relu.problem, epilogue=("bias",))))
    with np.errstate(invalid="ignore"):
        masked *= masked > 0
    assert "the epilogue makes NaN of an infinity" in relu.judge(masked).message
    result = compute(gelu)
    sums = compute(replace(gelu, problem=replace(gelu.problem, epilogue=())))
    assert gelu.judge(np.where(np.isneginf(sums), np.float32(0), result)).ok
    assert "a NaN, or 0 times an infinity, is dropped" in gelu.judge(np.nan_to_num(result, posinf=np.inf)).message


@pytest.mark.parametrize("rule", [NOT_FINITE, SUBNORMAL, OVERFLOW])
def test_every_case_has_what_it_is_named_after(rule):
    for name in ("f32", "f64"):
        case = find(rule, replace(PROBLEM, precision_name=name))
        least = np.finfo(case.operands["A"].dtype).smallest_normal
        with np.errstate(all="ignore"):
            want = case.want
        if rule == NOT_FINITE:
            assert np.isnan(want).any() and (want == np.inf).any() and (want == -np.inf).any()
            assert np.isfinite(want).mean() > 0.8
        elif rule == SUBNORMAL:
            assert np.abs(case.operands["A"][0]).min() > 0 and np.abs(case.operands["A"][0]).max() < least
            assert (np.abs(want[1::2, 1::2]) < least).mean() > 0.9 and (np.abs(want[::2, ::2]) > least).all()
        else:
            limits = np.finfo(case.operands["A"].dtype)
            assert np.isinf(compute(case)).any() and np.abs(case.operands["A"]).max() > limits.max / 4


def test_padding_times_zero_spreads_infinities():
    case = find(NOT_FINITE)
    with np.errstate(all="ignore"):
        spread = compute(case) + 0 * case.operands["A"][:, -1:]
    check = case.judge(spread)
    assert not check.ok and "an infinity becomes NaN: it is multiplied by 0, as in padding" in check.message


def test_nan_that_reaches_other_rows_is_told_from_an_infinity_that_becomes_nan_and_from_skipped_zeros():
    case = find(NOT_FINITE)
    result = compute(case)
    skipped = np.where(np.isnan(result), np.float32(1), result)
    assert "0 times an infinity, is dropped: the kernel skips products," in case.judge(skipped).message
    result[5, 6] = np.nan
    message = case.judge(result).message
    assert "reaches elements that do not depend on it" in message
    assert "1 of 1891 elements wrong, first C[5][6] = nan" in message


def test_flushed_factors_and_flushed_results_are_seen():
    case = find(SUBNORMAL)
    least = np.finfo(np.float32).smallest_normal

    def flush(values):
        return np.where(np.abs(values) < least, 0, values).astype(np.float32)

    for wrong in (compute(case, lambda a, b: (flush(a), flush(b))), flush(compute(case))):
        check = case.judge(wrong)
        assert not check.ok and "subnormal numbers become 0: remove -ftz=true" in check.message


def test_a_smaller_range_inside_and_a_clamped_infinity_are_seen():
    case = find(OVERFLOW)
    scaled = compute(case, lambda a, b: (4 * a, b)) / np.float32(4)
    assert "a sum that fits its type overflows" in case.judge(scaled).message
    largest = np.finfo(np.float32).max
    assert "an infinity is lost" in case.judge(np.clip(compute(case), -largest, largest)).message


def test_a_declared_weaker_class_may_lose_subnormals_and_turn_infinities_into_nan():
    case, small = find(NOT_FINITE), find(SUBNORMAL)
    result = compute(case)
    result[np.isinf(result)] = np.nan
    assert case.judge(result, Exactness("bf16x6")).ok and not case.judge(result).ok
    assert small.judge(np.zeros_like(result), Exactness("bf16x6")).ok
    result[5, 6] = np.nan
    assert not case.judge(result, Exactness("bf16x6")).ok


@pytest.mark.parametrize(("rule", "accepted"), [(OVERFLOW, True), (NOT_FINITE, False)])
def test_products_of_parts_may_overflow_either_way(rule, accepted):
    case = find(rule)
    result = compute(case)
    assert np.isinf(result).any()
    result[np.isinf(result)] *= -1
    assert case.judge(result, Exactness("bf16x6")).ok is accepted and not case.judge(result).ok


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((16, 16, 16), True), ((127, 127, 127), True), ((15, 64, 64), False), ((128, 128, 129), False)],
)
def test_small_problems_with_room_on_every_side_are_checked(shape, expected):
    assert has_special_values(Problem(*shape)) is expected
