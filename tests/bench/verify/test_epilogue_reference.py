"""Wrong epilogues of groups, of which the first is empty: what is said of them."""

import numpy as np
import pytest

from gemmbench.bench.operands.products import find_scales, view_factor
from gemmbench.bench.verify.epilogue_reference import Finish
from gemmbench.bench.verify.reference import make_reference
from gemmbench.planning.problems import Problem

STEPS, GROUP = ("bias", "residual", "relu"), [1] * 5 + [2] * 3
WIDE, SQUARE = (Problem(8, N, 24, groups=(0, 5, 3), epilogue=STEPS) for N in (40, 8))


def compute(found, steps, other=None):
    """The result of these steps, some with an `other` operand, in all rows."""
    a, b = found.operands["A"].astype(np.float64), view_factor(found.problem, found.operands, "B").all
    sums = np.einsum("mk,mkn->mn", a, b.astype(np.float64)[GROUP])
    finish = Finish(found.problem, found.operands, np.arange(len(sums)))
    return finish.follow(steps, sums, other).astype(np.float32)


@pytest.fixture(params=[WIDE, SQUARE], ids=["wide", "square"])
def found(request):
    """The reference on integers."""
    return make_reference(request.param, "ints", 1, 1.0, 0.0)


def test_steps_in_another_order_are_named(found):
    assert found.check_exact(compute(found, STEPS)).ok
    check = found.check_exact(compute(found, ("relu", "bias", "residual")))
    assert check.diagnosis.cause == "epilogue order" and "relu was applied before bias" in check.message


@pytest.mark.parametrize(("name", "rows"), [("bias", [0] * 8), ("residual", [*range(5), *range(3)])])
def test_an_operand_of_the_first_group_for_all_is_named(found, name, rows):
    first = found.operands[name].astype(np.float64)[rows]
    check = found.check_exact(compute(found, STEPS, {name: first}))
    assert check.diagnosis.cause == f"{name} of product 0"
    assert f"every group got the {name} of group 0" in check.message


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        ([0, 0, 1], "rows of each wrong group got the bias of the group before it"),
        ([0, 1, 0], "rows of group 2 got the bias of group 0"),
        ([0, 2, 1], "rows of group 1 got the bias of group 2, those of group 2 that of group 1"),
    ],
)
def test_a_bias_of_another_group_is_named_where_it_explains_all_groups(sources, words):
    problem = Problem(39, 40, 24, groups=(5, 1, 33), epilogue=("bias",))
    made = make_reference(problem, "ints", 1, 1.0, 0.0)
    group = np.repeat(range(3), problem.groups)
    a, b = made.operands["A"].astype(np.float64), view_factor(problem, made.operands, "B").all
    sums = np.einsum("mk,mkn->mn", a, b.astype(np.float64)[group])
    wrong = (sums + made.operands["bias"].astype(np.float64)[np.array(sources)[group]]).astype(np.float32)
    check = made.check_exact(wrong)
    assert words in check.message and "every group" not in check.message
    wrong[-1, 3] += 1
    assert "the bias of" not in made.check_exact(wrong).message


def test_the_other_gelu_after_a_scale_is_named_and_offered():
    problem = Problem(40, 60, 24, epilogue=("bias", "residual", "scale", "gelu"))
    found = make_reference(problem, "ints", 1, 1.0, 0.0)
    a, b = (found.operands[name].astype(np.float64) for name in "AB")
    wrong = Finish(problem, found.operands, np.arange(40)).follow(("bias", "residual", "scale", "gelu_tanh"), a @ b)
    check = found.check_exact(wrong.astype(np.float32))
    assert check.diagnosis.cause == "other activation"
    assert "gelu_tanh was applied instead of gelu; write `gelu_tanh` or `approx: 2^-" in check.message


def test_a_bias_that_is_read_at_the_row_of_all_groups_is_named():
    problem = Problem(33, 40, 24, groups=(20, 0, 13), epilogue=("bias",))
    made = make_reference(problem, "ints", 1, 1.0, 0.0)
    a, b = made.operands["A"].astype(np.float64), view_factor(problem, made.operands, "B").all
    sums = np.einsum("mk,mkn->mn", a, b.astype(np.float64)[np.repeat(range(3), problem.groups)])
    wrong = sums + made.operands["bias"].astype(np.float64).reshape(-1)[:33, None]
    check = made.check_exact(wrong.astype(np.float32))
    assert check.diagnosis.cause == "bias along M" and "instead of N" in check.message


@pytest.mark.parametrize(
    ("alpha", "beta", "factors", "words"),
    [
        (2.0, 0.0, {"bias": 2.0}, "bias was added twice, or alpha, which is 2, multiplied it"),
        (2.0, 0.0, {"bias": 2.0, "residual": 2.0}, "alpha multiplied bias and residual too"),
        (1.0, 3.0, {"residual": 3.0}, "beta multiplied residual too"),
        (2.0, 0.0, {"bias": 0.0}, "bias was not applied (or beta, which is 0, multiplied it)"),
        (1.0, 2.0, {"bias": 0.0}, "bias was not applied"),
        (1.0, 0.0, {"bias": 2.0}, "bias was added twice"),
    ],
)
def test_scalars_that_multiply_an_addend_too_are_named(alpha, beta, factors, words):
    made = make_reference(WIDE, "ints", 1, alpha, beta)
    finish = Finish(WIDE, made.operands, np.arange(8))
    other = {name: factor * finish.find_operand(name) for name, factor in factors.items()}
    check = made.check_exact(finish.follow(STEPS, made.expected, other).astype(np.float32))
    assert check.message.endswith(words)


@pytest.mark.parametrize(("name", "words"), [("A", "the scale of A"), ("AB", "the scales of A and B")])
@pytest.mark.parametrize("precision", ["e4m3_rows", "e4m3_blocks"])
def test_scales_that_multiply_the_bias_too_are_named(precision, name, words):
    problem = Problem(40, 150, 200, "nt", precision, epilogue=("bias",))
    made = make_reference(problem, "ints", 1, 1.0, 0.0)
    first = {each: find_scales(problem, made.operands, each)[0] for each in "AB"}
    factor = first["A"][:, None] * (first["B"] if name == "AB" else 1)
    store, bias = problem.storage("C").numpy_type(), made.operands["bias"].astype(np.float64)
    assert made.check_exact((made.expected + bias).astype(store)).ok
    check = made.check_exact((made.expected + bias * factor).astype(store))
    assert check.diagnosis.cause == "scale on bias" and f"{words} multiplied bias too" in check.message
