"""Options of nvcc in a manifest, also those that depend on a parameter."""

import pytest

from gemmbench.backends.cuda.nvcc import make_unit
from gemmbench.errors import SpecError
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.planning.manifests.variant import ALL
from gemmbench.planning.problems import Problem

FLAGS = ["-O2", "{flag: -use_fast_math, when: FAST}", "{flag: -Xptxas=-dlcm=cg, when: FAST == 2 and T > 8}"]


def test_a_flag_counts_in_the_configurations_that_its_condition_names(write_kernel, expand):
    variant = read_variant(write_kernel(params={"FAST": [0, 1, 2], "T": [8, 16]}, flags=FLAGS))
    plans = expand(variant, values={ALL: ()})
    fast, cached = "-use_fast_math", "-Xptxas=-dlcm=cg"
    expected = {(0, 8): (), (0, 16): (), (1, 8): (fast,), (1, 16): (fast,), (2, 8): (fast,), (2, 16): (fast, cached)}
    assert {tuple(dict(plan.config.values).values()): plan.flags for plan in plans} == {
        key: ("-O2", *flags) for key, flags in expected.items()
    }
    assert [fast in make_unit(plan).options for plan in plans] == [fast in plan.flags for plan in plans]


@pytest.mark.parametrize(
    ("at", "flag", "message"),
    [
        ("-lcuda", "-lcuda", "flags: '-lcuda' is not allowed; only flags that change code are,"),
        ("-lcuda", "{flag: -lcuda, when: T}", "flags: '-lcuda' is not allowed"),
        ("-O1", "{flag: -O1, when: M > 8}", "unknown name 'M'"),
        ("-O1", "{flag: -O1}", "when"),
    ],
)
def test_a_bad_flag_is_an_error_at_its_line(faulty, at, flag, message):
    assert message in faulty(at, params={"T": [8, 16]}, flags=[flag])


BATCHED = ["M", "N", "K", "count", "A", "stride(A)", "B", "long(2*stride(B))", "C", "stride(C)"]


def test_arguments_of_a_batch_are_its_count_and_strides(write_kernel, expand):
    path = write_kernel(args=BATCHED, kinds="[one, many]", symbol="gemm")
    (plan,) = expand(read_variant(path), Problem(2, 3, 5, count=7))
    assert [each.value for each in plan.arguments if not each.role] == [2, 3, 5, 7, 10, 30, 6]
    (plan,) = expand(read_variant(path), Problem(2, 3, 5))
    assert [each.value for each in plan.arguments if not each.role][3] == 1


def test_arguments_of_groups_are_their_number_and_offsets(write_kernel, expand):
    args = ["M", "N", "K", "A", "B", "C", "offsets", "groups"]
    path = write_kernel(args=args, kinds="[one, groups]", symbol="gemm", grid=["M + groups"])
    (plan,) = expand(read_variant(path), Problem(9, 3, 5, groups=(4, 0, 5)))
    assert [each.role or each.value for each in plan.arguments] == [9, 3, 5, "A", "B", "C", "offsets", 3]
    assert plan.geometry.grid[0] == 12 and ("GROUPS", "1") in plan.defines and not plan.parts
    (plan,) = expand(read_variant(path), Problem(9, 3, 5))
    assert plan.arguments[-1].value == 0 and "GROUPS" not in dict(plan.defines)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"args": ["A", "B", "C"]}, "args: no argument is offsets; name every argument of the kernel"),
        ({"layouts": "[tn, tt]"}, "kinds: each group has whole rows of A, unlike in tn, tt; add the layout nn or nt"),
        ({"kinds": "[groups]", "layouts": "[nn, tn]"}, "unlike in nn, tn; declare only the layout nn or nt"),
        ({"args": ["A", "B", "C", "offsets"], "storage": "column"}, "remove `storage: column`"),
        (
            {"kinds": "[many, groups]", "precisions": "[f32, e4m3_rows]"},
            "e4m3_rows has scales of one product; add `one`",
        ),
        ({"kinds": "[padded, separate_c]"}, "needs `one`, `many` or `groups` besides padded, separate_c; add one"),
    ],
)
def test_what_a_kernel_of_groups_cannot_have_is_refused(write_kernel, keys, message):
    with pytest.raises(SpecError) as fault:
        read_variant(write_kernel(**{"kinds": "[one, groups]", "symbol": "gemm", **keys}))
    assert message in str(fault.value)


def test_a_kernel_of_factors_with_scales_takes_these(write_kernel, expand):
    keys = {"precisions": "[e4m3_blocks, e4m3]", "layouts": "[nt]", "symbol": "gemm"}
    variant = read_variant(write_kernel(**keys))
    assert variant.trailing == ("scale_a", "scale_b")
    args = ["A", "scale_a", "B", "scale_b", "C"]
    for storage, expected in (("row", args), ("column", ["B", "scale_b", "A", "scale_a", "C"])):
        path = write_kernel(args=args, storage=storage, **(keys | {"layouts": "[tn]"} if storage == "column" else keys))
        (plan,) = expand(read_variant(path), Problem(2, 3, 5, "nt", "e4m3_blocks"))
        assert [each.role for each in plan.arguments] == expected


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"args": ["A", "scale_a", "B", "C"]}, "args: no argument is scale_b; name every argument of the kernel"),
        (
            {"args": ["A", "scale_a", "B", "C"], "precisions": "[e4m3]"},
            "args: scale_a belongs to precisions with scales, such as e4m3_blocks; name one in `precisions`",
        ),
        ({"params": {"SCALE_M": [1]}}, "params: the name 'SCALE_M' is taken; choose another"),
    ],
)
def test_scales_that_are_not_passed_or_that_there_are_not_are_refused(write_kernel, keys, message):
    with pytest.raises(SpecError) as fault:
        read_variant(write_kernel(**{"precisions": "[e4m3_rows]", "layouts": "[nt]", "symbol": "gemm", **keys}))
    assert message in str(fault.value)


def test_arguments_of_rows_with_padding_are_leading_dimensions(write_kernel, expand):
    args = ["M", "N", "K", "A", "lda", "B", "ldb", "C", "ldc", "D", "ldd"]
    path = write_kernel(args=args, kinds="[one, padded, separate_c]", symbol="gemm")
    (plan,) = expand(read_variant(path), Problem(2, 3, 5, ld=("A+8", "D+1"), separate_c=True))
    assert [each.value for each in plan.arguments if not each.role] == [2, 3, 5, 13, 3, 3, 4]
    (plan,) = expand(read_variant(path), Problem(2, 3, 5))
    assert [each.value for each in plan.arguments if not each.role] == [2, 3, 5, 5, 3, 3, 3]


def test_columns_with_padding_are_leading_dimensions_too(write_kernel, expand):
    args = ["M", "N", "K", "A", "lda", "B", "ldb", "C", "ldc"]
    path = write_kernel(args=args, kinds="[one, padded]", symbol="gemm", storage="column")
    (plan,) = expand(read_variant(path), Problem(2, 3, 5, ld=("A+8", "C+1")))
    assert [each.value for each in plan.arguments if not each.role] == [3, 2, 5, 3, 13, 4]


@pytest.mark.parametrize(
    ("at", "args", "message"),
    [
        ("- count", BATCHED, "args: count belongs to a batch; add `kinds: [one, many]` if the kernel takes batches"),
        ("stride(B)", ["A", "B", "stride(B)", "C"], "args: stride(B) belongs to a batch; add `kinds: [one, many]`"),
        ("- groups", ["A", "B", "C", "groups"], "args: groups belongs to groups; add `kinds: [one, groups]` if"),
        ("- offsets", ["A", "B", "C", "offsets"], "args: offsets belongs to groups; add `kinds: [one, groups]` if"),
        ("- D", ["A", "B", "C", "D"], "args: D belongs to a result apart from C; add `separate_c` to `kinds`, such as"),
        ("- ldd", ["A", "B", "C", "ldd"], "args: ldd belongs to a result apart from C; add `separate_c` to `kinds`"),
        ("- scale", ["A", "B", "C", "scale"], "args: scale belongs to an epilogue; add `epilogue: [scale]` if"),
        ("stride(D)", ["A", "B", "stride(D)", "C"], "args: the operand 'D' has no products; write stride(A)"),
    ],
)
def test_an_argument_of_a_batch_needs_its_kind(faulty, at, args, message):
    assert message in faulty(at, args=args)


def test_a_pick_outside_a_cu_file_says_where_it_belongs(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("summary: x\nprecisions: [f32]\nlayouts: [nn]\npick:\n  - variant: tiled\n")
    with pytest.raises(SpecError, match=r"mine\.yaml:4: pick: belongs in a \.cu file"):
        read_variant(path)
