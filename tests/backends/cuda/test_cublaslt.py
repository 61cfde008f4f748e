"""What cuBLASLt does not have in fp8 and int8."""

import pytest

from gemmbench.backends.cuda.cublaslt import check_layout
from gemmbench.errors import NotOffered
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.problems import LAYOUTS, Problem

FP8 = ("e4m3", "e4m3_fast", "e5m2", "e5m2_fast")


def why_refused(problem, sm):
    try:
        check_layout(problem, sm)
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
