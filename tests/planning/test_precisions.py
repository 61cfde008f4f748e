"""One record adds a precision: everything that depends on it asks the record."""

import numpy as np
import pytest

from gemmbench.backends.cuda.library_variants import PEDANTIC, _compute_type
from gemmbench.backends.cuda.system.device import flops_per_cycle
from gemmbench.backends.sources import compiler_text
from gemmbench.bench.operands.operand_values import make_large_operands, make_operands
from gemmbench.bench.verify.reference import Reference
from gemmbench.planning.precisions import (
    E4M3,
    FLOAT64,
    INT8,
    INT32,
    PRECISIONS,
    Accumulator,
    Precision,
    StorageType,
)
from gemmbench.planning.problems import Problem

INT4 = StorageType("int4", 4, 3, 0, "unsigned char")

NEW = (Precision("int4", INT4, INT4, INT32, Accumulator(INT32, exact_bits=31), INT32, 3, "int4", min_sm=75),)
NAMES = [*"3xtf32 f16_f16 f16_f32 bf16_f32 e4m3 e4m3_fast e5m2 e5m2_fast int8".split(), *(new.name for new in NEW)]


@pytest.fixture(autouse=True)
def added(monkeypatch):
    for new in NEW:
        monkeypatch.setitem(PRECISIONS, new.name, new)


@pytest.fixture
def plan_of(make_plan):
    def make(name):
        text = "#include <cstdint>\nint body;\n"
        return make_plan("x", Problem(6, 5, 7, precision_name=name), precisions=(name,), text=text)

    return make


def test_no_new_precision_is_offered_yet(monkeypatch):
    monkeypatch.undo()
    assert not PRECISIONS.keys() & {new.name for new in NEW}


@pytest.mark.parametrize(
    ("name", "a", "b", "c", "types"),
    [
        ("e4m3", 6 * 7, 7 * 5, 2 * 6 * 5, ["__nv_fp8_e4m3", "__nv_fp8_e4m3", "__nv_bfloat16", "float"]),
        ("e5m2", 6 * 7, 7 * 5, 2 * 6 * 5, ["__nv_fp8_e5m2", "__nv_fp8_e4m3", "__nv_bfloat16", "float"]),
        ("f16_f32", 2 * 6 * 7, 2 * 7 * 5, 4 * 6 * 5, ["__half", "__half", "float", "float"]),
        ("bf16_f32", 2 * 6 * 7, 2 * 7 * 5, 4 * 6 * 5, ["__nv_bfloat16", "__nv_bfloat16", "float", "float"]),
        ("int8", 6 * 7, 7 * 5, 4 * 6 * 5, ["int8_t", "int8_t", "int", "int"]),
        # a row of 7 takes 28 bits: 4 bytes
        ("int4", 6 * 4, 7 * 3, 4 * 6 * 5, ["unsigned char", "unsigned char", "int", "int"]),
        ("f16_f16", 2 * 6 * 7, 2 * 7 * 5, 2 * 6 * 5, ["__half", "__half", "__half", "__half"]),
        ("3xtf32", 4 * 6 * 7, 4 * 7 * 5, 4 * 6 * 5, ["float", "float", "float", "float"]),
    ],
)
def test_each_operand_has_the_bytes_of_its_own_type_which_the_macros_name(plan_of, name, a, b, c, types):
    plan = plan_of(name)
    assert [plan.problem.operand_bytes(operand) for operand in "ABC"] == [a, b, c]
    assert plan.problem.bytes == a + b + c
    assert [dict(plan.defines)[macro] for macro in ("TA", "TB", "TC", "TACC")] == types


@pytest.mark.parametrize(("name", "value"), [("e4m3", "128"), ("e5m2_fast", "0"), ("bf16_f32", None), ("int8", None)])
def test_a_kernel_in_fp8_gets_to_know_how_its_sums_are_promoted(plan_of, name, value):
    assert dict(plan_of(name).defines).get("PROMOTED_EVERY") == value


def test_a_kernel_gets_to_know_what_shares_a_scale(plan_of):
    blocks, rows = (dict(plan_of(name).defines) for name in ("e4m3_blocks", "e4m3_rows"))
    assert [blocks[f"SCALE_{side}"] for side in "MNK"] == ["1", "128", "128"]
    assert [rows[f"SCALE_{side}"] for side in "MNK"] == ["1", "1", "0"]
    assert "SCALE_M" not in dict(plan_of("e4m3").defines)
    assert PRECISIONS["e4m3_blocks"].scales.list_macros(True) == {"SCALE_M": 128, "SCALE_N": 1, "SCALE_K": 128}


def test_the_headers_of_all_types_are_included_once(plan_of):
    text = compiler_text(plan_of("e4m3"))
    assert text.splitlines()[:3] == ["#include <cuda_fp8.h>", "#include <cuda_bf16.h>", "#include <cstdint>"]
    assert compiler_text(plan_of("int8")).startswith("#include <cstdint>")


@pytest.mark.parametrize(
    ("name", "unit", "result_unit", "exact_bits"),
    [
        ("e4m3", 2**-14 + 2**-24, 2**-8, 8),  # the error of 16 partial sums is a quarter of that of one
        ("e4m3_fast", 2**-12, 2**-8, 8),
        ("e5m2", 2**-14 + 2**-24, 2**-8, 8),
        ("e5m2_fast", 2**-12, 2**-8, 8),
        ("f16_f32", 2**-23, 2**-24, 24),
        ("bf16_f32", 2**-23, 2**-24, 24),
        ("int8", 0, 0, 31),
        ("int4", 0, 0, 31),
        ("f16_f16", 2**-10, 2**-11, 11),
        ("3xtf32", 2**-23, 2**-24, 24),
    ],
)
def test_verification_gets_its_units_from_the_record(name, unit, result_unit, exact_bits):
    precision = PRECISIONS[name]
    found = precision.accumulator.unit(16 * 128), precision.result_unit, precision.exact_bits
    assert found == (unit, result_unit, exact_bits)


def test_promotion_changes_nothing_where_there_is_one_partial_sum():
    for products in (1, 128):
        assert PRECISIONS["e4m3"].accumulator.unit(products) == PRECISIONS["e4m3_fast"].accumulator.unit(products)


def test_integers_are_stored_modulo_their_range_and_other_types_round():
    numbers = np.array([2.0**31, -(2.0**31) - 1, 2.0**32 + 5, -1.5, np.nan])
    np.testing.assert_array_equal(INT32.store(numbers), [-(2.0**31), 2.0**31 - 1, 5, -1, np.nan])
    np.testing.assert_array_equal(INT8.store(np.array([127.0, 128, -129])), [127, -128, 127])
    assert (E4M3.store(np.array([1.03, 448])) == [1, 448]).all() and (FLOAT64.store(numbers)[:4] == numbers[:4]).all()


def test_what_was_never_written_holds_bits_of_1():
    filled = [np.frombuffer(b"\xff" * 8, kind.numpy_type()) for kind in (INT32, E4M3, FLOAT64)]
    assert INT32.find_unwritten(filled[0]).all() and E4M3.find_unwritten(filled[1].astype(float)).all()
    assert FLOAT64.find_unwritten(filled[2]).all() and not INT32.find_unwritten(np.array([0, -2, 255])).any()


def test_integers_fill_their_range_and_timed_ones_leave_room_for_their_multiples():
    problem = Problem(64, 64, 2048, precision_name="int8")
    checked, timed = make_operands(problem, "ints", 1), make_operands(problem, "uniform", 1)
    large = make_large_operands(problem, 1)
    assert [(checked[name].min(), checked[name].max()) for name in "AB"] == [(-128, 127)] * 2
    assert [(timed[name].min(), timed[name].max()) for name in "AB"] == [(-31, 31), (-127, 127)]
    sums = large["A"].astype(np.int64) @ large["B"].astype(np.int64)
    assert sums.min() > 2**24 and min(large["A"].min(), large["B"].min()) == -128
    for data in (checked, timed):
        assert 2**24 < np.abs(data["C"].astype(np.int64)).max() < 2**28


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fill", ["uniform", "normal", "zeros", "ones", "ints"])
def test_data_has_the_type_of_its_operand_and_is_not_all_zeros(name, fill):
    data = make_operands(Problem(32, 16, 64, precision_name=name), fill, 1)
    for operand in "ABC":
        values = data[operand]
        assert values.dtype == PRECISIONS[name].storage(operand).numpy_type()
        numbers = values.astype(np.float64)
        assert np.isfinite(numbers).all()
        assert numbers.any() == (fill != "zeros")


@pytest.mark.parametrize("name", NAMES)
def test_sums_of_small_integers_doubled_are_exact(name):
    problem = Problem(48, 48, 4096, precision_name=name)
    ints = make_operands(problem, "ints", 3)
    product = ints["A"].astype(np.float64) @ ints["B"].astype(np.float64)
    assert np.abs(2 * product).max() <= 2.0**problem.precision.exact_bits
    assert ((2 * product).astype(problem.storage("C").numpy_type()).astype(np.float64) == 2 * product).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_right_result_passes_and_a_wrong_one_fails(name):
    problem = Problem(16, 24, 40, precision_name=name, alpha=2.0)
    kind = problem.storage("C").numpy_type()
    for fill, check in (("ints", Reference.check_exact), ("uniform", Reference.check_rounding)):
        reference = Reference(problem, make_operands(problem, fill, 1), 2.0, 0.0)
        right = reference.expected.astype(kind)
        assert check(reference, right).ok
        assert not check(reference, (right.astype(np.float64) * 1.5 + 3).astype(kind)).ok


def test_peaks_come_from_the_record():
    rates = flops_per_cycle("NVIDIA H200", 90, 132)
    assert rates["e4m3"] == rates["e5m2_fast"] == 2 * rates["bf16"] == 132 * 8192
    assert rates["f16_f16"] == rates["f16"] and flops_per_cycle("NVIDIA GeForce RTX 4090", 89, 128)["f16_f16"] == 131072
    assert rates["3xtf32"] == pytest.approx(rates["tf32"] / 3)  # faster than the CUDA cores
    assert rates["int8"] == rates["e4m3"]
    assert flops_per_cycle("NVIDIA GeForce RTX 4090", 89, 128)["int8"] == 128 * 2048  # not halved as fp8 is
    assert "int8" not in flops_per_cycle("NVIDIA GeForce GTX 1080", 61, 20)


def test_cublas_finds_the_compute_type_by_the_accumulator():
    by_type = {
        "COMPUTE_32F_PEDANTIC": "f32 3xtf32",
        "COMPUTE_32F_FAST_TF32": "tf32",
        "COMPUTE_32F": "bf16 bf16_f32 e4m3",
        "COMPUTE_16F": "f16_f16",
        "COMPUTE_32I": "int8",
    }
    for expected, names in by_type.items():
        assert {_compute_type(PRECISIONS[name], PEDANTIC) for name in names.split()} == {expected}


def test_the_unit_of_truncated_sums_grows_with_their_length():
    tf32, f32 = PRECISIONS["tf32"].accumulator, PRECISIONS["f32"].accumulator
    assert tf32.unit(4096) == tf32.unit(8) == 2**-23
    assert tf32.unit(4 * 4096) == 2 * 2**-23 and f32.unit(4 * 4096) == 2**-24
