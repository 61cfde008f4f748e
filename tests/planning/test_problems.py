"""Problems: the numbers that follow from them, panels that are the whole together, grids made when asked for."""

import numpy as np
import pytest

from gemmbench.errors import UsageError
from gemmbench.planning.precisions import PRECISIONS, find_precision
from gemmbench.planning.problems import (
    LAYOUTS,
    Panel,
    Problem,
    ProblemGrid,
    cut_into_panels,
    make_problem,
    parse_padding,
)
from gemmbench.planning.sizes import Groups, Many, One, parse_sizes


@pytest.mark.parametrize(
    ("M", "panels", "heights"),
    [
        (1024, 8, [128] * 8),
        (1000, 8, [128] * 7 + [104]),
        (8192, 3, [2752, 2752, 2688]),
        (256, 8, [64] * 4),
        (160, 8, [64, 64, 32]),
        (65, 1, [65]),
        (1, 8, [1]),
    ],
)
def test_panels_are_equal_but_the_last_and_a_multiple_of_64_rows(M, panels, heights):
    found = cut_into_panels(Problem(M, 16, 16), panels)
    assert [panel.rows for panel in found] == heights
    assert [panel.first for panel in found] == [sum(heights[:number]) for number in range(len(heights))]


def test_a_panel_is_a_problem_of_the_same_kind_with_fewer_rows():
    whole = Problem(160, 24, 16, "tn", "tf32", 2.0, 0.5)
    assert Panel(64, 32).make_problem(whole) == Problem(32, 24, 16, "tn", "tf32", 2.0, 0.5)


@pytest.mark.parametrize(
    ("layout", "a", "b"),
    [("nn", (3, 7), (7, 5)), ("nt", (3, 7), (5, 7)), ("tn", (7, 3), (7, 5)), ("tt", (7, 3), (5, 7))],
)
def test_the_stored_shapes_follow_the_layout(layout, a, b):
    problem = Problem(3, 5, 7, layout=layout)
    assert (problem.stored_shape("A"), problem.stored_shape("B"), problem.stored_shape("C")) == (a, b, (3, 5))
    assert LAYOUTS == ("nn", "nt", "tn", "tt")


@pytest.mark.parametrize(
    ("written", "straight"),
    [
        (Problem(1, 8, 16, "tn"), "nn"),
        (Problem(8, 1, 16, "tn"), "tt"),
        (Problem(1, 1, 16, "tn"), "nt"),
        (Problem(8, 8, 16, "tn"), "tn"),
        (Problem(1, 8, 16, "tn", ld=("A+8",)), "tn"),
        (Problem(8, 1, 16, "nn", ld=("B+8",)), "nn"),
    ],
)
def test_a_vector_without_padding_is_a_row_along_k(written, straight):
    assert written.straight.layout == straight
    assert written.straight.bytes == written.bytes and written.straight.list_leading(False)["C"] == written.leading("C")


def test_flops_are_two_m_n_k_and_bytes_count_c_twice_only_if_beta_reads_it():
    assert (Problem(3, 5, 7).flops, Problem(3, 5, 7).bytes) == (210, 4 * (21 + 35 + 15))
    assert Problem(3, 5, 7, beta=0.5).bytes == 4 * (21 + 35 + 15 + 15)


def test_a_size_is_short_for_a_cube_and_scalars_are_printed_only_where_they_matter():
    assert (Problem(64, 64, 64).size, Problem(64, 32, 64).size) == ("64", "64x32x64")
    assert str(Problem(64, 64, 64)) == "64 nn f32"
    assert str(Problem(1, 2, 3, "tn", "tf32", 1.5, -0.5)) == "1x2x3 tn tf32 alpha=1.5 beta=-0.5"


def test_several_products_multiply_work_and_bytes_and_are_part_of_the_key():
    one, eight = Problem(3, 5, 7, beta=0.5), Problem(3, 5, 7, beta=0.5, count=8)
    assert (eight.flops, eight.bytes) == (8 * one.flops, 8 * one.bytes)
    assert (eight.stored_shape("A"), eight.one) == (one.stored_shape("A"), one)
    assert (eight.stride("B"), eight.operand("B").shape) == (7 * 5, (8, 7, 5))
    assert one.key == (3, 5, 7, "nn", "f32", 1.0, 0.5)
    assert eight.key == (*one.key, 8)
    assert repr(one) == ("Problem(M=3, N=5, K=7, layout='nn', precision_name='f32', alpha=1.0, beta=0.5)")
    assert repr(eight) == repr(one)[:-1] + ", count=8)"
    assert str(eight) == "8*3x5x7 nn f32 alpha=1 beta=0.5"


def test_the_slices_of_a_batch_begin_where_its_products_lie():
    batch = Problem(3, 5, 7, "tn", count=4, epilogue=("bias", "residual", "scale"), ld=("A+2",))
    assert [(each.M, each.N, each.K) for each in batch.slices] == [(3, 5, 7)] * 4
    third = batch.slices[2].rows
    assert third == {"A": 14, "B": 14, "C": 6, "bias": 2, "residual": 6, "scale": 0}
    assert third["A"] * batch.leading("A") == 2 * batch.stride("A") and third["B"] * 5 == 2 * batch.stride("B")
    assert (batch.shape, batch.one.shape) == (Many(4, 3, 5, 7), One(3, 5, 7))
    assert batch.one.slices[0].rows == dict.fromkeys(third, 0)


def test_groups_have_rows_of_a_and_c_and_a_b_each():
    shape = Groups((5, 0, 3), 4, 7)
    groups = make_problem(shape, "nt", "f32", 1.5, epilogue=("bias", "residual", "scale"))
    assert (groups.shape, groups.size, groups.rows, groups.flops) == (shape, "5+0+3x4x7", 8, 2 * 8 * 4 * 7)
    assert groups.title == "M = 8 (5 + 0 + 3), N = 4, K = 7, nt, f32, alpha 1.5, beta 0, then bias, residual, scale"
    shapes = {each.name: each.shape for each in groups.operands}
    assert shapes == {
        "A": (8, 7), "B": (3, 4, 7), "C": (8, 4), "bias": (3, 4), "residual": (8, 4), "scale": (1,), "offsets": (4,)
    }  # fmt: skip
    assert [each.M for each in groups.slices] == [5, 0, 3] and groups.offsets == [0, 5, 5, 8]
    last = groups.slices[2].rows
    assert last == {"A": 5, "B": 8, "C": 5, "bias": 2, "residual": 5, "scale": 0, "offsets": 0}
    moves = {"A": 140, "B": 224, "C": 80, "bias": 32, "residual": 80, "scale": 0, "offsets": 0}
    assert groups.list_moves(groups.slices[2]) == moves
    assert groups.take(2) == Problem(3, 4, 7, "nt", "f32", 1.5, epilogue=("bias", "residual", "scale"))
    assert groups.one == groups.take(0) and "groups=(5, 0, 3)" in repr(groups)
    assert groups.key != make_problem(Groups((3, 0, 5), 4, 7), "nt", "f32", 1.5, epilogue=groups.epilogue).key


def test_a_row_of_several_products_is_located_in_its_own():
    groups = Problem(8, 4, 7, "nt", groups=(5, 0, 3))
    assert [groups.locate_row("C", row) for row in (4, 5, 8)] == [
        "row 4 of group 0",
        "row 0 of group 2",
        "row 3 of group 2",
    ]
    assert groups.locate_row("B", 5) == "row 1 of group 1"
    assert Problem(5, 4, 7, count=3).locate_row("B", 15) == "row 1 of product 2"
    assert Problem(5000, 4, 7).locate_row("A", 4999) == "row 4,999"


def test_the_rows_of_many_groups_are_not_listed_where_a_problem_is_shown():
    few, equal, uneven = (make_problem(Groups(rows, 4, 7), "nn", "f32") for rows in ((5, 0), (2,) * 9, (1, 8, 0, 3, 4)))
    assert [str(each) for each in (few, equal, uneven)] == [
        "5+0x4x7 nn f32", "9 groups of 2x4x7 nn f32", "5 groups of 0-8x4x7 nn f32"
    ]  # fmt: skip
    assert few.title.startswith("M = 5 (5 + 0), N") and uneven.title.startswith("M = 16 (5 groups of 0-8), N")
    assert parse_sizes(uneven.shape.size) == [uneven.shape]


def test_rows_of_groups_are_contiguous():
    with pytest.raises(UsageError, match="layout tn stores A by columns, but each group has whole rows of A; choose"):
        make_problem(Groups((5, 3), 4, 7), "tn", "f32")


def test_padding_changes_what_is_stored_and_neither_the_work_nor_the_text_of_a_packed_problem():
    packed, padded = Problem(3, 5, 7, "nt", count=2), Problem(3, 5, 7, "nt", count=2, ld=("A+8", "C+1"))
    assert [padded.leading(name) for name in "ABC"] == [15, 7, 6]
    assert (padded.operand("A").nbytes, padded.stride("A"), padded.stride("C")) == (4 * 2 * 3 * 15, 45, 18)
    assert (padded.flops, padded.bytes) == (packed.flops, packed.bytes)
    assert padded.key != packed.key and "ld" in repr(padded) and "ld" not in repr(packed)
    assert padded.column_major.ld == ("B+8", "C+1")
    apart = Problem(3, 5, 7, beta=1.0, separate_c=True)
    assert (apart.result.name, [each.name for each in apart.inputs]) == ("D", ["A", "B", "C"])
    assert apart.bytes == Problem(3, 5, 7, beta=1.0).bytes


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("A-8", "ld: A-8 is less than a row of A; rows would overlap, so write A+8"),
        ("E+8", "ld: unknown operand 'E' in 'E+8'; known: A, B, C, D"),
        ("A+8,A+9", "ld: A occurs twice; give it once"),
        ("A=70", "ld: cannot read 'A=70'; write how many elements follow each row, such as A+8"),
        ("B+99999", "ld: 99999 elements are added to a row of B; at most 65536"),
    ],
)
def test_padding_that_cannot_be_is_refused(written, message):
    with pytest.raises(UsageError) as fault:
        parse_padding(written)
    assert str(fault.value) == message


def test_padding_is_kept_in_order_and_rows_of_d_need_a_d():
    assert parse_padding(" b+4, A+8,C+0") == ("A+8", "B+4")
    with pytest.raises(UsageError, match="ld: D is an operand only if the result lies apart from C"):
        next(iter(ProblemGrid(("f32",), ("nn",), (One(1, 1, 1),), form={"ld": ("D+8",)})))


@pytest.mark.parametrize(
    ("name", "of_a", "of_b", "padding"),
    [
        ("e4m3_tensor", (1, 1), (1, 1), 0),
        ("e4m3_rows_fast", (1, 140), (1, 150), 0),
        ("e4m3_blocks", (3, 140), (2, 3), 1),  # rows of scales of B take 16 bytes
    ],
)
def test_scales_are_operands_whose_shapes_follow_from_what_shares_them(name, of_a, of_b, padding):
    problem = Problem(140, 150, 300, "nt", name)
    scale_a, scale_b = problem.operand("scale_a"), problem.operand("scale_b")
    assert (scale_a.shape, scale_b.shape, scale_b.padding) == (of_a, of_b, padding)
    assert {scale_a.role, scale_b.role} == {"scale"} and {scale_a.storage.name, scale_b.storage.name} == {"float32"}
    assert problem.bytes == 140 * 300 + 150 * 300 + 2 * 140 * 150 + scale_a.used_bytes + scale_b.used_bytes


@pytest.mark.parametrize("shape", [Many(4, 8, 8, 8), Groups((4, 4), 8, 8)])
def test_several_products_with_scales_are_refused(shape):
    with pytest.raises(UsageError, match="e4m3_rows has scales of one product, but"):
        make_problem(shape, "nt", "e4m3_rows")


def test_precisions_hold_the_numbers_of_their_formats():
    f32, tf32 = PRECISIONS["f32"], PRECISIONS["tf32"]
    assert (f32.factor_bits, f32.accumulator.unit(64), f32.result_unit) == (24, 2**-24, 2**-24)
    assert tf32.factor_bits == 11
    assert tf32.accumulator.unit(64) == 2 * f32.accumulator.unit(64)
    by_bytes = {8: "f64", 4: "f32 tf32 3xtf32", 2: "f16 f16_f16 bf16 f16_f32 bf16_f32"}
    by_bytes[1] = "e4m3 e4m3_fast e5m2 e5m2_fast e4m3_tensor e4m3_tensor_fast e4m3_rows e4m3_rows_fast e4m3_blocks int8"
    expected = {name: count for count, names in by_bytes.items() for name in names.split()}
    assert {name: kind.a.nbytes(1) for name, kind in PRECISIONS.items()} == expected


@pytest.mark.parametrize("name", PRECISIONS)
def test_numpy_knows_every_format_and_agrees_on_its_precision(name):
    kind = PRECISIONS[name].c.numpy_type()
    one = np.ones(1, kind)
    unit = PRECISIONS[name].result_unit
    assert kind.itemsize == PRECISIONS[name].c.nbytes(1)
    if PRECISIONS[name].is_exact:
        assert unit == 0
        return
    assert (one + np.array([4 * unit], kind) > one)[0] and (one + np.array([unit / 4], kind) == one)[0]


def test_an_unknown_precision_offers_the_nearest():
    with pytest.raises(UsageError) as fault:
        find_precision("f23")
    assert str(fault.value).startswith("unknown precision 'f23' (did you mean '")
    assert str(fault.value).endswith("; known: " + ", ".join(PRECISIONS))


def test_the_shapes_of_a_grid_may_have_its_layouts_in_turn():
    shapes = tuple(One(m, 2, 3) for m in range(1, 6))
    grid = ProblemGrid(("f32", "f16"), ("nn", "tn"), shapes, in_turn=True)
    half = [(m, "tn" if m % 2 == 0 else "nn") for m in range(1, 6)]
    assert len(grid) == 10 and [(each.M, each.layout) for each in grid] == 2 * half
    assert (grid[-1].precision_name, grid[-1].layout, grid[-1].M) == ("f16", "nn", 5)


def test_a_grid_has_every_combination_with_shapes_changing_fastest():
    grid = ProblemGrid(("f32", "f64"), ("nn", "tn"), (One(1, 2, 3), One(4, 4, 4)), 2.0, 1.0)
    assert list(grid) == [grid[index] for index in range(8)] and len(grid) == 8
    assert grid[:2] == (Problem(1, 2, 3, "nn", "f32", 2.0, 1.0), Problem(4, 4, 4, "nn", "f32", 2.0, 1.0))
    assert grid[-1] == Problem(4, 4, 4, "tn", "f64", 2.0, 1.0)
    with pytest.raises(IndexError):
        grid[8]
    assert list(ProblemGrid(("f32",), ("nn",), ())) == []
