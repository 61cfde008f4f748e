"""The tables of two runs, and what is said below them."""

from dataclasses import replace

import pytest

from gemmbench.report.differences.difference_tables import report_differences
from gemmbench.report.differences.run_differences import compare_runs

MS = 1e-3


@pytest.fixture
def report(compare):
    def report(reference, run, **changed):
        return report_differences(compare_runs(compare(*reference), compare(*run, **changed)))

    return report


@pytest.fixture
def pair(steady):
    """Records of tiled, 2 ms, and cublas, 1 ms, this many times slower."""

    def make(slower=1.0, **changed):
        return [steady("tiled", 2 * slower, config={"T": 8}, **changed), steady("cublas", slower)]

    return make


def test_a_table_has_both_times_and_both_ratios(report, pair):
    (table,) = report(pair(), pair(1.25)).tables
    (tiled,) = [cells for cells in table.cells if cells[0] == "tiled"]
    cells = dict(zip(table.headings, tiled, strict=True))
    assert cells["kernel"] == "tiled" and cells["configuration"] == "T=8" and cells["status"] == "ok"
    assert float(cells["reference (ms)"]) == 2 and float(cells["run (ms)"]) == 2.5
    assert cells["speed ratio"].startswith("0.8") and cells["ratio by cublas"].startswith("1")


def test_runs_without_a_common_baseline_have_no_ratio_by_it(report, pair):
    said = report(pair(), pair(), baseline="tiled")
    assert not any("by" in heading for heading in said.tables[0].headings)
    assert "The reference has the baseline cublas and the run has tiled" in "\n".join(said.footer)


def test_the_footer_says_that_the_runs_are_unpaired_and_names_what_else_was_different(report, pair):
    changes = {"device": "Other GPU", "policy": {"cache": "hot"}, "software": {"driver": "2.0"}}
    text = "\n".join(report(pair(), pair(), **changes).footer)
    assert "Unpaired: the runs shared no rounds" in text and "trust it more than the ratio of the times" in text
    assert "Measured differently: device Fake GPU -> Other GPU, cache None -> hot, driver 1.0 -> 2.0." in text


def test_a_status_that_changed_shows_both(report, pair):
    (table,) = report(pair(), pair(status="wrong")).tables
    assert [cells[-1] for cells in table.cells] == ["ok", "ok -> wrong"] and table.statuses == ["ok", "wrong"]


def test_transfers_are_said_to_be_left_out(compare, pair):
    run = compare(*pair())
    text = "Rows of transfers are not compared"
    assert text not in "\n".join(report_differences(compare_runs(run, run)).footer)
    transfers = replace(run, transfers=[object()])
    assert text in "\n".join(report_differences(compare_runs(transfers, run)).footer)


def test_rows_of_one_run_are_named_but_not_all_of_many(report, pair, paired):
    many = [paired("naive", MS, size=size) for size in range(8, 18)]
    said = report([*pair(), *many], pair())
    (line,) = [line for line in said.footer if line.startswith("Only in the reference")]
    assert "naive at 8 nn f32" in line and line.endswith("and 2 more.")


def test_runs_that_share_nothing_say_so(report, paired):
    said = report([paired("naive", MS)], [paired("tiled", MS)])
    assert said.tables == [] and "The runs have no rows in common." in said.footer
