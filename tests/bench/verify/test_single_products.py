"""Single products name the class of a kernel, at every size, in every layout and precision."""

from functools import partial

import ml_dtypes
import numpy as np
import pytest

from gemmbench.bench.verify.single_products import make_single_products
from gemmbench.planning.manifests.variant import Exactness
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.problems import LAYOUTS, Problem

SIZES = [(1, 1, 1), (1, 1, 4096), (1, 257, 64), (257, 1, 64), (17, 19, 5), (40, 96, 2048), (40, 600, 64)]


def round_to(kind):
    return lambda values: values.astype(kind).astype(np.float32)


def keep_bits(bits, nearest=True):
    """Round, or truncate, float32 to some significand bits."""
    dropped = 24 - bits

    def change(values):
        words = np.ascontiguousarray(values, np.float32).view(np.uint32) + np.uint32(nearest << (dropped - 1))
        return (words & np.uint32((0xFFFFFFFF << dropped) & 0xFFFFFFFF)).view(np.float32)

    return change


bf16, tf32, truncated_tf32 = round_to(ml_dtypes.bfloat16), keep_bits(11), keep_bits(11, nearest=False)


def truncate(values):
    """float64 to float32 towards zero, as tensor cores sum."""
    near = values.astype(np.float32)
    return np.where(np.abs(near.astype(np.float64)) > np.abs(values), np.nextafter(near, np.float32(0)), near)


def multiply_parts(a, b, part, terms, rounded=lambda values: values.astype(np.float32)):
    """The sum of products of parts: terms (0, 1) is the first part of A times the second of B."""
    parts = [split(values, part, 1 + max(map(max, terms))) for values in (a, b)]
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for i, j in terms:
        total = rounded(total.astype(np.float64) + parts[0][i].astype(np.float64) @ parts[1][j].astype(np.float64))
    return total


def split(values, part, count):
    parts, rest = [], values.astype(np.float32)
    for _ in range(count):
        parts.append(part(rest))
        rest = rest - parts[-1]
    return parts


THREE = ((0, 1), (1, 0), (0, 0))
SIX = ((1, 1), (0, 2), (2, 0), *THREE)
CLASSES = {
    "f32": ("f32", lambda a, b: a @ b),
    "six bf16 products": ("bf16x6", partial(multiply_parts, part=bf16, terms=SIX)),
    "six, the largest first": ("bf16x6", partial(multiply_parts, part=bf16, terms=SIX[::-1])),
    "six, truncated": ("bf16x6", partial(multiply_parts, part=bf16, terms=SIX[::-1], rounded=truncate)),
    "three TF32 products": ("3xtf32", partial(multiply_parts, part=tf32, terms=THREE)),
    "three of truncated TF32": ("3xtf32", partial(multiply_parts, part=truncated_tf32, terms=THREE, rounded=truncate)),
    "three f16 products": ("3xtf32", partial(multiply_parts, part=round_to(np.float16), terms=THREE)),
    "three bf16 products": ("bf16x3", partial(multiply_parts, part=bf16, terms=THREE)),
    "three bf16 products, truncated": ("bf16x3", partial(multiply_parts, part=bf16, terms=THREE, rounded=truncate)),
    "TF32": ("tf32", partial(multiply_parts, part=tf32, terms=[(0, 0)])),
    "TF32, truncated": ("tf32", partial(multiply_parts, part=truncated_tf32, terms=[(0, 0)])),
    "only A in TF32": ("tf32", lambda a, b: tf32(a) @ b),
    "only B in TF32": ("tf32", lambda a, b: a @ tf32(b)),
    "f16": ("tf32", partial(multiply_parts, part=round_to(np.float16), terms=[(0, 0)])),
    "bf16": ("bf16", partial(multiply_parts, part=bf16, terms=[(0, 0)])),
}


def compute(products, way="exact"):
    """alpha op(A) op(B), the way of a class or exactly, in the type of C."""
    problem, data = products.problem, products.operands
    a, b = (data["A"].T if problem.trans_a else data["A"]), (data["B"].T if problem.trans_b else data["B"])
    kind = problem.precision.accumulator.type.numpy_type()
    product = a.astype(kind) @ b.astype(kind)
    if way != "exact":
        product = CLASSES[way][1](a.astype(np.float32), b.astype(np.float32)).astype(kind)
    return (product * kind.type(products.scalars[0])).astype(problem.storage("C").numpy_type())


def judge(way, *shape, declared="", seed=3, **problem):
    products = make_single_products(Problem(*shape, **problem), seed)
    return products.judge(compute(products, way), Exactness(declared))


@pytest.mark.parametrize("way", CLASSES)
@pytest.mark.parametrize("depth", [64, 2048])
def test_the_error_of_single_products_names_the_class_whatever_k(way, depth):
    check, wanted = judge(way, 64, 48, depth), CLASSES[way][0]
    assert check.product_class == wanted
    assert check.ok is (wanted == "f32")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(2))
def test_three_bf16_products_are_wrong_under_f32_at_every_size(size, layout, seed):
    check = judge("three bf16 products", *size, layout=layout, seed=seed)
    assert not check.ok and check.product_class == "bf16x3"
    assert judge("f32", *size, layout=layout, seed=seed).ok


def test_weak_products_of_one_row_are_seen():
    products = make_single_products(Problem(64, 48, 128), seed=3)
    exact, weak = (compute(products, way) for way in ("f32", "three bf16 products"))
    for row in (0, 31, 63):
        mixed = exact.copy()
        mixed[row] = weak[row]
        assert products.judge(mixed).product_class == "bf16x3"


def test_the_figures_of_each_class_are_those_that_are_documented():
    largest = {way: judge(way, 256, 256, 64).product_error for way in CLASSES}
    assert largest["f32"] == 0.5
    assert 0.5 < largest["six bf16 products"] < 2
    assert 2 < largest["three TF32 products"] < 6
    assert 200 < largest["three bf16 products"] < 400
    assert 10_000 < largest["TF32"] < 13_000
    assert 15_000 < largest["TF32, truncated"] < 24_000


def test_a_message_names_both_classes_and_the_next_step():
    check = judge("three bf16 products", 64, 48, 64)
    assert check.message.startswith("single products are of class bf16x3, three products of bf16 parts: off by up to ")
    assert "; f32 needs class f32, or write `class: bf16x3`" in check.message
    assert "or write `class: bf16x3` in the manifest, which lists the kernel without ranking it" in check.message
    assert check.rule == "class" and check.diagnosis.cause == "lower precision"


@pytest.mark.parametrize(
    ("declared", "way", "accepted"),
    [
        ("bf16x6", "six bf16 products", True),
        ("3xtf32", "six bf16 products", True),
        ("bf16x6", "three TF32 products", False),
        ("bf16x3", "three bf16 products", True),
        ("bf16x6", "three bf16 products", False),
        ("f64", "f32", True),  # a class that is stronger than the precision's changes nothing
        ("f64", "three bf16 products", False),
    ],
)
def test_a_declared_class_is_accepted_and_a_weaker_one_is_not(declared, way, accepted):
    check = judge(way, 64, 48, 64, declared=declared)
    assert check.ok is accepted
    assert accepted or f"the manifest declares class {declared}" in check.message


@pytest.mark.parametrize("name", PRECISIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_precision_finds_its_own_class(name, layout):
    check = judge("exact", 40, 24, 128, layout=layout, precision_name=name)
    own = "f32" if name in ("tf32", "3xtf32") else name.partition("_")[0]
    assert check.ok and check.product_class == own


@pytest.mark.parametrize(
    ("name", "way", "found", "accepted"),
    [
        ("tf32", "TF32", "tf32", True),
        ("tf32", "TF32, truncated", "tf32", True),
        ("tf32", "three bf16 products", "bf16x3", True),
        ("tf32", "bf16", "bf16", False),
        ("3xtf32", "six bf16 products", "bf16x6", True),
        ("3xtf32", "three TF32 products", "3xtf32", True),
        ("3xtf32", "three bf16 products", "bf16x3", False),
        ("3xtf32", "TF32", "tf32", False),
        ("f16", "bf16", "bf16", False),
        ("f64", "f32", "f32", False),
        ("f64", "TF32", "tf32", False),
    ],
)
def test_a_precision_refuses_a_weaker_class(name, way, found, accepted):
    check = judge(way, 40, 24, 128, precision_name=name)
    assert (check.product_class, check.ok) == (found, accepted)


@pytest.mark.parametrize("name", ["f16", "f16_f16", "bf16"])
def test_c_may_be_truncated_to_16_bits(name):
    products = make_single_products(Problem(40, 24, 128, precision_name=name), seed=3)
    exact = compute(products)
    wide = products.reference.expected
    larger = np.abs(exact.astype(np.float64)) > np.abs(wide)
    truncated = np.where(larger, np.nextafter(exact, exact.dtype.type(0)), exact)
    assert larger.any() and products.judge(truncated).ok


@pytest.mark.parametrize(
    ("alpha", "expected"), [(1.0, 1.0), (1.5, 2.0), (-0.4, -0.5), (0.0, 1.0), (1e30, 16.0), (-1e-30, -0.0625)]
)
def test_alpha_is_the_power_of_two_next_to_that_of_the_problem(alpha, expected):
    products = make_single_products(Problem(8, 8, 8, alpha=alpha, beta=-0.5), seed=3)
    assert products.scalars == (expected, -0.5)


def test_a_result_that_is_not_made_of_products_is_wrong_and_not_of_a_class():
    products = make_single_products(Problem(33, 17, 19), seed=3)
    wrong = compute(products)
    wrong[4, 5] += 1
    check = products.judge(wrong)
    assert check.product_class == "" and not check.ok and "first C[4][5]" in check.message
    wrong[4, 5] = np.nan
    assert not products.judge(wrong).ok
