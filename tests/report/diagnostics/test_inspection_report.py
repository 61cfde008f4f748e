"""The rows of `inspect`, and the table and the sentence of --sass-mix."""

import pytest

from gemmbench.analysis.sass_facts import LoopFacts
from gemmbench.analysis.sass_loops import find_hottest_loop, parse_kernels
from gemmbench.backends.base import Build
from gemmbench.report.diagnostics.inspection_report import (
    USUAL_CLOCK,
    USUAL_SMS,
    HottestLoop,
    PeakRate,
    inspect_launch,
    report_loops,
)


def test_a_row_holds_the_compilers_facts_and_every_usual_gpu_has_its_clock(make_plan):
    cells = inspect_launch(make_plan(), Build(registers=32, shared=0, spills=8, stack=16), 90, 132).cells()
    assert (cells["registers"], cells["spilled bytes"], cells["stack bytes"]) == ("32", "8", "16")
    assert USUAL_CLOCK.keys() == USUAL_SMS.keys()


H200 = PeakRate(66.9e12, 128)
LOOP = """Function : k
/*0000*/ LDS.128 R4, [R0] ;
/*0010*/ LDS.64 R10, [R1] ;
/*0020*/ FFMA R20, R4, R10, R20 ;
/*0030*/ FFMA R21, R4, R11, R21 ;
/*0040*/ @P0 BRA 0x0 ;
"""


WITHOUT = HottestLoop("BM=4", None, H200)


def read(code):
    return HottestLoop("BM=8", LoopFacts(find_hottest_loop(parse_kernels(code)["k"])), H200)


@pytest.fixture
def reading():
    return read(LOOP)


def test_a_column_shows_what_fills_the_loop(reading):
    cells = reading.cells()
    assert cells["instructions"] == "5" and cells["code bytes"] == "80" and cells["loop at"] == "0x0"
    assert cells["FFMA"] == "2 (40.0 %)" and cells["shared loads"] == "2 (40.0 %)" and cells["spills"] == "0"
    assert cells["register bank conflicts"] == "2 (100.0 %)"
    assert (cells["load to use, least"], cells["load to use, median"]) == ("1", "1")
    assert (cells["shared load widths"], cells["wavefronts"]) == ("1 LDS.128, 1 LDS.64", "6")
    assert (cells["bound (TFLOPS)"], cells["bound (% of peak)"]) == ("26.76", "40.0")
    # the even bank is read four times, two more than there are FFMA
    assert cells["estimate (% of peak)"] == f"{100 * 2 / (5 + 2):.1f}"


def test_each_kernel_has_a_column_and_rows_that_are_empty_everywhere_are_left_out(reading):
    (table,) = report_loops([reading, WITHOUT]).tables
    assert table.headings == ["hottest loop", "BM=8", "BM=4"]
    assert {row[2] for row in table.cells} == {"-"} and len(table.cells) > 10
    names = {row[0] for row in table.cells}
    assert {"FFMA", "spills"} <= names and not {"other", "shared stores", "in inner loops"} & names
    assert table.notes == [reading.sentence(), "BM=4: no loop has arithmetic"]
    assert report_loops([WITHOUT]).format("simple") == "BM=4: no loop has arithmetic\n"


def test_the_sentence_names_what_takes_the_issue_slots(reading):
    assert reading.sentence() == (
        "BM=8: bound 26.76, estimate 19.11 of 66.90 TFLOPS: of 5 instructions 2 (40.0 %) are FFMA, then "
        "2 (40.0 %) shared loads, 1 (20.0 %) control and barrier; its shared loads take 24 cycles of a "
        "multiprocessor, unless lanes read the same words"
    )


def test_an_unknown_device_has_a_mix_and_no_speed(reading):
    unknown = HottestLoop(reading.label, reading.facts, None)
    assert "bound (TFLOPS)" not in unknown.cells()
    assert unknown.sentence().startswith("BM=8: of 5 instructions")


def test_a_loop_of_products_on_tensor_cores_has_no_bound_and_says_how_many_there_are():
    code = "Function : k\n/*0000*/ HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24 ;\n/*0010*/ @P0 BRA 0x0 ;\n"
    assert read(code).sentence() == (
        "BM=8: of 2 instructions 1 (50.0 %) run on tensor cores, then 1 (50.0 %) control and barrier"
    )
    assert "Bound" not in report_loops([read(code)]).format("simple")
