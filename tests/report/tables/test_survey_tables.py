"""What a survey reports: losses by kind and alignment, the worst shapes, and what went wrong."""

import math

import pytest

from gemmbench.bench.tuning.cost_fit import JudgedPick
from gemmbench.bench.tuning.survey import SurveyedShape
from gemmbench.planning.problems import Problem
from gemmbench.report.table import format_reports
from gemmbench.report.tables.survey_tables import SurveyResult, report_survey

ONE, TWO = (("mine", (("BM", edge),)) for edge in (64, 128))


@pytest.fixture
def judge():
    """The pick at a problem of this N: times in microseconds of it, now and of the best; the library takes 10."""

    def make(n=64, kind="any", seconds=10.0, now=10.0, best=10.0, library="cublas", precision="f32"):
        shape = SurveyedShape(Problem(16, n, 64, precision_name=precision), kind, {ONE: best, TWO: seconds})
        time = 10.0 if library else math.nan
        return JudgedPick(shape, TWO, seconds, now, ONE, best, library, time)

    return make


def report(*judged, **keys):
    text = format_reports([report_survey(SurveyResult("best", "NVIDIA H100", 40, judged, **keys))], "github")
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()], text


def test_groups_are_kinds_of_shapes_with_aligned_or_unaligned_rows(judge):
    rows, text = report(
        judge(seconds=12, now=15, best=10),
        judge(seconds=10, now=10, best=10),
        judge(n=63, seconds=10, best=12.5, now=12.5),
        judge(kind="layer", best=20, seconds=20, now=20),
    )
    wanted = {
        ("any", "aligned"): ["2", "9.5 %", "20 %", "22.5 %", "100.0", "91.29", "0"],
        ("any", "unaligned"): ["1", "-20 %", "-20 %", "0 %", "80.00", "100.0", "1"],
        ("layer", "aligned"): ["1", "0 %", "0 %", "0 %", "50.00", "50.00", "1"],
        ("all", "aligned"): ["3", "6.3 %", "20 %", "14.5 %", "79.37", "74.69", "1"],
        ("all", "unaligned"): ["1", "-20 %", "-20 %", "0 %", "80.00", "100.0", "1"],
    }
    assert {tuple(row[:2]): row[2:] for row in rows if tuple(row[:2]) in wanted} == wanted
    assert "best in f32 on NVIDIA H100: shapes left out of the fit" in text
    assert "Fitted to 40 shapes, judged at 4 shapes left out of it." in text


def test_the_worst_shapes_of_picks_and_of_kernels_are_listed_and_small_losses_are_not(judge):
    judged = [judge(n=64 + number, seconds=10 + number, best=10) for number in range(9)]
    rows, _ = report(*judged, judge(n=100, seconds=25, best=25))
    problems = [row[0] for row in rows if row[0].startswith("16x")]
    assert problems == [f"16x{64 + number}x64 nn f32" for number in (8, 7, 6, 5, 4, 3)] + ["16x100x64 nn f32"]
    assert ["16x72x64 nn f32", "mine: BM=128", "mine: BM=64", "80 %", "cublas", "100.0"] in rows
    assert ["16x100x64 nn f32", "mine: BM=128", "mine: BM=64", "0 %", "cublas", "40.00"] in rows
    assert "loses most" not in report(judge(seconds=10.1, best=10))[1]


def test_each_precision_has_its_tables_and_what_was_not_timed_a_dash(judge):
    rows, text = report(judge(), judge(precision="bf16", seconds=math.nan, now=math.nan, library=""))
    assert text.count("shapes left out of the fit") == 2
    assert [row[2:] for row in rows if row[:2] == ["all", "aligned"]] == [
        ["1", "0 %", "0 %", "0 %", "100.0", "100.0", "0"],
        ["1", "-", "0 %", "-", "-", "-", "0"],
    ]


def test_what_went_wrong_is_told():
    faults = {(ONE, f"reason {number}"): 20 - number for number in range(10)}
    _, text = report(faults=faults, wrong={TWO: "wrong at 7x5x3"}, unchecked={ONE: "no"}, left_out={"mine": 3})
    lines = [line.removeprefix("- ") for line in text.strip().splitlines()]
    assert lines[:4] == [
        "Fitted to 40 shapes, judged at 0 shapes left out of it.",
        "Left out 3 times of mine: its code has changed since.",
        "Wrong, not timed: mine: BM=128: wrong at 7x5x3",
        "Not verified, because no small problem fits: 1 candidate of mine.",
    ]
    assert lines[4] == "Failed at 20 shapes: mine: BM=64: reason 0"
    assert lines[-1] == "2 more failures are in the survey file." and len(lines) == 13
    assert report_survey(SurveyResult("best", "X", 0, ())).closing[0].startswith("No shape was measured")
