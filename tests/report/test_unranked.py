"""Rows of a weaker class than their precision's are listed, and ranked nowhere."""

import math

import pytest

from gemmbench.errors import UsageError
from gemmbench.report.charts.chart_model import Choices
from gemmbench.report.charts.chart_rows import note_unranked, select_rows
from gemmbench.report.columns.all_columns import COLUMNS
from gemmbench.report.columns.column import export_rows
from gemmbench.report.differences.regression_gate import INCONCLUSIVE, check_differences, check_pairs
from gemmbench.report.differences.regression_gate import note_unranked as note_unchecked
from gemmbench.report.differences.run_differences import compare_runs
from gemmbench.report.explanation import explain_row
from gemmbench.report.fastest import find_fastest, list_fastest
from gemmbench.report.tables.kernel_tables import report_kernels
from gemmbench.report.tables.view import View
from gemmbench.report.verdicts import judge_variants

CUBLAS, NAIVE, EMULATED = [2e-3, 2.1e-3] * 6, [4e-3, 4.2e-3] * 6, [1e-3, 1.1e-3] * 6


@pytest.fixture
def weaker(make_record, compare):
    """The comparison of a run in which the fastest kernel is of this class."""

    def compared(found="bf16x6", variant="emulated", **changed):
        return compare(
            make_record("cublas", CUBLAS, product_class="f32"),
            make_record("naive", NAIVE, product_class="f32"),
            make_record(variant, EMULATED, product_class=found, product_error=0.9, checked=True, **changed),
        )

    return compared


def find_row(comparison, name="emulated"):
    return next(row for row in comparison.rows if row.record.variant == name)


def explain(row):
    return " ".join(" ".join(explain_row(row)).split())


def test_its_row_is_listed_exported_and_explained_with_its_class_and_without_a_percentage(weaker):
    comparison = weaker()
    row = find_row(comparison)
    assert (row.status, row.ranked, row.timed) == ("unranked", False, True)
    assert math.isnan(row.percent_of_baseline.value)
    text = report_kernels(comparison, View(wide=True)).format("simple")
    assert "emulated: class bf16x6: six or more products of bf16 parts, less exact than class f32" in text
    assert "1.05" in text
    (exported,) = export_rows(COLUMNS, [row])
    found = exported["status"], exported["product_class"], exported["product_error"], exported["percent_of_baseline"]
    assert found == ("unranked", "bf16x6", 0.9, None)
    assert "unranked: class bf16x6" in explain(row)
    assert "Single products are of class bf16x6: they are off by at most 0.900 units in the last place." in explain(row)


@pytest.mark.parametrize(
    ("found", "precision", "ranked"),
    [
        ("f32", "f32", True),
        ("f64", "f32", True),
        ("", "f32", True),  # an older file
        ("tf32", "tf32", True),  # a precision has a class of its own
        ("bf16", "tf32", False),
    ],
)
def test_the_same_row_of_the_class_of_its_precision_or_of_an_older_file_is_ranked(weaker, found, precision, ranked):
    row = find_row(weaker(found, precision_name=precision))
    assert (row.status, row.ranked) == ("ok" if ranked else "unranked", ranked)
    if precision == "f32":
        assert row.percent_of_baseline.value > 180


def test_it_is_never_the_fastest(weaker):
    comparison = weaker()
    assert list_fastest(comparison) == ["64: cublas is fastest; naive reaches 50.0 % of it"]
    assert [row.record.variant for row in find_fastest(comparison.problems[0]).rows] == ["cublas"]


def test_no_other_row_is_measured_by_it(weaker):
    comparison = weaker(variant="cublas", batch=2, batch_key="other")
    assert [row.status for row in comparison.rows if row.record.variant == "cublas"] == ["unranked"]
    emulated_baseline = find_row(comparison, "naive").percent_of_baseline.value
    assert emulated_baseline == pytest.approx(50, rel=0.01)  # of the cublas of its own batch, which is ranked


def test_charts_leave_it_out_and_say_so(weaker):
    comparison = weaker()
    drawn = select_rows([comparison], Choices())
    assert {row.record.variant for row in drawn} == {"cublas", "naive"}
    assert note_unranked([comparison], Choices()) == ["Not drawn: 1 row that is not ranked (1 unranked)."]
    with pytest.raises(UsageError, match="1 unranked"):
        select_rows([comparison], Choices(variants=("emulated",)))


APART = {"pdl": True}


@pytest.mark.parametrize(
    ("found", "changed", "why"),
    [("bf16x6", {}, "is of class bf16x6"), ("f32", APART, "is timed overlapping with the previous product")],
)
def test_compare_says_why_there_is_no_verdict(weaker, found, changed, why):
    (verdict,) = judge_variants(weaker(found, **changed), ["naive", "emulated"])
    assert verdict.word == "inconclusive"
    assert f"naive and emulated cannot be compared: emulated {why}" in verdict.sentence


@pytest.mark.parametrize(
    "changed", [{"product_class": "bf16x6", "product_error": 0.9, "checked": True}, {"product_class": "f32", **APART}]
)
def test_two_kernels_of_one_weaker_class_or_that_overlap_get_a_verdict(make_record, compare, changed):
    comparison = compare(make_record("a", CUBLAS, **changed), make_record("b", NAIVE, **changed))
    (verdict,) = judge_variants(comparison, ["a", "b"])
    assert verdict.word == "slower" and ": b is 2.000x slower than a" in verdict.sentence


def test_a_comparison_of_runs_has_no_verdict_on_it_and_a_check_names_it(weaker):
    differences = compare_runs(weaker(), weaker())
    verdicts = {each.row.record.variant: each.verdict for each in differences.rows}
    assert verdicts == {"cublas": "", "naive": "same", "emulated": ""}
    assert [checked.row.record.variant for checked in check_differences(differences, 0.03)] == ["naive"]
    assert note_unchecked(differences) == ["Not checked, because not ranked: emulated at 64 nn f32."]


def test_a_row_whose_class_became_weaker_is_not_compared_with_its_past(weaker):
    differences = compare_runs(weaker("f32"), weaker())
    (checked,) = (each for each in check_differences(differences, 0.03) if each.row.record.variant == "emulated")
    assert checked.verdict == INCONCLUSIVE and "the row is unranked" in checked.reason
    weak = find_row(weaker())
    pairs = check_pairs([(find_row(weaker("f32")), weak), (weak, weak)], 0.03)
    assert [pair.verdict for pair in pairs] == [INCONCLUSIVE, "pass"]


def test_a_row_whose_products_overlap_is_not_ranked(weaker):
    comparison = weaker("f32", **APART)
    row = find_row(comparison)
    assert (row.status, math.isnan(row.percent_of_baseline.value)) == ("unranked", True)
    words = "overlapping with the previous product, so it is not ranked with other rows"
    table = report_kernels(comparison, View(wide=True)).format("simple")
    assert f"emulated +pdl: {words}" in table
    assert words in explain(row)


def test_a_row_that_cannot_be_a_graph_is_ranked_and_says_why(weaker):
    comparison = weaker("f32", no_graph="waits for the GPU before it returns")
    assert find_row(comparison).ranked
    table = report_kernels(comparison, View(wide=True)).format("simple")
    assert "emulated: waits for the GPU before it returns" in table
