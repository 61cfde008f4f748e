"""Rows of a weaker class than their precision's are listed, and ranked nowhere."""

import math
from pathlib import Path

import pytest

from gemmbench.errors import UsageError
from gemmbench.report.charts.chart_model import Choices
from gemmbench.report.charts.chart_rows import note_unranked, select_rows
from gemmbench.report.columns.all_columns import COLUMNS
from gemmbench.report.columns.column import export_rows
from gemmbench.report.comparison import compare_rows
from gemmbench.report.differences.regression_gate import INCONCLUSIVE, check_differences, check_pairs
from gemmbench.report.differences.regression_gate import note_unranked as note_unchecked
from gemmbench.report.differences.run_differences import compare_runs
from gemmbench.report.explanation import explain_row
from gemmbench.report.page.headline import find_fastest
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.tables.kernel_tables import report_kernels
from gemmbench.report.verdicts import judge_variants, list_fastest

CUBLAS, NAIVE, EMULATED = [2e-3, 2.1e-3] * 6, [4e-3, 4.2e-3] * 6, [1e-3, 1.1e-3] * 6


@pytest.fixture
def compare(make_record, environment):
    """The comparison of a run in which the fastest kernel is of this class."""

    def compared(found="bf16x6", variant="emulated", **changed):
        records = [
            make_record("cublas", CUBLAS, product_class="f32"),
            make_record("naive", NAIVE, product_class="f32"),
            make_record(variant, EMULATED, product_class=found, product_error=0.9, checked=True, **changed),
        ]
        return compare_rows(Run(environment, records, Path("it.jsonl")))

    return compared


def find_row(comparison, name="emulated"):
    return next(row for row in comparison.rows if row.record.variant == name)


def test_its_row_is_listed_with_its_time_and_class_and_without_a_percentage(compare):
    comparison = compare()
    row = find_row(comparison)
    assert (row.status, row.ranked, row.timed) == ("unranked", False, True)
    assert math.isnan(row.percent_of_baseline.value)
    text = report_kernels(comparison, wide=True).format("simple")
    assert "emulated: class bf16x6: six or more products of bf16 parts, less exact than class f32" in text
    assert "1.05" in text


def test_the_same_row_of_the_right_class_or_of_an_older_file_is_ranked(compare):
    for found in ("f32", "f64", ""):
        row = find_row(compare(found))
        assert (row.status, row.ranked) == ("ok", True) and row.percent_of_baseline.value > 180


def test_a_precision_has_a_class_of_its_own(compare):
    assert find_row(compare("tf32", precision_name="tf32")).ranked
    assert not find_row(compare("bf16", precision_name="tf32")).ranked


def test_it_is_never_the_fastest(compare):
    comparison = compare()
    assert list_fastest(comparison) == ["64: cublas is fastest; naive reaches 50.0 % of it"]
    assert find_fastest(comparison.problems[0], "cublas").record.variant == "naive"


def test_no_other_row_is_measured_by_it(compare):
    comparison = compare(variant="cublas", batch=2, batch_key="other")
    assert [row.status for row in comparison.rows if row.record.variant == "cublas"] == ["unranked"]
    emulated_baseline = find_row(comparison, "naive").percent_of_baseline.value
    assert emulated_baseline == pytest.approx(50, rel=0.01)  # of the cublas of its own batch, which is ranked


def test_charts_leave_it_out_and_say_so(compare):
    comparison = compare()
    drawn = select_rows([comparison], Choices())
    assert {row.record.variant for row in drawn} == {"cublas", "naive"}
    assert note_unranked([comparison], Choices()) == ["Not drawn: 1 row that is not ranked (1 unranked)."]
    with pytest.raises(UsageError, match="1 unranked"):
        select_rows([comparison], Choices(variants=("emulated",)))


def test_compare_says_why_there_is_no_verdict(compare):
    (verdict,) = judge_variants(compare(), ["naive", "emulated"])
    assert verdict.word == "inconclusive"
    assert "naive and emulated cannot be compared: emulated is of class bf16x6" in verdict.sentence


def test_two_kernels_of_one_weaker_class_get_a_verdict(make_record, environment):
    weak = {"product_class": "bf16x6", "product_error": 0.9, "checked": True}
    records = [make_record("one", NAIVE, **weak), make_record("other", EMULATED, **weak)]
    (verdict,) = judge_variants(compare_rows(Run(environment, records)), ["one", "other"])
    assert verdict.word == "faster" and "other is 3.9" in verdict.sentence


def test_a_comparison_of_runs_has_no_verdict_on_it(compare):
    verdicts = {each.row.record.variant: each.verdict for each in compare_runs(compare(), compare()).rows}
    assert verdicts == {"cublas": "", "naive": "same", "emulated": ""}


def test_a_check_leaves_it_out_and_names_it(compare):
    differences = compare_runs(compare(), compare())
    assert [checked.row.record.variant for checked in check_differences(differences, 0.03)] == ["naive"]
    assert note_unchecked(differences) == ["Not checked, because not ranked: emulated at 64 nn f32."]


def test_a_row_whose_class_became_weaker_is_not_compared_with_its_past(compare):
    differences = compare_runs(compare("f32"), compare())
    (checked,) = (each for each in check_differences(differences, 0.03) if each.row.record.variant == "emulated")
    assert checked.verdict == INCONCLUSIVE and "the row is unranked" in checked.reason
    (pair,) = check_pairs([(find_row(compare("f32")), find_row(compare()))], 0.03)
    assert pair.verdict == INCONCLUSIVE


def test_two_rows_of_one_weaker_class_are_compared_in_the_same_rounds(compare):
    (pair,) = check_pairs([(find_row(compare()), find_row(compare()))], 0.03)
    assert pair.verdict == "pass"


def test_exports_hold_the_class_and_the_error(compare):
    (row,) = export_rows(COLUMNS, [find_row(compare())])
    assert (row["status"], row["product_class"], row["product_error"]) == ("unranked", "bf16x6", 0.9)
    assert row["percent_of_baseline"] is None


def test_an_explanation_names_the_class(compare):
    text = " ".join(" ".join(explain_row(find_row(compare()))).split())
    assert "unranked: class bf16x6" in text
    assert "Single products are of class bf16x6: off by at most 0.900 units in the last place." in text


APART = {"no_graph": "waits for the GPU before it returns", "beside_graphs": True}


def test_a_row_without_a_graph_is_not_ranked_next_to_graphs(compare):
    comparison = compare("f32", **APART)
    row = find_row(comparison)
    assert (row.status, math.isnan(row.percent_of_baseline.value)) == ("unranked", True)
    words = "without a CUDA graph, unlike rows next to it, with which it is not ranked: waits for the GPU before"
    assert f"emulated: {words}" in report_kernels(comparison, wide=True).format("simple")
    assert words in " ".join(" ".join(explain_row(row)).split())


def test_a_row_without_a_graph_gets_no_verdict_against_graphs(compare):
    (verdict,) = judge_variants(compare("f32", **APART), ["naive", "emulated"])
    assert verdict.word == "inconclusive"
    assert "naive and emulated cannot be compared: emulated is timed without a CUDA graph" in verdict.sentence


def test_two_rows_without_a_graph_are_compared(make_record, environment):
    records = [make_record(name, times, product_class="f32", **APART) for name, times in (("a", CUBLAS), ("b", NAIVE))]
    (verdict,) = judge_variants(compare_rows(Run(environment, records, Path("it.jsonl"))), ["a", "b"])
    assert verdict.word == "slower" and ": b is 2.000x slower than a" in verdict.sentence


def test_where_no_row_is_a_graph_a_row_without_one_is_ranked_and_says_why_it_has_none(compare):
    comparison = compare("f32", no_graph=APART["no_graph"])
    assert find_row(comparison).ranked
    assert "emulated: waits for the GPU before it returns" in report_kernels(comparison, wide=True).format("simple")
