"""The awkward problems of `verify`."""

import pytest

from gemmbench.backends.cuda.library_variants import CUBLASLT
from gemmbench.planning.manifests.expressions import parse
from gemmbench.planning.plans import configurations
from gemmbench.planning.problems import LAYOUTS
from gemmbench.planning.sizes import One


def test_the_shapes_hold_what_the_method_asks_for():
    used = {size for shape in (*configurations.SHAPES, configurations.LARGE) for size in shape}
    assert used >= {1, 17, 127, 129, 1000}
    assert any(len(set(shape)) == 3 for shape in configurations.SHAPES)
    assert (1, 1, 1) in configurations.SHAPES


def test_alpha_and_beta_are_neither_one_nor_zero():
    assert {configurations.ALPHA, configurations.BETA}.isdisjoint({0, 1, -1})
    assert abs(configurations.BETA) < 1


def test_integers_are_multiplied_by_other_integers_where_a_variant_can(make_variant):
    def choose(variant):
        (found,) = configurations.make_problems(variant, [One(8, 8, 8)], ["nt"], ["int8"])
        return found.alpha, found.beta

    alpha, beta = choose(make_variant())
    assert alpha.is_integer() and beta.is_integer() and {alpha, beta}.isdisjoint({0, 1, -1})
    assert choose(CUBLASLT) == (1, 1)


def test_problems_are_every_combination_once(make_variant):
    found = configurations.make_problems(
        make_variant(), [One(*shape) for shape in configurations.SHAPES], LAYOUTS, ("f32", "tf32")
    )
    assert len(set(found)) == len(found) == len(configurations.SHAPES) * 4 * 2
    assert {(problem.alpha, problem.beta) for problem in found} == {(configurations.ALPHA, configurations.BETA)}


def test_groups_are_also_more_than_a_block_of_threads_and_have_the_rows_of_the_shape(make_variant):
    for kinds, counts in ((("one", "groups"), [6, 130, 6]), (("groups",), [130, 6])):
        forms = configurations.list_declared_forms(make_variant(kinds=kinds), "f32")
        assert [len(form[0].groups) for form in forms][: len(counts)] == counts
        assert all(sum(problem.groups) == problem.M for form in forms for problem in form)
        assert all({0, 1} < set(problem.groups) for form in forms for problem in form)
        *_, ends = forms[: len(counts)]
        assert min(ends[0].groups[0], ends[0].groups[-1]) > 128 and {form[0].M for form in forms} == {31, ends[0].M}
    assert configurations.split_into_groups((1, 2, 3), 130).M == 1


def test_one_change_each_leaves_every_other_parameter_at_its_default(make_variant):
    variant = make_variant(params=(("BM", (128, 64, 32)), ("BK", (8, 16)), ("T", (4,))))
    assert [str(config) for config in configurations.change_each_parameter(variant)] == [
        "BM=128 BK=8 T=4",
        "BM=64 BK=8 T=4",
        "BM=32 BK=8 T=4",
        "BM=128 BK=16 T=4",
    ]


@pytest.mark.parametrize(
    ("require", "found"),
    [
        (["N == 64 and K == 80"], (31, 64, 80)),
        (["M == 96", "N % 16 == 0", "K % 32 == 0"], (96, 64, 128)),
        (["M == N and K == N", "N % 48 == 0"], (144, 144, 144)),
        (["M == 8 or M == 16"], None),
        (["BM % WM == 0", "K % 16 == 0"], (31, 61, 112)),
    ],
)
def test_an_awkward_shape_has_the_sides_that_rules_fix(require, found):
    rules = [parse(text, ("M", "N", "K", "BM", "WM")) for text in require]

    def is_allowed(shape):
        return all(rule.value({**dict(zip("MNK", shape, strict=True)), "BM": 64, "WM": 32}) for rule in rules)

    assert configurations.adapt_shape(configurations.AWKWARD, is_allowed, rules) == found


def test_a_variant_without_parameters_has_one_configuration(make_variant):
    assert [str(config) for config in configurations.change_each_parameter(make_variant())] == [""]


def test_what_precisions_with_scales_cannot_have_is_not_among_the_declared_forms(make_variant):
    variant = make_variant(precisions=("f32", "e4m3_rows"), kinds=("one", "many", "groups", "padded"))

    def list_sizes(precision):
        return {
            (form[0].count, form[0].groups != ()) for form in configurations.list_declared_forms(variant, precision)
        }

    assert list_sizes("f32") == {(3, False), (1, True), (1, False)}
    assert list_sizes("e4m3_rows") == {(1, False)}
    assert configurations.list_kinds(variant, "e4m3_rows") == ["one", "padded"]


@pytest.mark.parametrize(
    ("epilogue", "chains"),
    [
        (["bias", "relu"], [("bias", "relu"), ("relu",), ("bias",)]),
        (["bias", "relu", "gelu"], [("bias", "relu"), ("bias", "gelu"), ("relu",), ("gelu",), ("bias",)]),
        (["relu"], [("relu",)]),
        (["bias"], [("bias",)]),
    ],
)
def test_an_epilogue_is_also_verified_in_the_parts_that_one_may_ask_for(make_variant, epilogue, chains):
    forms = configurations.list_declared_forms(make_variant(epilogue=tuple(epilogue)), "f32")
    assert [form[0].epilogue for form in forms] == chains
