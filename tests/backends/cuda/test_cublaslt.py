"""What cuBLASLt does not have in fp8 and int8, and how it gets scales."""

import pytest

from gemmbench.backends.cuda.cublaslt import check_layout, check_scales, list_fp8_attributes
from gemmbench.errors import NotOffered
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.problems import LAYOUTS, Problem

FP8 = tuple(name for name in PRECISIONS if name.startswith(("e4m3", "e5m2")))


def why_refused(problem, sm, version=130100):
    try:
        check_layout(problem, sm)
        check_scales(problem, sm, version)
    except NotOffered as fault:
        return str(fault)
    return ""


@pytest.mark.parametrize(("sm", "offered"), [(89, ["nt"]), (90, ["nt"]), (100, [*LAYOUTS]), (120, ["nt"])])
def test_both_operands_run_along_k_except_on_blackwell_for_data_centers(sm, offered):
    assert [layout for layout in LAYOUTS if not why_refused(Problem(64, 64, 64, layout, "e4m3"), sm)] == offered
    why = why_refused(Problem(64, 64, 64, "nn", "e5m2"), 90)
    assert why == "cuBLASLt supports e5m2 only in layout nt, not in nn; choose --layout nt"


@pytest.mark.parametrize(("shape", "offered"), [((7, 32, 48), True), ((64, 24, 48), False), ((64, 32, 40), False)])
def test_rows_of_a_b_and_c_are_multiples_of_16(shape, offered):
    why = why_refused(Problem(*shape, "nt", "e4m3"), 90)
    assert why == (
        "" if offered else "cuBLASLt supports e4m3 only where N and K are multiples of 16; choose such a size"
    )


@pytest.mark.parametrize(
    ("name", "N", "sm", "version", "words"),
    [
        ("e4m3_blocks", 7168, 90, 120900, ""),
        ("e4m3_blocks", 2112, 90, 130100, "only where N is a multiple of 128; 2112 leaves 64, so choose such a size"),
        ("e4m3_blocks", 7168, 100, 130100, "only on compute capability 9.0; this GPU has 10.0"),
        ("e4m3_rows", 2112, 90, 120803, "from version 12.9 on, and this is 12.8; install a newer one"),
        ("e4m3_rows_fast", 2112, 90, 130100, ""),
        ("e4m3_tensor", 2112, 89, 120000, ""),
    ],
)
def test_scales_that_cublaslt_lacks_are_refused_with_the_reason(name, N, sm, version, words):
    why = why_refused(Problem(64, N, 256, "nt", name), sm, version)
    assert why == (f"cuBLASLt supports {name} {words}" if words else "")


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("e4m3", {"FAST_ACCUM": 0, "A_SCALE_POINTER": 5, "B_SCALE_POINTER": 5}),
        ("e4m3_tensor_fast", {"FAST_ACCUM": 1}),
        ("e4m3_rows", {"FAST_ACCUM": 0, "A_SCALE_MODE": 3, "B_SCALE_MODE": 3}),
        ("e4m3_blocks", {"FAST_ACCUM": 0, "A_SCALE_MODE": 5, "B_SCALE_MODE": 4}),  # B comes first
    ],
)
def test_attributes_say_what_has_a_scale(name, attributes):
    assert list_fp8_attributes(PRECISIONS[name], 5) == attributes


def test_other_precisions_are_not_restricted():
    assert all(not why_refused(Problem(7, 5, 3, "tn", name), 90) for name in PRECISIONS if name not in (*FP8, "int8"))


@pytest.mark.parametrize("sm", [80, 90, 100])
def test_integers_run_along_k_on_every_gpu_and_fill_words(sm):
    assert [layout for layout in LAYOUTS if not why_refused(Problem(64, 64, 64, layout, "int8"), sm)] == ["nt"]
    assert not why_refused(Problem(7, 36, 20, "nt", "int8"), sm)
    for shape in ((8, 6, 8), (8, 8, 6)):
        why = why_refused(Problem(*shape, "nt", "int8"), sm)
        assert why == "cuBLASLt supports int8 only where N and K are multiples of 4; choose such a size"
    assert not why_refused(Problem(8, 8, 8, "nt", "int8", ld=("A+8", "C+4")), sm)
    why = why_refused(Problem(8, 8, 8, "nt", "int8", ld=("A+8", "C+3")), sm)
    assert why == "cuBLASLt supports int8 only where leading dimensions are multiples of 4, unlike with --ld C+3"
